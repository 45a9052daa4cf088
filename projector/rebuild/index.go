package rebuild

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"callboard/projector/store"
	"callboard/schema"
)

// index makes the keys and indexes of a filled generation, and tells the planner what is in the tables.
func index(ctx context.Context, c Config, g schema.Generation, pool *pgxpool.Pool) error {
	var statements []string
	err := withConn(ctx, c.Database, func(conn *pgx.Conn) (err error) {
		statements, err = g.Indexes(ctx, conn)
		return err
	})
	if err != nil {
		return err
	}
	var done atomic.Int64
	total := int64(len(statements) + len(store.Tables()))
	run := func(list []string) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(c.Workers)
		for _, statement := range list {
			group.Go(func() error {
				if err := c.throttle.wait(ctx); err != nil {
					return err
				}
				if err := heavy(ctx, pool, statement); err != nil {
					return err
				}
				c.Progress(Progress{Step: StepIndex, Done: done.Add(1), Total: total})
				return nil
			})
		}
		return group.Wait()
	}
	if err := run(statements); err != nil {
		return err
	}
	var vacuums []string
	for _, table := range store.Tables() {
		// In parallel it would need shared memory, of which containers have little.
		vacuums = append(vacuums, "vacuum (analyze, parallel 0) "+table)
	}
	return run(vacuums)
}

// heavy executes a statement that sorts much. Should this program be killed, the next one needs the names of what is half made: so the
// server is asked to notice, where its system lets it.
func heavy(ctx context.Context, pool *pgxpool.Pool, statement string) error {
	return withConn(ctx, pool, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "set client_connection_check_interval = '1s'")
		var refusal *pgconn.PgError
		if err != nil && !errors.As(err, &refusal) {
			return fmt.Errorf("index: %w", err)
		}
		if _, err := conn.Exec(ctx, "set maintenance_work_mem = '256MB'; set lock_timeout = 0"); err != nil {
			return fmt.Errorf("index: %w", err)
		}
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		return nil
	})
}
