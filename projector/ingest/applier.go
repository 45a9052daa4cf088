package ingest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"callboard/events"
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
}

// Apply commits items. Those that can't be applied become dead letters. received is when they were received, by this host's clock; the zero
// time is that of a replay, which decides nothing about clocks.
func (a *Applier) Apply(ctx context.Context, items []Item, received time.Time) error {
	var now events.Time
	if !received.IsZero() {
		now = events.TimeOf(received)
	}
	return forEachPortion(ctx, a.JetStream, items, func(portion []Item) error { return a.bisect(ctx, portion, now) })
}

// bisect commits items in one transaction. If PostgreSQL refuses the data, it halves them until the item at fault is alone.
func (a *Applier) bisect(ctx context.Context, items []Item, now events.Time) error {
	err := a.commit(ctx, items, now)
	if err == nil || !store.IsDataError(err) || len(items) == 1 && items[0].Reason != "" {
		return err
	}
	if len(items) == 1 {
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
	changes, err := a.transact(ctx, items, now, false)
	if errors.Is(err, store.ErrUnannounced) {
		changes, err = a.announceAndTransact(ctx, changes, items, now)
	}
	if err == nil {
		a.committed(changes)
	}
	return err
}

// announceAndTransact commits items with which many stored calls change. These change before, in transactions of their own: the one of the items
// was rolled back, because it must not be open for so long. It has shown that PostgreSQL accepts the items, so none of those that are announced
// becomes a dead letter.
func (a *Applier) announceAndTransact(
	ctx context.Context, changes store.ChangeSet, items []Item, now events.Time,
) (store.ChangeSet, error) {
	if _, err := a.Store.Announce(ctx, changes); err != nil {
		return changes, err
	}
	return a.transact(ctx, items, now, true)
}

func (a *Applier) transact(ctx context.Context, items []Item, now events.Time, announced bool) (changes store.ChangeSet, err error) {
	err = a.Store.BeginFunc(ctx, func(tx *store.Tx) (err error) {
		changes, err = a.foldAndWrite(ctx, tx, items, now, announced)
		return err
	})
	return changes, err
}

func (a *Applier) foldAndWrite(
	ctx context.Context, tx *store.Tx, items []Item, now events.Time, announced bool,
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
	changes.Announced = announced
	changes.DeadLetters = slices.DeleteFunc(changes.DeadLetters, a.Reader.Decisions.HasDeadLetter)
	err = tx.Write(ctx, &changes)
	return changes, err
}

// retries returns the sequences of the items that are retries of open dead letters.
func (a *Applier) retries(ctx context.Context, tx *store.Tx, items []Item) (map[uint64]bool, error) {
	if !a.Live {
		return map[uint64]bool{}, nil
	}
	return tx.Retries(ctx, a.Position, retryClaims(items))
}

func (a *Applier) committed(changes store.ChangeSet) {
	a.Position = changes.To
	a.OnCommit(changes)
}

// Advance moves the position, its clock and its watermark without any rows.
func (a *Applier) Advance(ctx context.Context, to store.Position) error {
	if err := a.Store.Advance(ctx, a.Position, to); err != nil {
		return err
	}
	a.Position = to
	return nil
}
