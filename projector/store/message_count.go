package store

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
)

// MessageCounts is what became of messages, by the entity that their subjects name; "unknown" where one names none.
type MessageCounts map[events.Entity]MessageCount

// Count is how many messages were read, and what became of them: Read is the sum of the others.
type MessageCount struct {
	Read, Applied, Stale, Ignored, Dead int64
}

// Message counts a message that was read and had the outcome; 0: it is a dead letter.
func (c MessageCounts) AddMessage(entity events.Entity, outcome fold.Outcome) {
	count := c[entity]
	count.Read++
	c[entity] = count.with(outcome, 1)
}

// Retry counts a dead letter as what it became.
func (c MessageCounts) AddRetry(entity events.Entity, outcome fold.Outcome) {
	c[entity] = c[entity].with(0, -1).with(outcome, 1)
}

func (c MessageCount) with(outcome fold.Outcome, by int64) MessageCount {
	switch outcome {
	case fold.Applied:
		c.Applied += by
	case fold.Stale:
		c.Stale += by
	case fold.Ignored:
		c.Ignored += by
	default:
		c.Dead += by
	}
	return c
}

// Add counts what others counted.
func (c MessageCounts) Add(other MessageCounts) {
	for entity, n := range other {
		sum := c[entity]
		sum.Read += n.Read
		sum.Applied += n.Applied
		sum.Stale += n.Stale
		sum.Ignored += n.Ignored
		sum.Dead += n.Dead
		c[entity] = sum
	}
}

// String is the counts in the order in which they add up.
func (c MessageCount) String() string {
	return fmt.Sprintf("%d read (%d applied, %d stale, %d ignored, %d dead)", c.Read, c.Applied, c.Stale, c.Ignored, c.Dead)
}

// Read is how many messages there were.
func (c MessageCounts) TotalRead() (messages int64) {
	for _, n := range c {
		messages += n.Read
	}
	return messages
}

//go:embed message_count.sql
var coverageSQL string

func (w *writing) messageCounts(partition int16, c MessageCounts) {
	if len(c) == 0 {
		return
	}
	entities := slices.Sorted(maps.Keys(c)) // in one order, so that no two transactions wait for each other
	counts := make([][]int64, 5)
	for _, entity := range entities {
		n := c[entity]
		for i, count := range []int64{n.Read, n.Applied, n.Stale, n.Ignored, n.Dead} {
			counts[i] = append(counts[i], count)
		}
	}
	w.batch.Queue(coverageSQL, partition, entities, counts[0], counts[1], counts[2], counts[3], counts[4])
}

// ReadMessageCounts is what became of a partition's messages, in the schema at hand.
func ReadMessageCounts(ctx context.Context, conn *pgx.Conn, schema string, partition int16) (MessageCounts, error) {
	rows, err := conn.Query(ctx, fmt.Sprintf("select entity, read, applied, stale, ignored, dead from %s.message_count where partition = $1",
		pgx.Identifier{schema}.Sanitize()), partition)
	if err != nil {
		return nil, fmt.Errorf("message counts: %w", err)
	}
	c := make(MessageCounts)
	var entity events.Entity
	var n MessageCount
	_, err = pgx.ForEachRow(rows, []any{&entity, &n.Read, &n.Applied, &n.Stale, &n.Ignored, &n.Dead}, func() error {
		c[entity] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("message counts: %w", err)
	}
	return c, nil
}
