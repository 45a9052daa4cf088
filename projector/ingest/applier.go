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

// Applier commits the messages of one partition to the tables. It is for one goroutine.
type Applier struct {
	JetStream jetstream.JetStream // for claim checks
	Store     *store.Store
	Decoder   Decoder
	Replay    *Replay               // nil: the tables are the live projection's
	Position  store.Position        // moves with every commit
	OnCommit  func(store.ChangeSet) // called after every commit of messages
	Tracer    trace.Tracer          // of the commits' spans; nil: there are none

	// Timeout limits the commits of messages whose claim checks were fetched together. They finish although the context
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

// Apply commits messages. A message that can't be applied becomes a dead letter. received is when the messages were
// received, by this host's clock.
func (a *Applier) Apply(ctx context.Context, messages []Decoded, received time.Time) error {
	now := events.TimeOf(received)
	if a.Replay != nil {
		now = 0
	}
	return withBodies(ctx, a.JetStream, messages, func(ready []Decoded) error {
		if a.Timeout == 0 {
			return a.bisect(ctx, ready, now)
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.Timeout)
		defer cancel()
		return a.bisect(ctx, ready, now)
	})
}

// bisect commits messages in one transaction. Where PostgreSQL refuses the transaction, bisect commits each half of the
// messages by itself, and so on, until the message at fault is alone. It becomes a dead letter if its data was refused.
// Any other refusal is returned, and the position is right before the message.
func (a *Applier) bisect(ctx context.Context, messages []Decoded, now events.Time) error {
	err := a.try(ctx, messages, now)
	switch {
	case err == nil || !store.IsSQLError(err):
		return err

	// The message at fault is in one of the halves.
	case len(messages) > 1:
		half := len(messages) / 2
		if err := a.bisect(ctx, messages[:half], now); err != nil {
			return err
		}
		return a.bisect(ctx, messages[half:], now)

	// From now on the message is a dead letter, also if this transaction fails for another reason.
	case store.IsDataError(err) && messages[0].Reason == "":
		messages[0].Reason = store.DataErrorReason(err)
		return a.try(ctx, messages, now)

	// Not the data is at fault, or PostgreSQL has refused the dead letter, too.
	default:
		return err
	}
}

// try commits messages in one transaction.
func (a *Applier) try(ctx context.Context, messages []Decoded, now events.Time) (err error) {
	ctx, end := a.startSpan(ctx, messages)
	defer func() { end(err) }()

	var changes store.ChangeSet
	err = a.Store.BeginFunc(ctx, func(tx *store.Tx) (err error) {
		changes, err = a.foldAndWrite(ctx, tx, messages, now)
		return err
	})
	if err != nil {
		return err
	}

	// Only a commit moves the position. After an error, the same messages are applied again.
	a.Position = changes.To
	a.OnCommit(changes)
	return nil
}

func (a *Applier) foldAndWrite(
	ctx context.Context, tx *store.Tx, messages []Decoded, now events.Time,
) (store.ChangeSet, error) {
	state, err := tx.Load(ctx, a.Position.Partition, eventsOf(messages), a.Replay == nil)
	if err != nil {
		return store.ChangeSet{}, err
	}

	retries, err := a.retries(ctx, tx, messages)
	if err != nil {
		return store.ChangeSet{}, err
	}

	changes := Fold(state, a.Position, messages, a.Decoder.Decisions, retries, now)

	// A dead letter on record is not recorded again.
	changes.DeadLetters = slices.DeleteFunc(changes.DeadLetters, a.Decoder.Decisions.HasDeadLetter)

	// OnCommit gets the dead letters that the tables do not get.
	written := changes
	if a.Replay != nil && a.Replay.KeepNoDeadLetters {
		written.DeadLetters = nil
	}
	changes.Notices, err = tx.Write(ctx, written)
	return changes, err
}

// retries returns the sequences of the messages that are retries of open dead letters.
func (a *Applier) retries(ctx context.Context, tx *store.Tx, messages []Decoded) (map[uint64]bool, error) {
	if a.Replay != nil {
		return map[uint64]bool{}, nil
	}
	return tx.Retries(ctx, a.Position, retryCandidates(messages))
}

// Advance moves the position, its clock and its watermark without any messages.
func (a *Applier) Advance(ctx context.Context, to store.Position) error {
	if err := a.Store.Advance(ctx, a.Position, to); err != nil {
		return err
	}
	a.Position = to
	return nil
}
