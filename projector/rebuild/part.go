package rebuild

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

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

// forParts does work on parts, one for each worker at a time, until one fails.
func forParts(ctx context.Context, workers int, parts []part, work func(context.Context, part) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, p := range parts {
		group.Go(func() error {
			if err := work(ctx, p); err != nil {
				return fmt.Errorf("partition %d: %w", p.target.Partition, err)
			}
			return nil
		})
	}
	return group.Wait()
}
