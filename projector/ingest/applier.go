package ingest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// Applier commits the items of one partition to the tables. It is for one goroutine.
type Applier struct {
	JetStream jetstream.JetStream // for claim checks
	Store     *store.Store
	Reader    Reader
	Live      bool                  // whether retries update the dead letters that they name, and notices are written; not in a replay
	Position  store.Position        // moves with every commit
	OnCommit  func(store.ChangeSet) // called after every commit of items
	Tracer    trace.Tracer          // of the commits' spans; nil: there are none

	// Timeout limits the commits of items whose claim checks were fetched together. They finish although the context ends. 0: they end with it.
	Timeout time.Duration
}

// Apply commits items. Those that can't be applied become dead letters. received is when they were received, by this host's clock; the zero
// time is that of a replay, which decides nothing about clocks.
func (a *Applier) Apply(ctx context.Context, items []Item, received time.Time) error {
	var now events.Time
	if !received.IsZero() {
		now = events.TimeOf(received)
	}
	return forEachPortion(ctx, a.JetStream, items, func(portion []Item) error {
		if a.Timeout == 0 {
			return a.bisect(ctx, portion, now)
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.Timeout)
		defer cancel()
		return a.bisect(ctx, portion, now)
	})
}

// bisect commits items in one transaction. If PostgreSQL refuses it, bisect halves the items until the item at fault is alone. If its data was
// refused, it becomes a dead letter. Any other refusal is returned, and the position is right before the item.
func (a *Applier) bisect(ctx context.Context, items []Item, now events.Time) error {
	err := a.commit(ctx, items, now)
	if err == nil || !store.IsRefused(err) {
		return err
	}
	if len(items) == 1 {
		if !store.IsDataError(err) || items[0].Reason != "" {
			return err
		}
		items[0].Reason = store.DataErrorReason(err)
		return a.commit(ctx, items, now)
	}
	half := len(items) / 2
	if err := a.bisect(ctx, items[:half], now); err != nil {
		return err
	}
	return a.bisect(ctx, items[half:], now)
}

func (a *Applier) commit(ctx context.Context, items []Item, now events.Time) (err error) {
	ctx, end := a.startSpan(ctx, items)
	defer func() { end(err) }()
	corrected := false
	for {
		changes, err := a.transact(ctx, items, now, corrected)
		switch {
		case err == nil:
			a.committed(changes)
			return nil
		case errors.Is(err, errUncorrected):
			_, err = a.Store.Correct(ctx, a.Position, a.due(changes.To))
			corrected = true
		}
		if err != nil {
			return err
		}
	}
}

// errUncorrected is a batch with which the watermark reaches the times of corrections that stored calls don't have yet. There can be many such
// calls, and they change in transactions of their own: the transaction of the batch was rolled back, because it must not be open for so long.
var errUncorrected = errors.New("stored calls were not corrected yet")

func (a *Applier) transact(ctx context.Context, items []Item, now events.Time, corrected bool) (changes store.ChangeSet, err error) {
	err = a.Store.BeginFunc(ctx, func(tx *store.Tx) (err error) {
		changes, err = a.foldAndWrite(ctx, tx, items, now, corrected)
		return err
	})
	return changes, err
}

func (a *Applier) foldAndWrite(
	ctx context.Context, tx *store.Tx, items []Item, now events.Time, corrected bool,
) (store.ChangeSet, error) {
	state, err := tx.Load(ctx, a.Position.Partition, eventsOf(items), a.Live)
	if err != nil {
		return store.ChangeSet{}, err
	}
	retries, err := a.retries(ctx, tx, items)
	if err != nil {
		return store.ChangeSet{}, err
	}
	changes := Fold(state, a.Position, items, Known{Decisions: a.Reader.Decisions, Retries: retries, Now: now})
	state.Corrections = a.due(changes.To)
	if len(state.Corrections) > 0 && !corrected {
		return changes, errUncorrected
	}
	changes.DeadLetters = slices.DeleteFunc(changes.DeadLetters, a.Reader.Decisions.HasDeadLetter)
	err = tx.Write(ctx, &changes)
	return changes, err
}

// retries returns the sequences of the items that are retries of open dead letters.
func (a *Applier) retries(ctx context.Context, tx *store.Tx, items []Item) (map[uint64]bool, error) {
	if !a.Live {
		return map[uint64]bool{}, nil
	}
	return tx.Retries(ctx, a.Position, retryCandidates(items))
}

func (a *Applier) committed(changes store.ChangeSet) {
	a.moved(changes.To)
	a.OnCommit(changes)
}

func (a *Applier) moved(to store.Position) {
	pending := &a.Reader.Decisions.Corrections
	*pending = pending.After(to.Clock.Watermark)
	a.Position = to
}

// due are the corrections that a position's watermark reaches.
func (a *Applier) due(to store.Position) fold.Corrections {
	return a.Reader.Decisions.Corrections.Until(to.Clock.Watermark)
}

// Corrects tells whether calls have to be corrected before the position moves.
func (a *Applier) Corrects(to store.Position) bool { return len(a.due(to)) > 0 }

// Advance moves the position, its clock and its watermark without any messages.
func (a *Applier) Advance(ctx context.Context, to store.Position) error {
	if a.Corrects(to) {
		if _, err := a.Store.Correct(ctx, a.Position, a.due(to)); err != nil {
			return err
		}
	}
	if err := a.Store.Advance(ctx, a.Position, to); err != nil {
		return err
	}
	a.moved(to)
	return nil
}
