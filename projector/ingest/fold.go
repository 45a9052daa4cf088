package ingest

import (
	"context"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// unknown is counted as the entity of a subject that names none.
const unknown events.Entity = "unknown"

// Fold applies items in order to the rows that they touch. adjustments are the recorded clock adjustments, by sequence.
func Fold(state *fold.State, from store.Position, items []Item, adjustments map[uint64]events.Time) store.ChangeSet {
	f := folding{
		changes:     store.ChangeSet{From: from, To: from, State: state, MessageCounts: make(store.MessageCounts)},
		adjustments: adjustments,
	}
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
	if adjustment := c.To.Clock.Advance(it.Sequence, max(events.TimeOf(it.StoredAt), it.Clock), f.adjustments); adjustment != nil {
		c.ClockAdjustments = append(c.ClockAdjustments, *adjustment)
	}
	c.To.Sequence = it.Sequence
	c.To.LastMessage, c.To.LastMessageAt = it.Sequence, events.TimeOf(it.StoredAt)
	if it.skip {
		return
	}
	outcome, reason := f.foldEvent(it, c.To.Clock.Now)
	if it.Reference {
		return
	}
	if reason != "" {
		c.DeadLetters = append(c.DeadLetters, it.deadLetter(reason))
	}
	c.MessageCounts.AddMessage(entityOf(it.Subject), outcome)
}

// retry folds a dead letter at the partition's clock, but not before the published watermark: its rows must not appear behind it. A retry
// that fails leaves nothing that a replay could repeat, so it must not move the clock.
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
	outcome, reason := f.foldEvent(it, at)
	if reason == "" {
		c.To.Clock.Now = at
		c.MessageCounts.AddRetry(entityOf(it.Subject), outcome)
	}
	c.Resolutions = append(c.Resolutions, store.Resolution{
		Sequence: it.Sequence, StoredAt: it.StoredAt, Subject: it.Subject, RetrySeq: it.retrySeq, Outcome: outcome, Reason: printable(reason), Clock: at,
	})
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
	return outcome, ""
}

func entityOf(subject string) events.Entity {
	if entity, ok := events.SubjectEntity(subject); ok {
		return entity
	}
	return unknown
}

// Folder folds the items of a partition in memory, from nothing on. It is for one goroutine.
type Folder struct {
	JetStream     jetstream.JetStream // for claim checks
	Reader        Reader
	Changes       store.ChangeSet    // of all items so far
	FailedRetries []store.DeadLetter // that a retry applied at the first application, and that can't be applied any more
}

// Unreadable returns the messages that were applied at the first application and can't be applied any more.
func (f *Folder) Unreadable() []store.DeadLetter {
	return slices.Concat(f.Changes.DeadLetters, f.FailedRetries)
}

// Apply folds items.
func (f *Folder) Apply(ctx context.Context, items []Item) error {
	return forEachPortion(ctx, f.JetStream, items, func(portion []Item) error {
		f.add(Fold(f.Changes.State, f.Changes.To, portion, f.Reader.Decisions.ClockAdjustments))
		return nil
	})
}

// add adds changes. Dead letters that are recorded already are left out.
func (f *Folder) add(c store.ChangeSet) {
	f.Changes.To = c.To
	f.Changes.MessageCounts.Add(c.MessageCounts)
	f.Changes.DeadLetters = append(f.Changes.DeadLetters, slices.DeleteFunc(c.DeadLetters, f.Reader.Decisions.HasDeadLetter)...)
	f.FailedRetries = append(f.FailedRetries, c.FailedRetries()...)
}
