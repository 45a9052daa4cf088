// Package status reports the position, the lag and the owner of every partition, and checks the message accounting against the stream.
//
// It reads the tables first and the stream after them, so a lag is never too low. The head of a partition is the sequence of its last
// message. The server counts messages for a short-lived consumer. A partition with messages costs five or six requests.
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

// Source is a projection and its stream.
type Source struct {
	JetStream  jetstream.JetStream
	Stream     string // its name; one that was adopted in its place is read instead
	Pool       *pgxpool.Pool
	Definition []byte // of this release's projection
}

// Report is the state of a projection.
type Report struct {
	Stream   string    `json:"stream"`
	Messages uint64    `json:"messages"` // in the stream, without clock messages
	Time     time.Time `json:"time"`     // of the stream's server

	Closed          bool     `json:"closed"`          // the stream takes no messages, because another one is to take its place
	Clockless       bool     `json:"clockless"`       // the stream takes no clock messages
	ClockAgeSeconds *float64 `json:"clockAgeSeconds"` // of the newest clock message; null: there is none

	ClockAhead ClockAhead `json:"clockAhead"`

	LastWatermark *time.Time `json:"lastWatermark"` // that watermarks don't pass, while a generation is built from another stream; null: they do

	LateCalls LateCalls `json:"lateCalls"`

	Server         Server `json:"server"`
	JournalProblem string `json:"journalProblem,omitempty"` // of the stream of key revocations and expiries
	AuditProblem   string `json:"auditProblem,omitempty"`   // of the stream of audit entries

	// Since the previous report; null in the first.
	Rate       *float64 `json:"rate"`       // applied events per second
	ETASeconds *float64 `json:"etaSeconds"` // until the lag is applied at that rate; null without a lag or a rate

	Generation  *int64       `json:"generation"`  // the live one
	Generations []Generation `json:"generations"` // the newest first, without dropped ones
	Migrated    bool         `json:"migrated"`    // all migrations of this release have run

	DeadLetters         int64    `json:"deadLetters"`         // open
	DeadLettersRetrying int64    `json:"deadLettersRetrying"` // of these, the ones that wait for a retry
	DeadLetterReasons   []Reason `json:"deadLetterReasons"`   // of the open ones, the most frequent first

	MessageCounts []MessageCount `json:"messageCounts"` // by entity; null if the generation has no message accounting
	Balanced      bool           `json:"balanced"`      // the message accounting exists, adds up, and agrees with the stream
	Partitions    []Partition    `json:"partitions"`
}

// Lag returns the number of messages that are not applied.
func (r Report) Lag() (events uint64) {
	for _, p := range r.Partitions {
		events += p.LagEvents
	}
	return events
}

// maxConcurrent is the number of partitions that are measured concurrently.
const maxConcurrent = 8

// Read returns a report of the present state.
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
	report.JournalProblem = journalProblem(ctx, s.JetStream)
	report.AuditProblem = auditProblem(ctx, s.JetStream)
	report.Stream = stream.Name()
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(events.ClockSubject))
	if err != nil {
		return report, fmt.Errorf("stream %s: %w", report.Stream, err)
	}
	report.Messages, report.Time = info.State.Msgs-info.State.Subjects[events.ClockSubject], info.TimeStamp
	now := time.Now()
	report.ClockAhead.Seconds = info.TimeStamp.Sub(now).Round(time.Second).Seconds()
	if err := report.readClock(ctx, stream, info); err != nil {
		return report, err
	}
	count, err := events.Partitions(info.Config)
	if err != nil {
		return report, err
	}
	registered, err := s.registeredPartitions(ctx, stream)
	if err != nil {
		return report, err
	}
	nodes, err := readNodes(ctx, s.Pool, count)
	if err != nil {
		return report, err
	}
	for number := range count {
		p := Partition{Partition: number, Node: nodes[number]}
		if owner, owned := owners[number]; owned {
			p.Owner = &owner
		}
		if row, ok := positions[number]; ok {
			p.setPosition(row, now)
			stop, err := row.stop(ctx, stream, registered)
			if err != nil {
				return report, err
			}
			if stop != nil {
				p.StopReason, p.StopDetail = stop.Reason, stop.Detail
			}
		}
		report.Partitions = append(report.Partitions, p)
	}
	err = report.measure(ctx, stream)
	report.MessageCounts, report.Balanced = byEntity(report.Partitions), balanced(report.Partitions)
	return report, err
}

