package ingest

import (
	"context"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"callboard/projector/store"
)

// retryBatch is how many dead letters are retried in one transaction.
const retryBatch = 100

// Applier commits the items of one partition to the tables. It is for one goroutine.
type Applier struct {
	JetStream jetstream.JetStream // for claim checks
	Store     *store.Store
	Reader    Reader
	Position  store.Position        // moves with every commit
	OnCommit  func(store.ChangeSet) // called after every commit of items
	Tracer    trace.Tracer          // of the commits' spans; nil: there are none
}

// Apply commits items. Those that can't be applied become dead letters.
func (a *Applier) Apply(ctx context.Context, items []Item) error {
	return forEachPortion(ctx, a.JetStream, items, func(portion []Item) error { return a.bisect(ctx, portion) })
}

// bisect commits items in one transaction. If PostgreSQL refuses the data, it halves them until the item at fault is alone.
func (a *Applier) bisect(ctx context.Context, items []Item) error {
	err := a.commit(ctx, items)
	if err == nil || !store.IsDataError(err) || len(items) == 1 && items[0].Reason != "" {
		return err
	}
	if len(items) == 1 {
		items[0].Reason = store.DataErrorReason(err)
		return a.commit(ctx, items)
	}
	half := len(items) / 2
	if err := a.bisect(ctx, items[:half]); err != nil {
		return err
	}
	return a.bisect(ctx, items[half:])
}

func (a *Applier) commit(ctx context.Context, items []Item) (err error) {
	ctx, end := a.startSpan(ctx, items)
	defer func() { end(err) }()
	var changes store.ChangeSet
	err = a.Store.BeginFunc(ctx, func(tx *store.Tx) (err error) {
		changes, err = a.foldAndWrite(ctx, tx, items)
		return err
	})
	if err == nil {
		a.committed(changes)
	}
	return err
}

func (a *Applier) foldAndWrite(ctx context.Context, tx *store.Tx, items []Item) (store.ChangeSet, error) {
	state, err := tx.Load(ctx, a.Position.Partition, eventsOf(items))
	if err != nil {
		return store.ChangeSet{}, err
	}
	changes := Fold(state, a.Position, items, a.Reader.Decisions.ClockAdjustments)
	changes.DeadLetters = slices.DeleteFunc(changes.DeadLetters, a.Reader.Decisions.HasDeadLetter)
	return changes, tx.Write(ctx, changes)
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

// RetryDeadLetters applies the partition's dead letters whose retry is requested.
func (a *Applier) RetryDeadLetters(ctx context.Context) error {
	limit, reason := retryBatch, ""
	for {
		found, err := a.retry(ctx, limit, reason)
		switch {
		case err == nil && found == 0:
			return nil
		case err == nil:
			limit, reason = retryBatch, ""
		case !store.IsDataError(err) || reason != "":
			return err
		case limit > 1:
			limit = 1 // until the dead letter at fault is alone
		default:
			reason = store.DataErrorReason(err)
		}
	}
}

// retry applies up to limit dead letters in one transaction. A reason is why PostgreSQL refused the first of them before.
func (a *Applier) retry(ctx context.Context, limit int, reason string) (found int, err error) {
	var changes store.ChangeSet
	err = a.Store.BeginFunc(ctx, func(tx *store.Tx) error {
		retries, err := tx.RequestedRetries(ctx, a.Position, limit)
		if found = len(retries); err != nil || found == 0 {
			return err
		}
		items := a.Reader.retryItems(retries)
		if reason != "" {
			items[0].Reason = reason
		}
		items = items[:portionSize(items)]
		if err := fetchBodies(ctx, a.JetStream, items); err != nil {
			return err
		}
		changes, err = a.foldAndWrite(ctx, tx, items)
		return err
	})
	if err != nil || found == 0 {
		return 0, err
	}
	a.committed(changes)
	return found, nil
}
