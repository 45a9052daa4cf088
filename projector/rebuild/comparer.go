package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/projector/retry"
	"callboard/projector/store"
	"callboard/schema"
)

//go:embed unreadable.sql
var unreadableSQL string

// comparer compares the rows of a new generation with those of the live one, in slices: ranges of the keys of the tables, in their order.
// The live one's writes pause at the beginning of each slice, until there is a snapshot of both generations in which they have the same
// positions. So what is written between two slices is no difference, and no snapshot grows old.
type comparer struct {
	config     Config
	follower   *follower
	follow     func(context.Context) error // comes close to the live positions, before a write pause
	generation schema.Generation
	partitions int

	merger merger
	tables []string  // that are not compared yet, or not to their end
	after  store.Key // the last key that was compared of the first of these tables; nil: none
	rows   int64     // keys that were compared

	served          map[int16]store.Position // positions at the first snapshot
	pausedAt        time.Time
	pauses          int
	longest         time.Duration // of the pauses
	missing         []store.Column
	otherDefinition bool
}

// run compares all tables.
func (c *comparer) run(ctx context.Context) (Comparison, error) {
	for c.tables = store.Tables(); len(c.tables) > 0; {
		if c.pauses > 0 {
			if err := c.waitForPause(ctx); err != nil {
				return Comparison{}, err
			}
		}
		if err := c.compareSlice(ctx); err != nil {
			return Comparison{}, err
		}
	}
	changed := c.merger.collector.calls
	err := withConn(ctx, c.config.Database, func(conn *pgx.Conn) error { return changed.findReferring(ctx, conn, c.follower.schema) })
	return c.merger.collector.comparison(c.missing, c.otherDefinition), err
}

// waitForPause returns when the next write pause may begin.
func (c *comparer) waitForPause(ctx context.Context) error {
	retry.Pause(ctx, c.config.Slices.Interval-time.Since(c.pausedAt))
	return c.follow(ctx)
}

// compareSlice pauses writes, takes the snapshots of the next slice and compares it.
func (c *comparer) compareSlice(ctx context.Context) error {
	return pgx.BeginTxFunc(ctx, c.config.Database, store.SnapshotOptions(), func(next pgx.Tx) error {
		return pgx.BeginTxFunc(ctx, c.config.Database, store.SnapshotOptions(), func(live pgx.Tx) error {
			pause, err := pauseWrites(ctx, c.config, c.follower, func(pgx.Tx) error { return takeSnapshots(ctx, next, live) })
			if err == nil && c.served == nil {
				c.served, err = store.Positions(ctx, live.Conn(), liveSchema)
			}
			if err != nil {
				return err
			}
			c.pausedAt, c.pauses, c.longest = time.Now(), c.pauses+1, max(c.longest, pause)
			s := sliceComparer{comparer: c, next: next.Conn(), live: live.Conn(), began: c.pausedAt}
			return s.compareTables(ctx)
		})
	})
}

// takeSnapshots executes the first query of each transaction, which takes its snapshot: that of each node where the tables are distributed.
func takeSnapshots(ctx context.Context, transactions ...pgx.Tx) error {
	for _, tx := range transactions {
		if _, err := tx.Exec(ctx, "select count(*) from projection.position"); err != nil {
			return fmt.Errorf("take a snapshot: %w", err)
		}
	}
	return nil
}

// sliceComparer compares one slice, in two snapshots.
type sliceComparer struct {
	*comparer
	next, live *pgx.Conn
	began      time.Time
	size       int64 // keys that were compared
	full       bool
}

// compareTables compares the rows after those of the slices before. The last slice also compares what is not divided by keys.
func (s *sliceComparer) compareTables(ctx context.Context) error {
	next, err := store.ReadCatalog(ctx, s.next, s.follower.schema)
	if err != nil {
		return fmt.Errorf("read the tables of the new generation: %w", err)
	}
	live, err := store.ReadCatalog(ctx, s.live, liveSchema)
	if err != nil {
		return err
	}
	s.missing = live.Missing()
	next = next.Intersect(live)
	live = live.Intersect(next)
	for len(s.tables) > 0 {
		expected := store.StoredRows(ctx, s.next, next, s.tables[0], s.after)
		served := store.StoredRows(ctx, s.live, live, s.tables[0], s.after)
		if err := s.merger.merge(expected, served, s.countKey); err != nil || s.full {
			return err
		}
		s.tables, s.after = s.tables[1:], nil
	}
	s.merger.finish()
	return s.finish(ctx)
}

// countKey counts a compared key, and reports whether the slice continues after it.
func (s *sliceComparer) countKey(row store.Row) (more bool) {
	s.size++
	if s.rows++; s.rows%10_000 == 0 {
		s.config.Progress(Progress{Step: StepCompare, Done: s.rows})
	}
	if s.size < s.config.Slices.Rows && time.Since(s.began) < s.config.Slices.Age {
		return true
	}
	s.after, s.full = row.Key().Clone(nil), true
	return false
}

func (s *sliceComparer) finish(ctx context.Context) (err error) {
	if s.otherDefinition, err = hasOtherDefinition(ctx, s.live); err != nil {
		return err
	}
	if err := s.compareMessageCounts(ctx); err != nil {
		return fmt.Errorf("compare the message counts: %w", err)
	}
	if err := s.readUnreadable(ctx); err != nil {
		return fmt.Errorf("read the dead letters: %w", err)
	}
	return nil
}

// compareMessageCounts compares the message counts of both generations. A live generation of an earlier release can lack them.
func (s *sliceComparer) compareMessageCounts(ctx context.Context) error {
	exist, err := hasMessageCounts(ctx, s.live)
	if err != nil || !exist {
		return err
	}
	for partition := range int16(s.partitions) {
		expected, err := store.ReadMessageCounts(ctx, s.next, s.follower.schema, partition)
		if err != nil {
			return err
		}
		served, err := store.ReadMessageCounts(ctx, s.live, liveSchema, partition)
		if err != nil {
			return err
		}
		s.merger.collector.diffMessageCounts(partition, expected, served)
	}
	return nil
}

// hasMessageCounts reports whether the live generation counts messages.
func hasMessageCounts(ctx context.Context, conn *pgx.Conn) (exist bool, err error) {
	err = conn.QueryRow(ctx, "select to_regclass($1) is not null", liveSchema+"."+messageCountTable).Scan(&exist)
	return exist, err
}

// readUnreadable collects the dead letters of the new generation alone. They include dead letters that an earlier run found.
func (s *sliceComparer) readUnreadable(ctx context.Context) error {
	rows, _ := s.live.Query(ctx, unreadableSQL, s.generation.ID)
	messages, err := pgx.CollectRows(rows, pgx.RowToStructByPos[UnreadableMessage])
	if err != nil {
		return err
	}
	s.merger.collector.addUnreadable(messages)
	return nil
}
