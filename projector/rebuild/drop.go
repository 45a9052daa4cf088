package rebuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/schema"
)

// drop removes the generations that were kept, save for the one that was just replaced if it is to stay.
func (b *building) drop(ctx context.Context) error {
	b.config.Progress(Progress{Step: StepDrop})
	return withConn(ctx, b.config.Database, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select id from control.generation where state = 'kept' and (id <> $1 or not $2)", b.live.ID, b.keep)
		if err != nil {
			return fmt.Errorf("drop: %w", err)
		}
		old, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return fmt.Errorf("drop: %w", err)
		}
		for _, id := range old {
			if err := dropped(ctx, conn, schema.Generation{ID: id}, dropPatience); err != nil {
				return fmt.Errorf("generation %d is live, and generation %d was not dropped: %w", b.next.ID, id, err)
			}
		}
		return nil
	})
}

const (
	// dropPatience is how long tables are waited for that somebody may have in a transaction: not long enough for a deadlock.
	dropPatience = "200ms"
	// dropInterval is how long the tables are left to others before they are asked for again.
	dropInterval = 200 * time.Millisecond
	// maxDrops is how often that is: for a minute or two.
	maxDrops = 300
)

// dropped drops a generation whose tables somebody may still have in a transaction, with statements to come that begin with these
// tables before they find the new ones.
func dropped(ctx context.Context, conn *pgx.Conn, g schema.Generation, patience string) error {
	return backoff.Retry(func() error {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "set local lock_timeout = '"+patience+"'"); err != nil {
				return fmt.Errorf("drop: %w", err)
			}
			return g.Drop(ctx, tx)
		})
		var refusal *pgconn.PgError
		if errors.As(err, &refusal) && refusal.Code == lockTimeout {
			return err
		}
		if err != nil {
			return backoff.Permanent(err)
		}
		return nil
	}, backoff.WithContext(backoff.WithMaxRetries(backoff.NewConstantBackOff(dropInterval), maxDrops), ctx))
}
