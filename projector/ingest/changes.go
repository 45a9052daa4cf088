package ingest

import (
	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// unknown is counted as the entity of a subject that names none.
const unknown events.Entity = "unknown"

// Fold applies messages in order to the rows that they touch, and returns what is to be written. retries has the
// sequences of messages that are retries of open dead letters. now is when the messages were received, by this host's
// clock; 0: they were applied before, and no clock is capped.
func Fold(
	state *fold.State, from store.Position, messages []Decoded, decisions store.Decisions, retries map[uint64]bool,
	now events.Time,
) store.ChangeSet {
	list := make([]fold.Message, len(messages))
	for i, m := range messages {
		list[i] = m.toFold()
	}
	result := fold.Batch(state, from.Clock, list, decisions.Decisions, now)

	c := store.ChangeSet{
		From: from, To: from, State: state, MessageCounts: make(store.MessageCounts),
		ClockAdjustments: result.ClockAdjustments,
	}

	c.To.Clock = result.Clock
	if len(list) > 0 {
		last := list[len(list)-1]
		c.To.Sequence, c.To.LastMessage, c.To.LastMessageAt = last.Sequence, last.Sequence, last.StoredAt
	}

	// Clock messages and messages of other phone systems are not counted.
	for i, m := range messages {
		if !m.clock && !m.notBuilt {
			addEnd(&c, m, result.Ends[i], retries)
		}
	}

	for _, n := range result.Notices {
		c.Notices = append(c.Notices, messages[n.Message].notice(n.Notice))
	}
	return c
}

// addEnd adds what became of a message.
func addEnd(c *store.ChangeSet, m Decoded, end fold.End, retries map[uint64]bool) {
	if end.Outcome == fold.Conflicting {
		c.Conflicts = append(c.Conflicts, store.Conflict{
			Sequence: m.Sequence, Entity: m.Event.Entity, Source: m.Event.Source, ID: m.Event.ID,
		})
	}

	// A retry that fails again updates its dead letter, and adds no other dead letter.
	switch {
	case retries[m.Sequence]:
		c.Retries = append(c.Retries, m.retry(end.Outcome, end.Reason))
	case end.Reason != "":
		c.DeadLetters = append(c.DeadLetters, m.DeadLetter(end.Reason))
	}

	c.MessageCounts.AddMessage(entityOf(m.Subject), end.Outcome)
}

func entityOf(subject string) events.Entity {
	if entity, ok := events.SubjectEntity(subject); ok {
		return entity
	}
	return unknown
}
