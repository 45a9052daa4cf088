package rebuild

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/google/uuid"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"callboard/schema"
)

var (
	//go:embed unfinished.sql
	unfinishedSQL string
)

var errNoLive = errors.New("no live generation: run 'callboard migrate'")

// liveGeneration returns the live generation, and whether another release built it.
func liveGeneration(ctx context.Context, conn *pgx.Conn) (g schema.Generation, otherDefinition bool, err error) {
	row := conn.QueryRow(ctx, "select id, definition <> $1 from control.generation where state = 'live'",
		schema.Definition())
	err = row.Scan(&g.ID, &otherDefinition)
	if errors.Is(err, pgx.ErrNoRows) {
		return g, false, errNoLive
	}
	if err != nil {
		return g, false, fmt.Errorf("read the live generation: %w", err)
	}
	return g, otherDefinition, nil
}

// findUnfinished returns the generation of an earlier run if this run can continue it. It drops one of another release
// or stream.
func findUnfinished(ctx context.Context, tx pgx.Tx, stream uuid.UUID) (g schema.Generation, usable bool, err error) {
	err = tx.QueryRow(ctx, unfinishedSQL, schema.Definition(), stream).Scan(&g.ID, &usable)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return g, false, nil
	case err != nil:
		return g, false, fmt.Errorf("find the unfinished generation: %w", err)
	case !usable:
		return g, false, drop(ctx, tx, g)
	}
	return g, true, nil
}

// createGeneration creates an empty generation without the indexes of readers.
func createGeneration(
	ctx context.Context, tx pgx.Tx, stream uuid.UUID, partitions int,
) (g schema.Generation, err error) {
	if g, err = schema.NewGeneration(ctx, tx, partitions); err != nil {
		return g, err
	}
	_, err = tx.Exec(ctx, "update control.generation set stream = $2 where id = $1", g.ID, stream)
	if err != nil {
		return g, fmt.Errorf("record the generation: %w", err)
	}
	return g, nil
}

// createIndexes creates the indexes of readers, then collects statistics for the planner.
func createIndexes(ctx context.Context, c Config, g schema.Generation, pool *pgxpool.Pool) error {
	var tables []string
	err := withConn(ctx, c.Database, func(conn *pgx.Conn) (err error) {
		tables, err = g.TablesBySize(ctx, conn)
		return err
	})
	if err != nil {
		return err
	}

	vacuums := make([]string, len(tables))
	for i, table := range tables {
		// A parallel vacuum needs shared memory, of which containers have little.
		vacuums[i] = "vacuum (analyze, parallel 0) " + table
	}

	indexes := schema.ReaderIndexes()
	var done atomic.Int64

	// The statements of a list run at the same time. The vacuums begin when all indexes exist.
	for _, list := range [][]string{indexes, vacuums} {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(c.Workers)

		for _, statement := range list {
			group.Go(func() error {
				if err := c.throttle.wait(ctx); err != nil {
					return err
				}

				if err := execMaintenance(ctx, pool, statement); err != nil {
					return err
				}
				c.Progress(Progress{Step: StepIndex, Done: done.Add(1), Total: int64(len(indexes) + len(vacuums))})
				return nil
			})
		}

		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// execMaintenance executes a statement that needs memory and time. The next run needs the index's name if this process
// is killed, so the server is asked to notice a lost client, where its operating system can.
func execMaintenance(ctx context.Context, pool *pgxpool.Pool, statement string) error {
	return withConn(ctx, pool, func(conn *pgx.Conn) error {
		// A server whose operating system can't notice a lost client refuses the setting.
		_, err := conn.Exec(ctx, "set client_connection_check_interval = '1s'")
		var refusal *pgconn.PgError
		if err != nil && !errors.As(err, &refusal) {
			return fmt.Errorf("prepare the session for an index: %w", err)
		}

		if _, err := conn.Exec(ctx, "set maintenance_work_mem = '256MB'; set lock_timeout = 0"); err != nil {
			return fmt.Errorf("prepare the session for an index: %w", err)
		}

		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		return nil
	})
}

// analyze collects statistics of the tables on the search path.
func analyze(ctx context.Context, pool *pgxpool.Pool) error {
	return withConn(ctx, pool, func(conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, "select oid::regclass::text from pg_class where relnamespace = "+
			"current_schema()::regnamespace and relkind = 'r'")
		tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("tables: %w", err)
		}

		for _, table := range tables {
			if _, err := conn.Exec(ctx, "analyze "+table); err != nil {
				return fmt.Errorf("analyze %s: %w", table, err)
			}
		}
		return nil
	})
}

