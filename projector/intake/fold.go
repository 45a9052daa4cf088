package intake

import (
	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// Fold applies items in order to the rows that they touch, from where the partition stands. lifts are those of the first time.
func Fold(state *fold.State, from store.Position, items []Item, lifts map[uint64]events.Time) store.Commit {
	f := folding{commit: store.Commit{From: from, To: from, State: state, MessageCounts: make(store.MessageCounts)}, lifts: lifts}
	for _, it := range items {
		if it.turn != 0 {
			f.again(it)
		} else {
			f.message(it)
		}
	}
	clock := &f.commit.To.Clock
	clock.Publish(clock.Now)
	return f.commit
}

type folding struct {
	commit store.Commit
	lifts  map[uint64]events.Time
}

func (f *folding) message(it Item) {
	c := &f.commit
	if lift := c.To.Clock.Advance(it.Sequence, events.TimeOf(it.Stored), f.lifts); lift != nil {
		c.Lifts = append(c.Lifts, *lift)
	}
	c.To.Sequence = it.Sequence
	c.To.Message, c.To.Stored = it.Sequence, events.TimeOf(it.Stored)
	if it.foreign {
		return
	}
	outcome, reason := f.apply(it, c.To.Clock.Now)
	if reason != "" {
		c.DeadLetters = append(c.DeadLetters, it.letter(reason))
	}
	c.MessageCounts.Message(entity(it.Subject), outcome)
}

// again tries a dead letter behind all that is there: its rows can't appear behind a published watermark either. One that stays a dead
// letter leaves no trace for a replay to find, so it doesn't move the clock.
func (f *folding) again(it Item) {
	c := &f.commit
	at := max(c.To.Clock.Now, c.To.Clock.Watermark, it.clock)
	c.To.Turn = it.turn
	if it.clock != 0 {
		c.To.Clock.Now = at
	}
	if it.foreign {
		return
	}
	outcome, reason := f.apply(it, at)
	if reason == "" {
		c.To.Clock.Now = at
		c.MessageCounts.Retry(entity(it.Subject), outcome)
	}
	c.Resolved = append(c.Resolved, store.Resolution{
		Sequence: it.Sequence, StoredAt: it.Stored, Subject: it.Subject, Turn: it.turn, Outcome: outcome, Reason: printable(reason), Clock: at,
	})
}

// apply folds an item's event. A reason means that it changed nothing.
func (f *folding) apply(it Item, at events.Time) (outcome fold.Outcome, reason string) {
	if it.Reason != "" {
		return 0, it.Reason
	}
	outcome, err := f.commit.State.Fold(it.Event, at)
	if err != nil {
		return 0, err.Error()
	}
	return outcome, ""
}

// unknown stands for the entity of a subject that names none.
const unknown events.Entity = "unknown"

func entity(subject string) events.Entity {
	if entity, ok := events.SubjectEntity(subject); ok {
		return entity
	}
	return unknown
}
