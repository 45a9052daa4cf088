package ingest

import (
	"context"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/projector/store"
)

// Applier commits a partition's items to the tables, one transaction after the other, and knows where that has brought it.
type Applier struct {
	JetStream jetstream.JetStream // for claim checks
	Store     *store.Store
	Reader    Reader
	Position  store.Position        // moves with every commit
	OnCommit  func(store.ChangeSet) // hears of every commit
}

// Apply commits items, whatever is in them.
func (a *Applier) Apply(ctx context.Context, items []Item) error {
	for len(items) > 0 {
		portion := items[:bodiesThatFit(items)]
		if err := fetchBodies(ctx, a.JetStream, portion); err != nil {
			return err
		}
		if err := a.commit(ctx, portion); err != nil {
			return err
		}
		items = items[len(portion):]
	}
	return nil
}

// commit writes items in one transaction. Where Postgres refuses the data, it halves them until the one at fault is alone.
func (a *Applier) commit(ctx context.Context, items []Item) error {
	err := a.transact(ctx, items)
	if err == nil || !store.IsDataError(err) || len(items) == 1 && items[0].Reason != "" {
		return err
	}
	if len(items) == 1 {
		items[0].Reason = store.DataErrorReason(err)
		return a.commit(ctx, items)
	}
	half := len(items) / 2
	if err := a.commit(ctx, items[:half]); err != nil {
		return err
	}
	return a.commit(ctx, items[half:])
}

func (a *Applier) transact(ctx context.Context, items []Item) error {
	var change store.ChangeSet
	err := a.Store.BeginFunc(ctx, func(tx *store.Tx) (err error) {
		change, err = a.write(ctx, tx, items)
		return err
	})
	if err != nil {
		return err
	}
	a.committed(change)
	return nil
}

func (a *Applier) write(ctx context.Context, tx *store.Tx, items []Item) (store.ChangeSet, error) {
	state, err := tx.Load(ctx, a.Position.Partition, readable(items))
	if err != nil {
		return store.ChangeSet{}, err
	}
	change := Fold(state, a.Position, items, a.Reader.Decisions.ClockAdjustments)
	change.DeadLetters = slices.DeleteFunc(change.DeadLetters, a.known)
	return change, tx.Write(ctx, change)
}

// known tells whether a letter is on record already.
func (a *Applier) known(letter store.DeadLetter) bool {
	_, known := a.Reader.Decisions.DeadLetters[store.NewMessageID(letter.Sequence, letter.StoredAt)]
	return known
}

func (a *Applier) committed(change store.ChangeSet) {
	a.Position = change.To
	a.OnCommit(change)
}

// Advance moves the position, its clock and its watermark without any rows.
func (a *Applier) Advance(ctx context.Context, to store.Position) error {
	if err := a.Store.Advance(ctx, a.Position, to); err != nil {
		return err
	}
	a.Position = to
	return nil
}
