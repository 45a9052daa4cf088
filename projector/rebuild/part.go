package rebuild

import (
	"context"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/projector/fold"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

// part is some phone systems of a partition, which are folded together.
type part struct {
	number  int
	target  store.Position      // where the partition is to stand
	systems []uuid.UUID         // nil: all of the partition's
	about   []uuid.UUID         // whose messages the stream has, of these
	events  int64               // of these, as the stream counts them
	sizes   map[uuid.UUID]int64 // of all of the partition's
}

// folding folds a part in memory.
type folding struct {
	ingest.Folder
	source *source
	store  *store.Store // whose record of the first time counts
	read   func(messages int64)
}

func newFolding(s *source, st *store.Store, p part, read func(int64)) *folding {
	from := store.Position{Partition: p.target.Partition, Stream: s.identity}
	return &folding{
		Folder: ingest.Folder{
			JetStream: s.js,
			Reader:    ingest.Reader{Systems: setOf(p.systems)},
			Changes: store.ChangeSet{
				From: from, To: from, State: &fold.State{Partition: from.Partition}, MessageCounts: make(store.MessageCounts),
			},
		},
		source: s, store: st, read: read,
	}
}

func setOf(systems []uuid.UUID) ingest.Systems {
	if systems == nil {
		return nil
	}
	set := make(ingest.Systems, len(systems))
	for _, system := range systems {
		set[system] = struct{}{}
	}
	return set
}

// extend folds on to where the target stands.
func (f *folding) extend(ctx context.Context, target store.Position) error {
	record, err := f.store.Decisions(ctx, f.Changes.To)
	if err != nil {
		return err
	}
	f.Reader.Decisions = record.Until(target.RetrySeq)
	at := f.Changes.To
	err = f.source.read(ctx, at.Partition, at.Sequence, target.Sequence, func(messages []jetstream.Msg) error {
		items, err := f.Reader.Read(messages)
		if err != nil {
			return err
		}
		before := f.Changes.MessageCounts.TotalRead()
		err = f.Apply(ctx, items)
		f.read(f.Changes.MessageCounts.TotalRead() - before)
		return err
	})
	if err != nil {
		return err
	}
	if err := f.Apply(ctx, f.Reader.TakeRetries(target.Sequence)); err != nil {
		return err
	}
	f.Changes.To.Sequence = target.Sequence
	if target.LastMessage > f.Changes.To.LastMessage {
		f.Changes.To.LastMessage, f.Changes.To.LastMessageAt = target.LastMessage, target.LastMessageAt
	}
	return nil
}
