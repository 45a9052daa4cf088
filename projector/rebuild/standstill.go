package rebuild

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/projector/store"
)

//go:embed standstill.sql
var standstillSQL string

const (
	// maxStandstills is how often a standstill is tried.
	maxStandstills = 20
)

// standstill stops the live generation's commits, brings the follower to the same positions, and does work then, all in one
// transaction. It returns for how long the live one stood still.
func standstill(ctx context.Context, pool *pgxpool.Pool, f *follower, work func(pgx.Tx) error) (stood time.Duration, err error) {
	for range maxStandstills {
		stood, err = standOnce(ctx, pool, f, work)
		var refusal *pgconn.PgError
		busy := errors.As(err, &refusal) && refusal.Code == pgerrcode.LockNotAvailable
		late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
		if !busy && !late {
			return stood, err
		}
	}
	return 0, fmt.Errorf("a projector doesn't come to the end of its commit, or the generation not to where it stands: %w", err)
}

// maxStandstill is how long the live generation may wait for its follower.
const maxStandstill = 10 * time.Second

func (f *follower) catchUp(ctx context.Context, positions map[int16]store.Position) error {
	ctx, cancel := context.WithTimeout(ctx, maxStandstill)
	defer cancel()
	if _, err := f.follow(ctx, positions); err != nil {
		return err
	}
	return f.holds(ctx, positions)
}

func standOnce(ctx context.Context, pool *pgxpool.Pool, f *follower, work func(pgx.Tx) error) (stood time.Duration, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, standstillSQL); err != nil {
			return fmt.Errorf("standstill: %w", err)
		}
		began := time.Now()
		defer func() { stood = time.Since(began) }()
		positions, err := store.Positions(ctx, tx.Conn(), live)
		if err != nil {
			return err
		}
		if err := f.catchUp(ctx, positions); err != nil {
			return err
		}
		return work(tx)
	})
	return stood, err
}
