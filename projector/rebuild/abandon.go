package rebuild

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/schema"
)

// ErrDiskFull is a database server without room for another generation.
var ErrDiskFull = errors.New("PostgreSQL's disk is full")

// diskFull is SQLSTATE disk_full.
const diskFull = "53100"

// Abandon drops the generation that a rebuild without an end has left, and returns its number; 0: there is none.
func Abandon(ctx context.Context, c Config) (generation int64, err error) {
	err = exclusively(ctx, c.complete(), false, func(c Config) error {
		generation, err = abandon(ctx, c)
		return err
	})
	return generation, err
}

func abandon(ctx context.Context, c Config) (generation int64, err error) {
	err = withConn(ctx, c.Database, func(conn *pgx.Conn) error {
		err := conn.QueryRow(ctx, "select id from control.generation where state = 'building'").Scan(&generation)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return fmt.Errorf("generation: %w", err)
		}
		return dropped(ctx, conn, schema.Generation{ID: generation})
	})
	return generation, err
}

// makeRoom drops what was built where the disk is full: the live generation needs the room first.
func (b *building) makeRoom(ctx context.Context, err error) error {
	var refusal *pgconn.PgError
	if b.result.Generation != 0 || !errors.As(err, &refusal) || refusal.Code != diskFull {
		return err
	}
	if _, failed := abandon(ctx, b.config); failed != nil {
		return errors.Join(fmt.Errorf("%w, and what was built keeps its part of it: %w", ErrDiskFull, err), failed)
	}
	return fmt.Errorf("%w, so what was built was dropped: %w", ErrDiskFull, err)
}
