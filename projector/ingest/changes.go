package ingest

import (
	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// unknown is counted as the entity of a subject that names none.
const unknown events.Entity = "unknown"

// Known is what a fold knows beside the rows and the items.
type Known struct {
	Decisions store.Decisions
	Retries   map[uint64]bool // the sequences of items that are retries of open dead letters
	Now       events.Time     // when the items were received, by this host's clock; 0: they were applied before, and no clock cap is decided
}

// Fold applies items in order to the rows that they touch, and returns what is to be written.
func Fold(state *fold.State, from store.Position, items []Decoded, known Known) store.ChangeSet {
	messages := make([]fold.Message, len(items))
	for i, it := range items {
		messages[i] = it.message()
	}
	result := fold.Batch(state, from.Clock, messages, known.Decisions.Decisions, known.Now)

	c := store.ChangeSet{
		From: from, To: from, State: state, MessageCounts: make(store.MessageCounts),
		ClockAdjustments: result.ClockAdjustments,
	}
	c.To.Clock = result.Clock
	if len(items) > 0 {
		last := messages[len(items)-1]
		c.To.Sequence, c.To.LastMessage, c.To.LastMessageAt = last.Sequence, last.Sequence, last.StoredAt
	}
	for i, it := range items {
		if !it.clock && !it.notBuilt {
			addEnd(&c, it, result.Ends[i], known.Retries)
		}
	}
	for _, n := range result.Notices {
		c.Notices = append(c.Notices, items[n.Message].notice(n.Notice))
	}
	return c
}

// addEnd adds what became of an item.
func addEnd(c *store.ChangeSet, it Decoded, end fold.End, retries map[uint64]bool) {
	if end.Outcome == fold.Conflicting {
		c.Conflicts = append(c.Conflicts, store.Conflict{
			Sequence: it.Sequence, Entity: it.Event.Entity, Source: it.Event.Source, ID: it.Event.ID,
		})
	}
	switch {
	case retries[it.Sequence]:
		c.Retries = append(c.Retries, it.retry(end.Outcome, end.Reason))
	case end.Reason != "":
		c.DeadLetters = append(c.DeadLetters, it.DeadLetter(end.Reason))
	}
	c.MessageCounts.AddMessage(entityOf(it.Subject), end.Outcome)
}

func entityOf(subject string) events.Entity {
	if entity, ok := events.SubjectEntity(subject); ok {
		return entity
	}
	return unknown
}
