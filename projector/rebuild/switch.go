package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/projector/store"
	"callboard/schema"
)

var (
	//go:embed standstill.sql
	standstillSQL string

	//go:embed inherit.sql
	inheritSQL string
)

// switchover puts a generation in the live one's place.
type switchover struct {
	config   Config
	follower *follower
	from, to schema.Generation
}

// run stops the live generation's commits, brings the other one to the same positions and renames the schemas, in one transaction.
// Readers notice nothing of it; projectors find their epochs past and start again from the positions. It returns for how long the
// live one stood still.
func (s *switchover) run(ctx context.Context) (stood time.Duration, err error) {
	err = withConn(ctx, s.config.Database, func(conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, standstillSQL); err != nil {
				return fmt.Errorf("switch: %w", err)
			}
			began := time.Now()
			err := s.rename(ctx, tx)
			stood = time.Since(began)
			return err
		})
	})
	return stood, err
}

func (s *switchover) rename(ctx context.Context, tx pgx.Tx) error {
	positions, err := store.Positions(ctx, tx.Conn(), live)
	if err != nil {
		return err
	}
	if _, err := s.follower.follow(ctx, positions); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf(inheritSQL, s.to.Schema())); err != nil {
		return fmt.Errorf("switch: %w", err)
	}
	if err := s.from.StepDown(ctx, tx, "kept"); err != nil {
		return err
	}
	return s.to.GoLive(ctx, tx)
}