// StopReasons returns the stop reasons of the stopped partitions.
func (s Source) StopReasons(ctx context.Context) (map[int]string, error) {
	positions, err := readPositions(ctx, s.Pool)
	if err != nil {
		return nil, err
	}
	stream, err := s.stream(ctx)
	if err != nil {
		return nil, err
	}
	registered, err := s.registeredPartitions(ctx, stream)
	if err != nil {
		return nil, err
	}
	reasons := make(map[int]string)
	for partition, row := range positions {
		stop, err := row.stop(ctx, stream, registered)
		if err != nil {
			return nil, err
		}
		if stop != nil {
			reasons[partition] = stop.Reason
		}
	}
	return reasons, nil
}

func (s Source) stream(ctx context.Context) (ingest.Source, error) {
	return ingest.OpenSource(ctx, s.JetStream, s.Pool, s.Stream)
}

// registeredPartitions returns the number of partitions that the stream had when a projector first read it. It is 0 if no projector
// has, and in a database that is not migrated.
func (s Source) registeredPartitions(ctx context.Context, stream ingest.Source) (int, error) {
	if err := schema.CheckMigrated(ctx, s.Pool); errors.Is(err, schema.ErrNotMigrated) {
		return 0, nil
	}
	return store.RegisteredPartitions(ctx, s.Pool, stream.History)
}

func (s Source) readTables(ctx context.Context, report *Report) (map[int]position, map[int]string, error) {
	if err := report.readDeadLetters(ctx, s.Pool); err != nil {
		return nil, nil, err
	}
	err := schema.CheckMigrated(ctx, s.Pool)
	if report.Migrated = err == nil; err != nil && !errors.Is(err, schema.ErrNotMigrated) {
		return nil, nil, err
	}
	if report.Migrated {
		if err := report.ClockAhead.readCaps(ctx, s.Pool); err != nil {
			return nil, nil, err
		}
		if err := s.Pool.QueryRow(ctx, lastWatermarkSQL).Scan(&report.LastWatermark); err != nil {
			return nil, nil, fmt.Errorf("last watermark: %w", err)
		}
	}
	if err := report.Server.read(ctx, s.Pool, report.Migrated); err != nil {
		return nil, nil, err
	}
	if report.Generations, err = Generations(ctx, s.Pool, s.Definition); err != nil {
		return nil, nil, err
	}
	if g := live(report.Generations); g != nil {
		report.Generation = &g.ID
	}
	if report.LateCalls, err = readLateCalls(ctx, s.Pool); err != nil {
		return nil, nil, err
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
	group.SetLimit(maxConcurrent)
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

// Problems returns a sentence for each problem that an operator should look at.
func (r Report) Problems() []string {
	var list []string
	if !r.Migrated {
		list = append(list, fmt.Sprintf("%s: %s", ingest.MigrationMissing, schema.ErrNotMigrated))
	}
	for _, problem := range []string{r.JournalProblem, r.AuditProblem} {
		if problem != "" {
			list = append(list, problem)
		}
	}
	list = append(list, r.clockProblems()...)
	list = append(list, r.ClockAhead.problems()...)
	for _, p := range r.Partitions {
		list = append(list, p.problems()...)
	}
	if g := live(r.Generations); g != nil && !g.Current {
		list = append(list, fmt.Sprintf("generation %d is live and was built by another release: run 'callboard rebuild'", g.ID))
	}
	return list
}

// SetRate sets the rate since an earlier report, and from it the time until the lag is applied.
func (r *Report) SetRate(before Report) {
	r.Rate, r.ETASeconds = nil, nil
	seconds := r.Time.Sub(before.Time).Seconds()
	if seconds <= 0 {
		return
	}
	perSecond := (r.applied() - before.applied()) / seconds
	r.Rate = &perSecond
	if lag := r.Lag(); lag > 0 && perSecond > 0 {
		eta := float64(lag) / perSecond
		r.ETASeconds = &eta
	}
}

// applied returns the number of messages up to the positions.
func (r *Report) applied() float64 { return float64(r.Messages) - float64(r.Lag()) }
