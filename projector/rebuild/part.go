package rebuild

import (
	"context"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/projector/fold"
	"callboard/projector/intake"
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
	intake.Folder
	source *source
	store  *store.Store // whose record of the first time counts
	read   func(messages int64)
}

func newFolding(s *source, st *store.Store, p part, read func(int64)) *folding {
	from := store.Position{Partition: p.target.Partition, Stream: s.identity}
	return &folding{
		Folder: intake.Folder{
			JetStream: s.js,
			Reader:    intake.Reader{Systems: setOf(p.systems)},
			Commit: store.Commit{
				From: from, To: from, State: &fold.State{Partition: from.Partition}, MessageCounts: make(store.MessageCounts),
			},
		},
		source: s, store: st, read: read,
	}
}

func setOf(systems []uuid.UUID) intake.Systems {
	if systems == nil {
		return nil
	}
	set := make(intake.Systems, len(systems))
	for _, system := range systems {
		set[system] = struct{}{}
	}
	return set
}

// extend folds on to where the target stands.
func (f *folding) extend(ctx context.Context, target store.Position) error {
	record, err := f.store.Record(ctx, f.Commit.To)
	if err != nil {
		return err
	}
	f.Reader.Record = record.Until(target.Turn)
	at := f.Commit.To
	err = f.source.read(ctx, at.Partition, at.Sequence, target.Sequence, func(messages []jetstream.Msg) error {
		items, err := f.Reader.Read(messages)
		if err != nil {
			return err
		}
		before := f.Commit.MessageCounts.Read()
		err = f.Apply(ctx, items)
		f.read(f.Commit.MessageCounts.Read() - before)
		return err
	})
	if err != nil {
		return err
	}
	if err := f.Apply(ctx, f.Reader.Retries(target.Sequence)); err != nil {
		return err
	}
	f.Commit.To.Sequence = target.Sequence
	if target.Message > f.Commit.To.Message {
		f.Commit.To.Message, f.Commit.To.Stored = target.Message, target.Stored
	}
	return nil
}
