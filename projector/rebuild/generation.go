package rebuild

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/store"
	"callboard/schema"
)

var (
	//go:embed unfinished.sql
	unfinishedSQL string

	//go:embed insert_part.sql
	insertPartSQL string

	//go:embed parts.sql
	partsSQL string

	//go:embed raise_positions.sql
	raisePositionsSQL string

	//go:embed drop_skipped_dead_letters.sql
	dropSkippedDeadLettersSQL string
)

var errNoLive = errors.New("no live generation: run 'callboard migrate'")

func liveGeneration(ctx context.Context, conn *pgx.Conn) (g schema.Generation, err error) {
	err = conn.QueryRow(ctx, "select id from control.generation where state = 'live'").Scan(&g.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return g, errNoLive
	}
	if err != nil {
		return g, fmt.Errorf("read the live generation: %w", err)
	}
	return g, nil
}

// hasOtherDefinition reports whether another release built the live generation.
func hasOtherDefinition(ctx context.Context, conn *pgx.Conn) (other bool, err error) {
	err = conn.QueryRow(ctx, "select definition <> $1 from control.generation where state = 'live'", schema.Definition()).Scan(&other)
	if err != nil {
		return false, fmt.Errorf("read the definition of the live generation: %w", err)
	}
	return other, nil
}

// findUnfinished returns the generation of an earlier run if this run can continue it. It drops one of another release or stream.
func findUnfinished(ctx context.Context, tx pgx.Tx, c Config, stream store.Stream) (g schema.Generation, usable bool, err error) {
	err = tx.QueryRow(ctx, unfinishedSQL, schema.Definition(), stream.Name, stream.Created).Scan(&g.ID, &usable)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return g, false, nil
	case err != nil:
		return g, false, fmt.Errorf("find the unfinished generation: %w", err)
	case !usable:
		return g, false, c.drop(ctx, tx, g)
	}
	return g, true, nil
}

// createGeneration creates an empty generation without indexes, and records its parts.
func createGeneration(ctx context.Context, tx pgx.Tx, stream store.Stream, partitions int, parts []part) (g schema.Generation, err error) {
	if g, err = schema.NewGeneration(ctx, tx, partitions); err != nil {
		return g, err
	}
	if err := g.DropIndexes(ctx, tx); err != nil {
		return g, err
	}
	batch := new(pgx.Batch)
	batch.Queue("update control.generation set stream = $2, stream_created = $3 where id = $1", g.ID, stream.Name, stream.Created)
	for _, p := range parts {
		batch.Queue(insertPartSQL, g.ID, p.target.Partition, p.number, p.systems, int64(p.target.Sequence))
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return g, fmt.Errorf("record the parts of the generation: %w", err)
	}
	return g, nil
}

// recordedParts returns the parts of a generation.
func recordedParts(ctx context.Context, tx pgx.Tx, g schema.Generation, stream store.Stream) (parts []part, err error) {
	rows, _ := tx.Query(ctx, partsSQL, g.ID)
	parts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p part, err error) {
		p.target.Stream = stream
		err = row.Scan(&p.target.Partition, &p.number, &p.systems, &p.target.Sequence, &p.done)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the parts of generation %d: %w", g.ID, err)
	}
	return parts, nil
}

// checkComplete is an error if parts of a generation are not recorded as done: a failover of PostgreSQL can have lost their rows.
func checkComplete(ctx context.Context, tx pgx.Tx, g schema.Generation) error {
	var missing int
	err := tx.QueryRow(ctx, "select count(*) from control.generation_part where generation = $1 and read is null", g.ID).Scan(&missing)
	if err != nil {
		return fmt.Errorf("count the missing parts of generation %d: %w", g.ID, err)
	}
	if missing > 0 {
		return fmt.Errorf("generation %d lacks the rows of %d parts, as after a failover of PostgreSQL: run the command again", g.ID, missing)
	}
	return nil
}

// switchGenerations makes a generation live during a write pause, and the live one the previous. Readers continue; projectors find
// their epochs outdated and start again from the positions. No later watermark than trusted stays.
func switchGenerations(ctx context.Context, tx pgx.Tx, from, to schema.Generation, trusted events.Time) error {
	now, err := liveGeneration(ctx, tx.Conn())
	if err != nil {
		return err
	}
	if now != from {
		return ErrBusy // another operation has switched meanwhile
	}
	if _, err := tx.Exec(ctx, dropSkippedDeadLettersSQL, from.ID, to.ID); err != nil {
		return fmt.Errorf("switch generations: %w", err)
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf(raisePositionsSQL, to.Schema()), trusted.Std()); err != nil {
		return fmt.Errorf("switch generations: %w", err)
	}
	if err := from.MakePrevious(ctx, tx); err != nil {
		return err
	}
	return to.MakeLive(ctx, tx)
}

// State is the state of a generation that can be dropped.
type State string

// The states.
const (
	Unfinished State = "building" // a rebuild has not finished it
	Previous   State = "previous" // a rollback would make it live
)

const (
	// readTablesTimeout is the lock timeout for tables that a transaction may still read. It is shorter than PostgreSQL's
	// deadlock_timeout: the transaction may wait for another of the tables.
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
	err = withLock(ctx, c, false, func(c Config) error {
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
		rows, _ := conn.Query(ctx, "select id from control.generation where state = $1 and id <> $2 order by id desc", state, except)
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return fmt.Errorf("list the generations to drop: %w", err)
		}
		for _, id := range ids {
			if err := dropWithRetries(ctx, conn, c, schema.Generation{ID: id}, timeout); err != nil {
				return fmt.Errorf("generation %d: %w", id, err)
			}
			dropped = append(dropped, id)
		}
		return nil
	})
	return dropped, err
}

// dropWithRetries drops a generation. Between attempts, a transaction that has read one of the tables can lock the others.
func dropWithRetries(ctx context.Context, conn *pgx.Conn, c Config, g schema.Generation, lockTimeout string) error {
	retries := backoff.WithMaxRetries(backoff.NewConstantBackOff(dropInterval), maxDropRetries)
	return backoff.Retry(func() error {
		err := beginDurably(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "set local lock_timeout = '"+lockTimeout+"'"); err != nil {
				return fmt.Errorf("set the lock timeout: %w", err)
			}
			return c.drop(ctx, tx, g)
		})
		if err != nil && !schema.HasCode(err, pgerrcode.LockNotAvailable) {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithContext(retries, ctx))
}
