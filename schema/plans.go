package schema

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// invalidatePlansSQL changes nothing but the row of the schema. So every session analyses its prepared statements
	// again.
	invalidatePlansSQL = "grant usage on schema projection to callboard_reader"
	// runningSQL selects the transactions of other sessions.
	runningSQL = "select virtualtransaction from pg_locks where locktype = 'virtualxid' and granted and pid <> " +
		"pg_backend_pid()"
	// maxPlanWait limits the wait for transactions that have nothing to do with the projection.
	maxPlanWait = 5 * time.Second
)

// InvalidatePlans is called once another generation is live. A statement that PostgreSQL analyses in that instant can
// have found some of its tables in the generation before and others in the new one: renaming a schema locks no table.
// The notice of the change then reaches the session before the prepared statement is complete, and the session would
// keep the mixture until another change. So the statements of all sessions are invalidated again, now and once all
// transactions have ended that were running now.
func InvalidatePlans(ctx context.Context, conn *pgx.Conn) error {
	before, err := running(ctx, conn)
	if err != nil {
		return err
	}

	began, wait := time.Now(), time.Millisecond
	for {
		now, err := running(ctx, conn)
		if err != nil {
			return err
		}

		// The list comes first: a transaction that is missing there ended before these plans are invalidated.
		if _, err := conn.Exec(ctx, invalidatePlansSQL); err != nil {
			return fmt.Errorf("invalidate plans: %w", err)
		}

		before = slices.DeleteFunc(before, func(transaction string) bool { return !slices.Contains(now, transaction) })
		if len(before) == 0 || time.Since(began) > maxPlanWait {
			return nil
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait *= 2
	}
}

// running returns the transactions of other sessions.
func running(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, _ := conn.Query(ctx, runningSQL)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("running transactions: %w", err)
	}
	return list, nil
}
