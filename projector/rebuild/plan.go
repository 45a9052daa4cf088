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
	"callboard/projector/store"
)

// heapPerByte is how many bytes of memory a byte of the stream becomes when it is folded: one that is in use, measured on sample events,
// and as many that the collector has not come to.
const heapPerByte = 2

// plan cuts the stream into parts that fit in memory, one for each worker at a time. Positions say how far the partitions are to be
// folded; those without one, and those at the stream's beginning, are folded to its end.
func plan(ctx context.Context, c Config, s *source, positions map[int16]store.Position) ([]part, error) {
	stream, err := c.JetStream.Stream(ctx, c.Stream)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", c.Stream, err)
	}
	info := stream.CachedInfo()
	count, err := events.Partitions(info.Config)
	if err != nil {
		return nil, err
	}
	bytes := int64(info.State.Bytes) + bodies(ctx, c)
	room := c.Memory / int64(c.Workers) / heapPerByte / max(bytes/max(int64(info.State.Msgs), 1), 1)
	var parts []part
	for partition := range int16(count) {
		sizes, err := sizes(ctx, stream, partition)
		if err != nil {
			return nil, err
		}
		target, known := positions[partition]
		if !known || target.Sequence == 0 {
			target = store.Position{Partition: partition, Stream: s.identity, Sequence: info.State.LastSeq}
		}
		for _, p := range cut(target, sizes, room) {
			// Subjects that name nobody lie anywhere, and no row comes of them.
			p.about = slices.DeleteFunc(slices.Clone(p.about), func(system uuid.UUID) bool {
				return events.Partition(system, count) != int(partition)
			})
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// bodies is how much the transcripts take that travelled as claim checks. It only makes an estimate better, so it is 0 where it can't
// be had.
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

// sizes are how many messages each phone system of a partition has.
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

// cut is a partition in as few parts as have room, the largest phone systems first. One that has no room has a part of its own.
func cut(target store.Position, sizes map[uuid.UUID]int64, room int64) []part {
	whole := part{target: target, sizes: sizes}
	whole.events = whole.size()
	whole.about = slices.SortedFunc(maps.Keys(sizes), func(a, b uuid.UUID) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), strings.Compare(a.String(), b.String()))
	})
	if whole.events <= room {
		return []part{whole}
	}
	var parts []part
	for _, system := range whole.about {
		if len(parts) == 0 || parts[len(parts)-1].events+sizes[system] > room {
			parts = append(parts, part{number: len(parts), target: target, sizes: sizes})
		}
		last := &parts[len(parts)-1]
		last.systems = append(last.systems, system)
		last.about = last.systems
		last.events += sizes[system]
	}
	return parts
}

// size is how many messages the part has.
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
