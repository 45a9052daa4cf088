package ingest

import (
	"context"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/projector/store"
)

// Folder folds a partition's items in memory, from nothing on. What they have come to is in Commit; its From is where the partition
// stood before.
type Folder struct {
	JetStream     jetstream.JetStream // for claim checks
	Reader        Reader
	Changes       store.ChangeSet
	FailedRetries []store.DeadLetter // that a retry applied once and couldn't apply now; on record, they aren't in Commit
}

// Unreadable are the messages that were applied once and couldn't be now.
func (f *Folder) Unreadable() []store.DeadLetter {
	return slices.Concat(f.Changes.DeadLetters, f.FailedRetries)
}

// Apply folds items.
func (f *Folder) Apply(ctx context.Context, items []Item) error {
	for len(items) > 0 {
		portion := items[:bodiesThatFit(items)]
		if err := fetchBodies(ctx, f.JetStream, portion); err != nil {
			return err
		}
		f.add(Fold(f.Changes.State, f.Changes.To, portion, f.Reader.Decisions.ClockAdjustments))
		items = items[len(portion):]
	}
	return nil
}

// add keeps what was not known: a dead letter of the first time is on record.
func (f *Folder) add(c store.ChangeSet) {
	f.Changes.To = c.To
	f.Changes.MessageCounts.Add(c.MessageCounts)
	for _, letter := range c.DeadLetters {
		if _, known := f.Reader.Decisions.DeadLetters[store.NewMessageID(letter.Sequence, letter.StoredAt)]; !known {
			f.Changes.DeadLetters = append(f.Changes.DeadLetters, letter)
		}
	}
	f.FailedRetries = append(f.FailedRetries, c.FailedRetries()...)
}
