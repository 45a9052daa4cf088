package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"iter"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/projector/store"
	"callboard/schema"
)

//go:embed unreadable.sql
var unreadableSQL string

// comparer compares the rows of a new generation with those of the live one. The live one's writes pause only until there is a snapshot
// of both, in which they have the same positions.
type comparer struct {
	config      Config
	follower    *follower
	generation  schema.Generation
	partitions  int
	collector   *collector
	next, live  pgx.Tx // the snapshots
	nextCatalog store.Catalog
	liveCatalog store.Catalog
	pause       Seconds
}

// snapshotOptions are those of a transaction in which rows are compared. It is idle while the other rows are read or folded, possibly
// for longer than the server allows transactions to be idle.
func snapshotOptions() pgx.TxOptions {
	return pgx.TxOptions{BeginQuery: "begin isolation level repeatable read read only; set local idle_in_transaction_session_timeout = 0"}
}

func (c *comparer) run(ctx context.Context) (result Comparison, err error) {
	err = pgx.BeginTxFunc(ctx, c.config.Database, snapshotOptions(), func(next pgx.Tx) error {
		return pgx.BeginTxFunc(ctx, c.config.Database, snapshotOptions(), func(live pgx.Tx) error {
			c.next, c.live = next, live
			result, err = c.compare(ctx)
			return err
		})
	})
	return result, err
}

func (c *comparer) compare(ctx context.Context) (result Comparison, err error) {
	pause, err := pauseWrites(ctx, c.config.Database, c.follower, func(pgx.Tx) error { return c.takeSnapshots(ctx) })
	if err != nil {
		return result, err
	}
	c.pause = Seconds(pause.Seconds())
	otherDefinition, err := hasOtherDefinition(ctx, c.live.Conn())
	if err != nil {
		return result, err
	}
	missing := c.liveCatalog.Missing()
	c.nextCatalog = c.nextCatalog.Intersect(c.liveCatalog)
	c.liveCatalog = c.liveCatalog.Intersect(c.nextCatalog)
	if err := c.compareRows(ctx); err != nil {
		return result, err
	}
	if err := c.compareMessageCounts(ctx); err != nil {
		return result, fmt.Errorf("message counts: %w", err)
	}
	if err := c.readUnreadable(ctx); err != nil {
		return result, fmt.Errorf("dead letters: %w", err)
	}
	return c.collector.comparison(missing, otherDefinition), nil
}

// takeSnapshots reads the catalogs: the first statement of a transaction takes its snapshot.
func (c *comparer) takeSnapshots(ctx context.Context) (err error) {
	if c.nextCatalog, err = store.ReadCatalog(ctx, c.next.Conn(), c.follower.schema); err != nil {
		return fmt.Errorf("generation: %w", err)
	}
	c.liveCatalog, err = store.ReadCatalog(ctx, c.live.Conn(), liveSchema)
	return err
}

func (c *comparer) compareRows(ctx context.Context) error {
	systems, err := store.PhoneSystemIDs(ctx, c.next.Conn(), c.nextCatalog)
	if err != nil {
		return err
	}
	more, err := store.PhoneSystemIDs(ctx, c.live.Conn(), c.liveCatalog)
	if err != nil {
		return err
	}
	systems = append(systems, more...)
	var rows int64
	expected := func(tables []string, systems []uuid.UUID) iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for row, err := range storedRows(ctx, c.next.Conn(), c.nextCatalog)(tables, systems) {
				if rows++; rows%10_000 == 0 {
					c.config.Progress(Progress{Step: StepCompare, Done: rows})
				}
				if !yield(row, err) {
					return
				}
			}
		}
	}
	return c.collector.compare(expected, storedRows(ctx, c.live.Conn(), c.liveCatalog), systems)
}

// compareMessageCounts compares the message counts of both generations. A live generation of an earlier release can lack them.
func (c *comparer) compareMessageCounts(ctx context.Context) error {
	exist, err := hasMessageCounts(ctx, c.live.Conn())
	if err != nil || !exist {
		return err
	}
	for partition := range int16(c.partitions) {
		expected, err := store.ReadMessageCounts(ctx, c.next.Conn(), c.follower.schema, partition)
		if err != nil {
			return err
		}
		served, err := store.ReadMessageCounts(ctx, c.live.Conn(), liveSchema, partition)
		if err != nil {
			return err
		}
		c.collector.diffMessageCounts(partition, expected, served)
	}
	return nil
}

// hasMessageCounts reports whether the live generation counts messages.
func hasMessageCounts(ctx context.Context, conn *pgx.Conn) (exist bool, err error) {
	err = conn.QueryRow(ctx, "select to_regclass($1) is not null", liveSchema+"."+messageCountTable).Scan(&exist)
	return exist, err
}

// readUnreadable collects the dead letters of the new generation alone. They include dead letters that an earlier run found.
func (c *comparer) readUnreadable(ctx context.Context) error {
	rows, err := c.live.Query(ctx, unreadableSQL, c.generation.ID)
	if err != nil {
		return err
	}
	messages, err := pgx.CollectRows(rows, pgx.RowToStructByPos[UnreadableMessage])
	if err != nil {
		return err
	}
	c.collector.addUnreadable(messages)
	return nil
}
