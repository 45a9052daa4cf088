package rebuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/schema"
)

// A database server without room for another generation. What was built of it has been dropped, or is still there.
var (
	ErrDiskFull   = errors.New("PostgreSQL's disk is full, so what was built was dropped")
	ErrNotDropped = errors.New("PostgreSQL's disk is full, and what was built could not be dropped")
)

const (
	// sharedMemory is where PostgreSQL says the same of its shared memory, where there is a file system of that, too.
	sharedMemory = "dsm_impl.c"
)

// DropUnfinished drops the generation that a rebuild without an end has left, and returns its number; 0: there is none.
func DropUnfinished(ctx context.Context, c Config) (generation int64, err error) {
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
		return dropped(ctx, conn, schema.Generation{ID: generation}, abandonPatience)
	})
	return generation, err
}

const (
	// abandonPatience is how long tables are waited for that nobody reads: long enough for autovacuum to give way.
	abandonPatience = "5s"
	// roomTime is how long making room may take, whoever wants an end meanwhile.
	roomTime = 2 * time.Minute
)

// makeRoom drops what was built where the disk is full: the live generation needs the room first.
func (b *building) makeRoom(ctx context.Context, err error) error {
	var refusal *pgconn.PgError
	if b.result.Generation != 0 || !errors.As(err, &refusal) || refusal.Code != pgerrcode.DiskFull || refusal.File == sharedMemory {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), roomTime)
	defer cancel()
	if _, failed := abandon(ctx, b.config); failed != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrNotDropped, err), failed)
	}
	return fmt.Errorf("%w: %w", ErrDiskFull, err)
}