// countMessages returns how many messages a generation, whose tables are on the search path, has read.
func countMessages(ctx context.Context, pool *pgxpool.Pool) (messages int64, err error) {
	if err := pool.QueryRow(ctx, "select coalesce(sum(read), 0)::bigint from message_count").Scan(&messages); err != nil {
		return 0, fmt.Errorf("read the message counts: %w", err)
	}
	return messages, nil
}

// State is the state of a generation that can be dropped.
type State string

// The states.
const (
	Unfinished State = "building" // a rebuild has not finished it
	Previous   State = "previous" // a rollback would make it live
)

const (
	// readTablesTimeout is the lock timeout for tables that a transaction may still read. It is shorter than
	// PostgreSQL's deadlock_timeout: the transaction may wait for another of the tables.
	readTablesTimeout = "200ms"
	// ownTablesTimeout is the lock timeout for tables that nobody reads. It is long enough for autovacuum to give way.
	ownTablesTimeout = "5s"
	// dropInterval is the time between two attempts to drop a generation.
	dropInterval = 200 * time.Millisecond
	// maxDropRetries allows a minute or two.
	maxDropRetries = 300
)

// Drop drops the generations of a state, and returns their numbers, the newest first.
func Drop(ctx context.Context, c Config, state State) (dropped []int64, err error) {
	err = withLock(ctx, c, func(c Config) error {
		dropped, err = dropGenerations(ctx, c, state, 0)
		return err
	})
	return dropped, err
}

// dropGenerations drops the generations of a state, except one.
func dropGenerations(ctx context.Context, c Config, state State, except int64) (dropped []int64, err error) {
	timeout := readTablesTimeout
	if state == Unfinished {
		timeout = ownTablesTimeout
	}

	err = withConn(ctx, c.Database, func(conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, "select id from control.generation where state = $1 and id <> $2 order by id desc",
			state, except)
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return fmt.Errorf("list the generations to drop: %w", err)
		}

		for _, id := range ids {
			if err := dropWithRetries(ctx, conn, schema.Generation{ID: id}, timeout); err != nil {
				return fmt.Errorf("generation %d: %w", id, err)
			}
			dropped = append(dropped, id)
		}
		return nil
	})
	return dropped, err
}

func drop(ctx context.Context, tx pgx.Tx, g schema.Generation) error {
	if err := releaseWatermarks(ctx, tx, g); err != nil {
		return err
	}
	return g.Drop(ctx, tx)
}

// dropWithRetries drops a generation. Between attempts, a transaction that has read one of the tables can lock the
// others.
func dropWithRetries(ctx context.Context, conn *pgx.Conn, g schema.Generation, lockTimeout string) error {
	retries := backoff.WithMaxRetries(backoff.NewConstantBackOff(dropInterval), maxDropRetries)
	return backoff.Retry(func() error {
		err := beginDurably(ctx, conn, func(tx pgx.Tx) error {
			if err := schema.SetLocal(ctx, tx, "lock_timeout = '"+lockTimeout+"'"); err != nil {
				return err
			}
			return drop(ctx, tx, g)
		})

		// Only a lock timeout is worth another attempt.
		if err != nil && !schema.HasCode(err, pgerrcode.LockNotAvailable) {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithContext(retries, ctx))
}
