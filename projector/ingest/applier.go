package ingest

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
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
	Replay    *Replay               // nil: the tables are the live projection's
	Position  store.Position        // moves with every commit
	OnCommit  func(store.ChangeSet) // called after every commit of items
	Tracer    trace.Tracer          // of the commits' spans; nil: there are none

	// Timeout limits the commits of items whose claim checks were fetched together. They finish although the context
	// ends. 0: they end with it.
	Timeout time.Duration
}

// Replay is what differs where another generation than the live one is built. Everything that was decided about a
// message is on record before the message is applied, and is repeated: no clock is capped, no retry resolves a dead
// letter, and no notice is written.
type Replay struct {
	System            uuid.NullUUID // the only phone system that is built; none: all are
	KeepNoDeadLetters bool          // messages that can't be applied are passed to OnCommit, and not recorded as dead letters
}

// Apply commits items. Those that can't be applied become dead letters. received is when they were received, by this
// host's clock.
func (a *Applier) Apply(ctx context.Context, items []Decoded, received time.Time) error {
	now := events.TimeOf(received)
	if a.Replay != nil {
		now = 0
	}
	return forEachPortion(ctx, a.JetStream, items, func(portion []Decoded) error {
		if a.Timeout == 0 {
			return a.bisect(ctx, portion, now)
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.Timeout)
		defer cancel()
		return a.bisect(ctx, portion, now)
	})
}

// bisect commits items in one transaction. If PostgreSQL refuses it, bisect halves the items until the item at fault is
// alone. If its data was refused, it becomes a dead letter. Any other refusal is returned, and the position is right
// before the item.
func (a *Applier) bisect(ctx context.Context, items []Decoded, now events.Time) error {
	err := a.try(ctx, items, now)
	if err == nil || !store.IsRefused(err) {
		return err
	}

	// The item at fault is alone. It is a dead letter from then on, also if PostgreSQL refuses that for another reason.
	if len(items) == 1 {
		if !store.IsDataError(err) || items[0].Reason != "" {
			return err
		}
		items[0].Reason = store.DataErrorReason(err)
		return a.try(ctx, items, now)
	}

	half := len(items) / 2
	if err := a.bisect(ctx, items[:half], now); err != nil {
		return err
	}
	return a.bisect(ctx, items[half:], now)
}

// try commits items in one transaction.
func (a *Applier) try(ctx context.Context, items []Decoded, now events.Time) (err error) {
	ctx, end := a.startSpan(ctx, items)
	defer func() { end(err) }()
	var changes store.ChangeSet
	err = a.Store.BeginFunc(ctx, func(tx *store.Tx) (err error) {
		changes, err = a.foldAndWrite(ctx, tx, items, now)
		return err
	})
	if err != nil {
		return err
	}
	a.Position = changes.To
	a.OnCommit(changes)
	return nil
}

func (a *Applier) foldAndWrite(ctx context.Context, tx *store.Tx, items []Decoded, now events.Time) (store.ChangeSet, error) {
	state, err := tx.Load(ctx, a.Position.Partition, eventsOf(items), a.Replay == nil)
	if err != nil {
		return store.ChangeSet{}, err
	}
	retries, err := a.retries(ctx, tx, items)
	if err != nil {
		return store.ChangeSet{}, err
	}

	changes := Fold(state, a.Position, items, Known{Decisions: a.Reader.Decisions, Retries: retries, Now: now})
	changes.DeadLetters = slices.DeleteFunc(changes.DeadLetters, a.Reader.Decisions.HasDeadLetter)

	written := changes
	if a.Replay != nil && a.Replay.KeepNoDeadLetters {
		written.DeadLetters = nil
	}
	changes.Notices, err = tx.Write(ctx, written)
	return changes, err
}

// retries returns the sequences of the items that are retries of open dead letters.
func (a *Applier) retries(ctx context.Context, tx *store.Tx, items []Decoded) (map[uint64]bool, error) {
	if a.Replay != nil {
		return map[uint64]bool{}, nil
	}
	return tx.Retries(ctx, a.Position, retryCandidates(items))
}

// Advance moves the position, its clock and its watermark without any messages.
func (a *Applier) Advance(ctx context.Context, to store.Position) error {
	if err := a.Store.Advance(ctx, a.Position, to); err != nil {
		return err
	}
	a.Position = to
	return nil
}
