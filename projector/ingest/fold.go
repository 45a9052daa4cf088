package ingest

import (
	"slices"

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

// Fold applies items in order to the rows that they touch.
func Fold(state *fold.State, from store.Position, items []Item, known Known) store.ChangeSet {
	f := folding{
		changes: store.ChangeSet{From: from, To: from, State: state, MessageCounts: make(store.MessageCounts)},
		known:   known,
		capping: fold.Capping{Now: known.Now},
	}
	for _, it := range items {
		f.message(it)
	}
	f.dropSuperseded()
	state.Correct(known.Decisions.Corrections)
	f.changes.ClockCap = f.capping.Cap
	clock := &f.changes.To.Clock
	clock.RaiseWatermark(clock.Now)
	return f.changes
}

type folding struct {
	changes store.ChangeSet
	known   Known
	capping fold.Capping
	notices []fold.Notice // as those of the changes
}

func (f *folding) message(it Item) {
	c := &f.changes
	if it.clock {
		c.To.Sequence = it.Sequence
		c.To.LastMessage, c.To.LastMessageAt = it.Sequence, events.TimeOf(it.StoredAt)
		c.To.Clock.RaiseWatermark(f.plausible(c.To.LastMessageAt))
		return
	}
	if adjustment := c.To.Clock.Advance(it.Sequence, f.storedAt(it), f.known.Decisions.ClockAdjustments); adjustment != nil {
		c.ClockAdjustments = append(c.ClockAdjustments, *adjustment)
	}
	c.To.Sequence = it.Sequence
	c.To.LastMessage, c.To.LastMessageAt = it.Sequence, events.TimeOf(it.StoredAt)
	if it.foreign {
		return
	}
	outcome, reason := f.foldEvent(it, c.To.Clock.Now)
	if outcome == fold.Conflicting {
		c.Conflicts = append(c.Conflicts, store.Conflict{
			Sequence: it.Sequence, Entity: it.Event.Entity, Source: it.Event.Source, ID: it.Event.ID,
		})
	}
	switch {
	case f.known.Retries[it.Sequence]:
		c.Retries = append(c.Retries, it.retry(outcome, reason))
	case reason != "":
		c.DeadLetters = append(c.DeadLetters, it.DeadLetter(reason))
	}
	c.MessageCounts.AddMessage(entityOf(it.Subject), outcome)
}

// plausible returns the watermark of a clock message. It needs no record: a replay reads no clock messages.
func (f *folding) plausible(stored events.Time) events.Time {
	if f.known.Now == 0 {
		return stored
	}
	return fold.PlausibleTime(stored, f.known.Now)
}

// storedAt returns when an item counts as stored.
func (f *folding) storedAt(it Item) events.Time {
	stored := f.known.Decisions.ClockCaps.StoredAt(it.Sequence, events.TimeOf(it.StoredAt))
	return f.capping.StoredAt(f.changes.To.Clock, it.Sequence, stored)
}

// foldEvent folds an item's event. A reason means that the event changed nothing.
func (f *folding) foldEvent(it Item, at events.Time) (outcome fold.Outcome, reason string) {
	if it.Reason != "" {
		return 0, it.Reason
	}
	outcome, err := f.changes.State.Fold(it.Event, at)
	if err != nil {
		return 0, err.Error()
	}
	for _, n := range f.changes.State.Notices {
		f.notices = append(f.notices, n)
		f.changes.Notices = append(f.changes.Notices, it.notice(n))
	}
	return outcome, ""
}

// dropSuperseded drops the notices of what is not fetchable any more at the end of the batch.
func (f *folding) dropSuperseded() {
	last := f.changes.State.LastNotices(f.notices)
	i := -1
	f.changes.Notices = slices.DeleteFunc(f.changes.Notices, func(store.Notice) bool { i++; return !last[i] })
}

func entityOf(subject string) events.Entity {
	if entity, ok := events.SubjectEntity(subject); ok {
		return entity
	}
	return unknown
}
