package rebuild

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/replay"
	"callboard/projector/store"
)

const (
	// partsPerWorker is how many parts there are for each worker at least, so that none works long while the others have nothing to do.
	partsPerWorker = 2
	// minPartBytes are the messages of a part that needn't be divided for that.
	minPartBytes = 4 << 20
	// clockBytes is about what a clock message has in the stream's state.
	clockBytes = 100
	// maxSlotBytes are the messages of a slot. Larger ones only need more memory. maxSlots limits the files that are merged.
	maxSlotBytes = 64 << 20
	maxSlots     = 256
)

// plan divides the stream into parts of which one for each worker fits in memory, or a slot of it.
func plan(ctx context.Context, c Config, s *source, positions map[int16]store.Position) ([]part, error) {
	p, err := newPlanner(ctx, c, s)
	if err != nil {
		return nil, err
	}
	return p.parts(ctx, positions)
}

// planner divides a stream into parts.
type planner struct {
	config     Config
	source     *source
	stream     jetstream.Stream
	partitions int
	average    int64 // bytes of a message
	fitting    int64 // messages that fit in memory
	share      int64 // messages of a part that is not divided, so that all workers have something to do
}

func newPlanner(ctx context.Context, c Config, s *source) (*planner, error) {
	stream, err := s.Reopen(ctx, c.JetStream)
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(events.ClockSubject))
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", s.Name(), err)
	}
	p := &planner{config: c, source: s, stream: stream}
	if p.partitions, err = stream.Partitions(); err != nil {
		return nil, err
	}
	clocks := int64(info.State.Subjects[events.ClockSubject])
	bytes := max(int64(info.State.Bytes)-clocks*clockBytes, 0) + bodies(ctx, c)
	p.average = max(bytes/max(int64(info.State.Msgs)-clocks, 1), 1)
	p.fitting = c.partMemory() / replay.HeapPerByte / p.average
	p.share = min(p.fitting, max(bytes/int64(c.Workers*partsPerWorker), minPartBytes)/p.average)
	return p, nil
}

// parts returns the parts of all partitions. A partition is folded up to its position, or to the stream's end if it has none or its position
// is 0.
func (p *planner) parts(ctx context.Context, positions map[int16]store.Position) (parts []part, err error) {
	end := p.stream.CachedInfo().State.LastSeq
	for partition := range int16(p.partitions) {
		sizes, err := sizes(ctx, p.stream, partition)
		if err != nil {
			return nil, err
		}
		target, known := positions[partition]
		if !known || target.Sequence == 0 {
			target = store.Position{Partition: partition, Stream: p.source.History, Sequence: end}
		}
		for _, d := range divide(target, sizes, p.share) {
			// A subject without a valid phone system can be in any partition, and makes no row.
			d.compared = slices.DeleteFunc(slices.Clone(d.compared), func(system uuid.UUID) bool {
				return events.Partition(system, p.partitions) != int(partition)
			})
			d.slots = p.slots(d.events, p.share)
			parts = append(parts, d)
		}
	}
	return parts, nil
}

// partOf returns a part with one phone system, without a target. One that fits in memory is not divided, so that it can be folded further.
func (p *planner) partOf(ctx context.Context, system uuid.UUID) (part, error) {
	partition := int16(events.Partition(system, p.partitions))
	sizes, err := sizes(ctx, p.stream, partition)
	events := sizes[system]
	return part{
		target: store.Position{Partition: partition, Stream: p.source.History}, systems: []uuid.UUID{system}, sizes: sizes,
		events: events, slots: p.slots(events, p.fitting),
	}, err
}

// slots returns into how many slots a part with this number of messages is divided; 0: it has at most those of an undivided one.
func (p *planner) slots(messages, undivided int64) int {
	if messages <= undivided {
		return 0
	}
	size := max(min(p.share, max(maxSlotBytes/p.average, messages/maxSlots)), 1)
	return int((messages + size - 1) / size)
}

// bytes returns the bytes of the messages of parts, at most those of the stream.
func (p *planner) bytes(parts []part, ofStream int64) (bytes int64) {
	for _, part := range parts {
		bytes += part.events * p.average
	}
	return min(bytes, ofStream)
}

// bodies returns the bytes of transcripts that were published as claim checks. It improves an estimate, so an error counts as 0.
func bodies(ctx context.Context, c Config) int64 {
	bucket, err := c.JetStream.ObjectStore(ctx, events.TranscriptBucket)
	if err != nil {
		return 0
	}
	status, err := bucket.Status(ctx)
	if err != nil {
		return 0
	}
	return int64(status.Size())
}

// sizes returns the number of messages of each phone system of a partition.
func sizes(ctx context.Context, stream jetstream.Stream, partition int16) (map[uuid.UUID]int64, error) {
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(events.PartitionFilter(int(partition))))
	if err != nil {
		return nil, fmt.Errorf("partition %d: %w", partition, err)
	}
	sizes := make(map[uuid.UUID]int64)
	for subject, n := range info.State.Subjects {
		sizes[events.SubjectSystem(subject)] += int64(n)
	}
	return sizes, nil
}

// divide returns the parts of a partition, with at most maxMessages each and the largest phone systems first. A larger phone system is a
// part of its own, which is to be divided into slots.
func divide(target store.Position, sizes map[uuid.UUID]int64, maxMessages int64) []part {
	whole := part{target: target, sizes: sizes}
	whole.events = whole.size()
	whole.compared = slices.SortedFunc(maps.Keys(sizes), func(a, b uuid.UUID) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), strings.Compare(a.String(), b.String()))
	})
	if whole.events <= maxMessages {
		return []part{whole}
	}
	var parts []part
	for _, system := range whole.compared {
		if len(parts) == 0 || parts[len(parts)-1].events+sizes[system] > maxMessages {
			parts = append(parts, part{number: len(parts), target: target, sizes: sizes})
		}
		last := &parts[len(parts)-1]
		last.systems = append(last.systems, system)
		last.compared = last.systems
		last.events += sizes[system]
	}
	return parts
}
