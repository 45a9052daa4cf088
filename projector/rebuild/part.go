package rebuild

import (
	"context"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/ingest"
	"callboard/projector/replay"
	"callboard/projector/store"
)

// part is some phone systems of a partition, which are folded together.
type part struct {
	number   int
	done     bool
	slots    int                 // see [replay.Part]
	target   store.Position      // where folding ends
	systems  []uuid.UUID         // nil: all of the partition
	compared []uuid.UUID         // the phone systems whose rows a verification compares
	events   int64               // messages of the part
	sizes    map[uuid.UUID]int64 // messages of every phone system of the partition
}

func (p part) id() replay.PartID {
	return replay.PartID{Partition: p.target.Partition, Number: p.number}
}

// size returns the number of the part's messages.
func (p part) size() (messages int64) {
	if p.systems == nil {
		for _, n := range p.sizes {
			messages += n
		}
	}
	for _, system := range p.systems {
		messages += p.sizes[system]
	}
	return messages
}

// partFolder folds a part in memory.
type partFolder struct {
	ingest.Folder
	source *source
	store  *store.Store // has the decisions of the first fold
	read   func(messages int64)
}

func newPartFolder(s *source, st *store.Store, p part, read func(messages int64)) *partFolder {
	from := store.Position{Partition: p.target.Partition, Stream: s.identity}
	return &partFolder{
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

// foldUpTo folds the next messages, up to a position.
func (f *partFolder) foldUpTo(ctx context.Context, target store.Position) error {
	decisions, err := f.store.Decisions(ctx, f.Changes.To)
	if err != nil {
		return err
	}
	f.Reader.Decisions = decisions
	at := f.Changes.To
	err = f.source.read(ctx, events.PartitionFilter(int(at.Partition)), at.Sequence, target.Sequence, func(messages []jetstream.Msg) error {
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
	f.Changes.To.Sequence = target.Sequence
	if target.LastMessage > f.Changes.To.LastMessage {
		f.Changes.To.LastMessage, f.Changes.To.LastMessageAt = target.LastMessage, target.LastMessageAt
	}
	return nil
}
