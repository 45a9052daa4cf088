package ingest

import (
	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// Fold applies items in order to the rows that they touch, from where the partition stands. adjustments are those of the first time.
func Fold(state *fold.State, from store.Position, items []Item, adjustments map[uint64]events.Time) store.ChangeSet {
	f := folding{changes: store.ChangeSet{From: from, To: from, State: state, MessageCounts: make(store.MessageCounts)}, adjustments: adjustments}
	for _, it := range items {
		if it.retrySeq != 0 {
			f.retry(it)
		} else {
			f.message(it)
		}
	}
	clock := &f.changes.To.Clock
	clock.RaiseWatermark(clock.Now)
	return f.changes
}

type folding struct {
	changes     store.ChangeSet
	adjustments map[uint64]events.Time
}

func (f *folding) message(it Item) {
	c := &f.changes
	if adjustment := c.To.Clock.Advance(it.Sequence, events.TimeOf(it.StoredAt), f.adjustments); adjustment != nil {
		c.ClockAdjustments = append(c.ClockAdjustments, *adjustment)
	}
	c.To.Sequence = it.Sequence
	c.To.LastMessage, c.To.LastMessageAt = it.Sequence, events.TimeOf(it.StoredAt)
	if it.skip {
		return
	}
	outcome, reason := f.apply(it, c.To.Clock.Now)
	if reason != "" {
		c.DeadLetters = append(c.DeadLetters, it.letter(reason))
	}
	c.MessageCounts.AddMessage(entity(it.Subject), outcome)
}

// again tries a dead letter behind all that is there: its rows can't appear behind a published watermark either. One that stays a dead
// letter leaves no trace for a replay to find, so it doesn't move the clock.
func (f *folding) retry(it Item) {
	c := &f.changes
	at := max(c.To.Clock.Now, c.To.Clock.Watermark, it.retryClock)
	c.To.RetrySeq = it.retrySeq
	if it.retryClock != 0 {
		c.To.Clock.Now = at
	}
	if it.skip {
		return
	}
	outcome, reason := f.apply(it, at)
	if reason == "" {
		c.To.Clock.Now = at
		c.MessageCounts.AddRetry(entity(it.Subject), outcome)
	}
	c.Resolutions = append(c.Resolutions, store.Resolution{
		Sequence: it.Sequence, StoredAt: it.StoredAt, Subject: it.Subject, RetrySeq: it.retrySeq, Outcome: outcome, Reason: printable(reason), Clock: at,
	})
}

// apply folds an item's event. A reason means that it changed nothing.
func (f *folding) apply(it Item, at events.Time) (outcome fold.Outcome, reason string) {
	if it.Reason != "" {
		return 0, it.Reason
	}
	outcome, err := f.changes.State.Fold(it.Event, at)
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
