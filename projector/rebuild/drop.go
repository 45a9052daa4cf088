package rebuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/schema"
)

// drop removes the generations that were kept, save for the one that was just replaced if it is to stay.
func (b *building) drop(ctx context.Context) error {
	b.config.Progress(Progress{Step: StepDrop})
	var spared int64
	if b.keep {
		spared = b.live.ID
	}
	if _, err := forget(ctx, b.config, spared); err != nil {
		return fmt.Errorf("generation %d is live, and an older one was not dropped: %w", b.next.ID, err)
	}
	return nil
}

// DropPrevious drops the generations that are kept, and returns their numbers, the newest first. There is nothing to roll back to then.
func DropPrevious(ctx context.Context, c Config) (generations []int64, err error) {
	err = exclusively(ctx, c.complete(), false, func(c Config) error {
		generations, err = forget(ctx, c, 0)
		return err
	})
	return generations, err
}

// forget drops the generations that are kept, save for one.
func forget(ctx context.Context, c Config, spared int64) (generations []int64, err error) {
	err = withConn(ctx, c.Database, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select id from control.generation where state = 'previous' and id <> $1 order by id desc", spared)
		if err != nil {
			return fmt.Errorf("drop: %w", err)
		}
		kept, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return fmt.Errorf("drop: %w", err)
		}
		for _, id := range kept {
			if err := dropped(ctx, conn, schema.Generation{ID: id}, dropPatience); err != nil {
				return fmt.Errorf("generation %d: %w", id, err)
			}
			generations = append(generations, id)
		}
		return nil
	})
	return generations, err
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
		if errors.As(err, &refusal) && refusal.Code == pgerrcode.LockNotAvailable {
			return err
		}
		if err != nil {
			return backoff.Permanent(err)
		}
		return nil
	}, backoff.WithContext(backoff.WithMaxRetries(backoff.NewConstantBackOff(dropInterval), maxDrops), ctx))
}
