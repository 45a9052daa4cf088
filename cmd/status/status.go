// Package status measures where a projection stands against its stream.
//
// The positions are read first and the stream after them, so a lag is never flattered. Head and lag are asked of the stream
// itself: the head of a partition is its last message; the lag is the number of its messages above the position, counted by the
// server for a short-lived consumer that would begin there. A partition whose head is not above its position costs one request,
// another one three.
package status

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector"
)

var (
	//go:embed positions.sql
	positionsSQL string

	//go:embed owners.sql
	ownersSQL string

	//go:embed totals.sql
	totalsSQL string
)

// Report is how a projection stands.
type Report struct {
	Stream      string      `json:"stream"`
	Messages    uint64      `json:"messages"` // in the stream
	Time        time.Time   `json:"time"`     // by the stream's clock
	Rate        *float64    `json:"rate"`     // events applied a second since the report before; null in the first
	Generation  *int64      `json:"generation"`
	DeadLetters int64       `json:"deadLetters"`
	Partitions  []Partition `json:"partitions"`
}

// Partition is how one partition stands.
type Partition struct {
	Partition  int        `json:"partition"`
	Head       uint64     `json:"head"`       // the sequence of its last message
	Position   uint64     `json:"position"`   // up to which it is in the tables
	LagEvents  uint64     `json:"lagEvents"`  // its messages above the position
	LagSeconds float64    `json:"lagSeconds"` // the age of the oldest of them
	Watermark  *time.Time `json:"watermark"`  // everything stored before is in the tables
	Owner      *string    `json:"owner"`      // the application name of the projector that has it
	Fault      string     `json:"fault,omitempty"`
}

// Lag is the number of messages that are not in the tables.
func (r Report) Lag() (events uint64) {
	for _, p := range r.Partitions {
		events += p.LagEvents
	}
	return events
}

// Read measures now.
func Read(ctx context.Context, js jetstream.JetStream, pool *pgxpool.Pool, name string) (Report, error) {
	report := Report{Stream: name}
	positions, owners, err := readTables(ctx, pool, &report)
	if err != nil {
		return report, err
	}
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return report, fmt.Errorf("stream %s: %w", name, err)
	}
	info := stream.CachedInfo()
	report.Messages, report.Time = info.State.Msgs, info.TimeStamp
	count, err := events.Partitions(info.Config)
	if err != nil {
		return report, err
	}
	for number := range count {
		p := Partition{Partition: number}
		if owner, owned := owners[number]; owned {
			p.Owner = &owner
		}
		if at, known := positions[number]; known {
			p.Position, p.Watermark, p.Fault = uint64(at.Sequence), &at.Watermark, at.fault(info)
		}
		if err := p.measure(ctx, stream, info.TimeStamp); err != nil {
			return report, fmt.Errorf("partition %d: %w", number, err)
		}
		report.Partitions = append(report.Partitions, p)
	}
	return report, nil
}

// position is a row of the projection's.
type position struct {
	Partition     int
	Stream        string
	StreamCreated time.Time
	Sequence      int64
	Watermark     time.Time
}

// fault is why the partition can't go on.
func (p position) fault(info *jetstream.StreamInfo) string {
	switch {
	case p.Stream != info.Config.Name || !p.StreamCreated.Equal(info.Created.Truncate(time.Microsecond)):
		return projector.StreamIdentityChanged
	case uint64(p.Sequence) > info.State.LastSeq:
		return projector.StreamRegressed
	case uint64(p.Sequence)+1 < info.State.FirstSeq:
		return projector.StreamTruncated
	}
	return ""
}

func readTables(ctx context.Context, pool *pgxpool.Pool, report *Report) (map[int]position, map[int]string, error) {
	if err := pool.QueryRow(ctx, totalsSQL).Scan(&report.DeadLetters, &report.Generation); err != nil {
		return nil, nil, fmt.Errorf("totals: %w", err)
	}
	owners := make(map[int]string)
	rows, err := pool.Query(ctx, ownersSQL, projector.LockClass)
	if err == nil {
		var partition int
		var name string
		_, err = pgx.ForEachRow(rows, []any{&partition, &name}, func() error {
			owners[partition] = name
			return nil
		})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("owners: %w", err)
	}
	positions := make(map[int]position)
	rows, err = pool.Query(ctx, positionsSQL)
	if err != nil {
		return nil, nil, fmt.Errorf("positions: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[position])
	if err != nil {
		return nil, nil, fmt.Errorf("positions: %w", err)
	}
	for _, p := range list {
		positions[p.Partition] = p
	}
	return positions, owners, nil
}

// measure asks the stream.
func (p *Partition) measure(ctx context.Context, stream jetstream.Stream, now time.Time) error {
	filter := events.PartitionFilter(p.Partition)
	last, err := stream.GetLastMsgForSubject(ctx, filter)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("head: %w", err)
	}
	if p.Head = last.Sequence; p.Head <= p.Position {
		return nil
	}
	next, err := stream.GetMsg(ctx, p.Position+1, jetstream.WithGetMsgSubject(filter))
	if err != nil {
		return fmt.Errorf("oldest: %w", err)
	}
	p.LagSeconds = max(now.Sub(next.Time).Seconds(), 0)
	p.LagEvents, err = waiting(ctx, stream, filter, p.Position)
	return err
}

// waiting is the number of messages above a position.
func waiting(ctx context.Context, stream jetstream.Stream, filter string, position uint64) (uint64, error) {
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject:     filter,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       position + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		InactiveThreshold: 5 * time.Second, // its end, should this program not come to delete it
	})
	if err != nil {
		return 0, fmt.Errorf("lag: %w", err)
	}
	info := consumer.CachedInfo()
	if err := stream.DeleteConsumer(ctx, info.Name); err != nil {
		return 0, fmt.Errorf("lag: %w", err)
	}
	return info.NumPending, nil
}
