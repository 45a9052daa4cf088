// Package status measures where a projection stands against its stream, and whether it accounts for all of it.
//
// The tables are read first and the stream after them, so a lag is never flattered. Head, lag and what lies up to a position are
// asked of the stream itself: the head of a partition is its last message; the rest the server counts for a short-lived consumer.
// A partition with messages costs five or six requests, and some are asked about at a time.
package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/projector/ingest"
	"callboard/projector/store"
	"callboard/schema"
)

// Source is a projection and the stream that it is made from.
type Source struct {
	JetStream  jetstream.JetStream
	Stream     string
	Pool       *pgxpool.Pool
	Definition []byte // of a projection of this release
}

// Report is how a projection stands.
type Report struct {
	Stream   string    `json:"stream"`
	Messages uint64    `json:"messages"` // in the stream
	Time     time.Time `json:"time"`     // by the stream's clock

	// Since the report before: null in the first.
	Rate       *float64 `json:"rate"`       // events applied a second
	ETASeconds *float64 `json:"etaSeconds"` // until what waits is applied at that rate; null where none is

	Generation  *int64       `json:"generation"`  // the live one
	Generations []Generation `json:"generations"` // the newest first, without those that were dropped
	Migrated    bool         `json:"migrated"`    // all of this release's migrations have run

	DeadLetters         int64    `json:"deadLetters"`         // open
	DeadLettersRetrying int64    `json:"deadLettersRetrying"` // of them, those whose retry was asked for
	DeadLetterReasons   []Reason `json:"deadLetterReasons"`   // the most frequent of the open ones

	MessageCounts []MessageCount `json:"messageCounts"` // the ledger by entity; null where none is kept
	Balanced      bool           `json:"balanced"`      // a ledger is kept, every line of it adds up, and it accounts for every message
	Partitions    []Partition    `json:"partitions"`
}

// Lag is the number of messages that are not in the tables.
func (r Report) Lag() (events uint64) {
	for _, p := range r.Partitions {
		events += p.LagEvents
	}
	return events
}

// atOnce is how many partitions are asked about at a time.
const atOnce = 8

// Read measures now.
func (s Source) Read(ctx context.Context) (Report, error) {
	report := Report{Stream: s.Stream}
	positions, owners, err := s.readTables(ctx, &report)
	if err != nil {
		return report, err
	}
	stream, err := s.stream(ctx)
	if err != nil {
		return report, err
	}
	info := stream.CachedInfo()
	report.Messages, report.Time = info.State.Msgs, info.TimeStamp
	count, err := events.Partitions(info.Config)
	if err != nil {
		return report, err
	}
	first, err := s.first(ctx, stream)
	if err != nil {
		return report, err
	}
	for number := range count {
		p := Partition{Partition: number}
		if owner, owned := owners[number]; owned {
			p.Owner = &owner
		}
		if at, known := positions[number]; known {
			p.stand(at)
			stop, err := at.stop(ctx, stream, first)
			if err != nil {
				return report, err
			}
			if stop != nil {
				p.StopReason, p.stopDetail = stop.Reason, stop.Detail
			}
		}
		report.Partitions = append(report.Partitions, p)
	}
	err = report.measure(ctx, stream)
	report.MessageCounts, report.Balanced = byEntity(report.Partitions), balanced(report.Partitions)
	return report, err
}

// StopReasons are why partitions can't go on, for each that can't.
func (s Source) StopReasons(ctx context.Context) (map[int]string, error) {
	positions, err := readPositions(ctx, s.Pool)
	if err != nil {
		return nil, err
	}
	stream, err := s.stream(ctx)
	if err != nil {
		return nil, err
	}
	first, err := s.first(ctx, stream)
	if err != nil {
		return nil, err
	}
	faults := make(map[int]string)
	for partition, at := range positions {
		stop, err := at.stop(ctx, stream, first)
		if err != nil {
			return nil, err
		}
		if stop != nil {
			faults[partition] = stop.Reason
		}
	}
	return faults, nil
}

func (s Source) stream(ctx context.Context) (jetstream.Stream, error) {
	stream, err := s.JetStream.Stream(ctx, s.Stream)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", s.Stream, err)
	}
	return stream, nil
}

// first is how many partitions the stream had when it was read first. A database that isn't migrated doesn't know.
func (s Source) first(ctx context.Context, stream jetstream.Stream) (int, error) {
	if err := schema.CheckMigrated(ctx, s.Pool); errors.Is(err, schema.ErrNotMigrated) {
		return 0, nil
	}
	return store.RegisteredPartitions(ctx, s.Pool, ingest.StreamOf(stream.CachedInfo()))
}

func (s Source) readTables(ctx context.Context, report *Report) (map[int]position, map[int]string, error) {
	if err := report.readDeadLetters(ctx, s.Pool); err != nil {
		return nil, nil, err
	}
	err := schema.CheckMigrated(ctx, s.Pool)
	if report.Migrated = err == nil; err != nil && !errors.Is(err, schema.ErrNotMigrated) {
		return nil, nil, err
	}
	if report.Generations, err = Generations(ctx, s.Pool, s.Definition); err != nil {
		return nil, nil, err
	}
	if g := live(report.Generations); g != nil {
		report.Generation = &g.ID
	}
	owners, err := readOwners(ctx, s.Pool)
	if err != nil {
		return nil, nil, err
	}
	positions, err := readPositions(ctx, s.Pool)
	return positions, owners, err
}

func (r *Report) measure(ctx context.Context, stream jetstream.Stream) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range r.Partitions {
		p := &r.Partitions[i]
		group.Go(func() error {
			if err := p.measure(ctx, stream, r.Time); err != nil {
				return fmt.Errorf("partition %d: %w", p.Partition, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// stand is where the tables have the partition.
func (p *Partition) stand(at position) {
	p.Position, p.Watermark, p.MessageCounts = uint64(at.Sequence), &at.Watermark, at.MessageCounts
	if p.MessageCounts != nil {
		read := Total(p.MessageCounts).Read
		p.Read = &read
	}
}
