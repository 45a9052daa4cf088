package projector

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed evict.sql
var evictSQL string

// LockClass is the first key of the advisory locks that stand for partitions; the second is the partition. "call" in ASCII.
const LockClass = 0x63616c6c

// ownership holds partitions by advisory locks of one database connection. It spares two projectors the work of fencing each
// other off; what makes a second writer harmless is the position's epoch.
type ownership struct {
	conn *pgx.Conn
}

func newOwnership(ctx context.Context, pool *pgxpool.Pool) (*ownership, error) {
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("ownership: %w", err)
	}
	return &ownership{conn: conn}, nil
}

// lockTimeout bounds a statement about locks. They aren't cut short when ctx ends: that would close the connection, and let the
// locks go before the partitions have ended.
const lockTimeout = 5 * time.Second

func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lockTimeout)
}

// take locks those of the partitions that nobody holds. With none to take, it shows that the connection, and with it every
// lock, is still there.
func (o *ownership) take(ctx context.Context, partitions []int) (taken []int, err error) {
	ctx, cancel := patient(ctx)
	defer cancel()
	rows, err := o.conn.Query(ctx,
		"select p from unnest($2::int[]) as p where pg_try_advisory_lock($1, p)", LockClass, partitions)
	if err == nil {
		taken, err = pgx.CollectRows(rows, pgx.RowTo[int])
	}
	if err != nil {
		return nil, fmt.Errorf("ownership: %w", err)
	}
	return taken, nil
}

// evict ends the sessions of owners that have been silent for long, and returns how many. One that was frozen, or whose host is gone
// without a word, holds its locks for as long as its session lives. Should it come back, the positions' epochs have moved.
func (o *ownership) evict(ctx context.Context, silence time.Duration) (ended int, err error) {
	ctx, cancel := patient(ctx)
	defer cancel()
	if err := o.conn.QueryRow(ctx, evictSQL, LockClass, silence).Scan(&ended); err != nil {
		return 0, fmt.Errorf("ownership: %w", err)
	}
	return ended, nil
}

// drop lets a partition go.
func (o *ownership) drop(ctx context.Context, partition int) error {
	ctx, cancel := patient(ctx)
	defer cancel()
	if _, err := o.conn.Exec(ctx, "select pg_advisory_unlock($1, $2)", LockClass, partition); err != nil {
		return fmt.Errorf("ownership: %w", err)
	}
	return nil
}

// release lets everything go by closing the connection.
func (o *ownership) release() error {
	ctx, cancel := patient(context.Background())
	defer cancel()
	if err := o.conn.Close(ctx); err != nil {
		return fmt.Errorf("ownership: %w", err)
	}
	return nil
}
