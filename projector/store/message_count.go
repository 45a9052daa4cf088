package store

import (
	_ "embed"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
)

// MessageCounts are the messages that were read, by the entity that their subjects name; "unknown" where a subject
// names none.
type MessageCounts map[events.Entity]MessageCount

// MessageCount is how many messages were read, and their outcomes: Read is the sum of Applied, Stale, Ignored and Dead.
type MessageCount struct {
	Read, Applied, Stale, Ignored, Dead int64

	Conflicting int64 // of the stale ones
}

// Conflict is a message whose event has the version that was applied last, and other content.
type Conflict struct {
	Sequence uint64
	Entity   events.Entity
	Source   string // of the event
	ID       string // of the event
}

// AddMessage counts a message by its outcome; 0: it is a dead letter.
func (c MessageCounts) AddMessage(entity events.Entity, outcome fold.Outcome) {
	count := c[entity]
	count.Read++

	switch outcome {
	case fold.Applied:
		count.Applied++
	case fold.Stale:
		count.Stale++

	case fold.Conflicting:
		// A conflicting message is a stale one too: read = applied + stale + ignored + dead.
		count.Stale++
		count.Conflicting++

	case fold.Ignored:
		count.Ignored++
	default:
		count.Dead++
	}

	c[entity] = count
}

// TotalRead returns how many messages were read.
func (c MessageCounts) TotalRead() (messages int64) {
	for _, n := range c {
		messages += n.Read
	}
	return messages
}

//go:embed add_message_counts.sql
var addMessageCountsSQL string

func queueMessageCounts(pipeline *pgx.Batch, partition int16, c MessageCounts) {
	if len(c) == 0 {
		return
	}

	entities := slices.Sorted(maps.Keys(c)) // all transactions lock the rows in one order, so that they can't deadlock
	counts := make([][]int64, 6)
	for _, entity := range entities {
		n := c[entity]
		for i, count := range []int64{n.Read, n.Applied, n.Stale, n.Ignored, n.Dead, n.Conflicting} {
			counts[i] = append(counts[i], count)
		}
	}

	pipeline.Queue(addMessageCountsSQL, partition, entities, counts[0], counts[1], counts[2], counts[3], counts[4],
		counts[5])
}
