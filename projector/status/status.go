// Package status reports the position, the lag and the owner of every partition, and checks the message accounting
// against the stream.
//
// It reads the tables first and the stream after them, so a lag is never too low. Where the stream can't be read, the
// report has what the tables say, and the reason. The head of a partition is the sequence of its last message. The
// server counts messages for a short-lived consumer. A partition with messages costs five or six requests.
package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
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
	JetStream  jetstream.JetStream // nil: NATS can't be reached
	NATSError  error               // why not
	Stream     string              // its name
	Pool       *pgxpool.Pool
	Definition []byte // of this release's projection
}

// Report is the state of a projection.
type Report struct {
	Stream   string    `json:"stream"`
	Messages uint64    `json:"messages"` // in the stream, without clock messages
	Time     time.Time `json:"time"`     // of the stream's server; with a StreamProblem it can be that of this host

	// StreamProblem is why the stream was not read, or not completely; empty: it was. The report has what the tables
	// say, then. What the stream says is 0, null or missing, or as it was up to the problem.
	StreamProblem string `json:"streamProblem,omitempty"`

	ClockAgeSeconds *float64 `json:"clockAgeSeconds"` // of the newest clock message; null: there is none

	ClockAhead ClockAhead `json:"clockAhead"`

	LastWatermark *time.Time `json:"lastWatermark"` // that watermarks don't pass, while a generation is built from another stream; null: they do

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

	MessageCounts []MessageCount `json:"messageCounts"` // by entity; null before the first position
	Balanced      bool           `json:"balanced"`      // there are positions, and the message accounting adds up and agrees with the stream
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

// Read returns a report of the present state. The error is one of PostgreSQL, or of ctx.
func (s Source) Read(ctx context.Context) (Report, error) {
	report := Report{Stream: s.Stream, Time: time.Now()}
	tables, err := s.readTables(ctx, &report)
	if err != nil {
		return report, err
	}

	// A stream that cannot be read leaves the partitions as the tables have them.
	count := 0
	for number := range tables.positions {
		count = max(count, number+1)
	}
	report.addPartitions(tables, count)

	if err := s.readStream(ctx, &report, tables); errors.Is(ctx.Err(), context.Canceled) {
		return report, ctx.Err()
	} else if err != nil {
		report.StreamProblem = err.Error()
	}

	report.MessageCounts = byEntity(report.Partitions)
	report.Balanced = report.StreamProblem == "" && balanced(report.Partitions)
	return report, nil
}

// addPartitions makes the partitions of a report those that the tables have, up to a count.
func (r *Report) addPartitions(t tables, count int) {
	now := time.Now()
	r.Partitions = nil

	for number := range count {
		p := Partition{Partition: number}

		if owner, owned := t.owners[number]; owned {
			p.Owner = &owner
		}
		if row, ok := t.positions[number]; ok {
			p.setPosition(row, now)
		}

		r.Partitions = append(r.Partitions, p)
	}
}

// readStream adds what the stream says. After an error, the report has what was read before.
func (s Source) readStream(ctx context.Context, report *Report, t tables) error {
	unreachable := s.NATSError
	if s.JetStream != nil && !s.JetStream.Conn().IsConnected() {
		unreachable = errors.New("the connection is " + strings.ToLower(s.JetStream.Conn().Status().String()))
	}

	if unreachable != nil {
		return fmt.Errorf("NATS can't be reached: %w: check CALLBOARD_NATS_URL, and that the server runs", unreachable)
	}

	err := s.measureStream(ctx, report, t)
	if err != nil {
		return fmt.Errorf("stream %s could not be read completely: %w: run 'callboard stream check'", report.Stream, err)
	}
	return nil
}

// measureStream reads the stream's information first, then which partitions are stopped, then the lag of each.
func (s Source) measureStream(ctx context.Context, report *Report, t tables) error {
	stream, err := ingest.OpenSource(ctx, s.JetStream, s.Stream)
	if err != nil {
		return err
	}

	report.JournalProblem = streamProblem(ctx, s.JetStream, events.KeyStream, KeysJournalMissing,
		"revoked keys can work again after a failover "+
			"of PostgreSQL, and 'callboard keys revoke' fails after it has revoked the key")
	report.AuditProblem = streamProblem(ctx, s.JetStream, events.AuditStream, AuditLogMissing,
		"readers will soon refuse all requests")

	// Clock messages are no events, so the report leaves them out.
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(events.ClockSubject))
	if err != nil {
		return err
	}
	report.Messages, report.Time = info.State.Msgs-info.State.Subjects[events.ClockSubject], info.TimeStamp
	report.ClockAhead.Seconds = time.Until(info.TimeStamp).Round(time.Second).Seconds()

	count, err := events.Partitions(info.Config)
	if err != nil {
		return err
	}
	report.addPartitions(t, count)
	if err := s.addStops(ctx, report, stream, t.positions); err != nil {
		return err
	}

	nodes, err := readNodes(ctx, s.Pool, count)
	for i := range report.Partitions {
		report.Partitions[i].Node = nodes[i]
	}
	if err != nil {
		return err
	}

	if err := report.readClock(ctx, s.JetStream, info); err != nil {
		return err
	}
	return report.measure(ctx, s.JetStream, stream)
}

// addStops adds why partitions are stopped. A partition that can't be checked hides no other one.
func (s Source) addStops(ctx context.Context, report *Report, stream ingest.Source, positions map[int]position) error {
	// A database that is not migrated has no number of partitions, and neither has one that no projector has used.
	registered := 0
	if report.Migrated {
		var err error
		if registered, err = store.RegisteredPartitions(ctx, s.Pool, stream.ID); err != nil {
			return err
		}
	}

	var failed error
	for i := range report.Partitions {
		p := &report.Partitions[i]
		row, ok := positions[p.Partition]
		if !ok {
			continue
		}

		stop, err := row.stop(ctx, stream, registered)
		if stop != nil {
			p.StopReason, p.StopDetail = stop.Reason, stop.Detail
		}
		failed = cmp.Or(failed, err)
	}
	return failed
}

// tables are what the tables say of partitions.
type tables struct {
	positions map[int]position
	owners    map[int]string // the projectors' application names
}

func (s Source) readTables(ctx context.Context, report *Report) (t tables, err error) {
	if err := report.readDeadLetters(ctx, s.Pool); err != nil {
		return t, err
	}

	// A database that is not migrated lacks some of the tables.
	err = schema.CheckMigrated(ctx, s.Pool)
	if report.Migrated = err == nil; err != nil && !errors.Is(err, schema.ErrNotMigrated) {
		return t, err
	}

	if report.Migrated {
		if err := report.ClockAhead.readCaps(ctx, s.Pool); err != nil {
			return t, err
		}
		if err := s.Pool.QueryRow(ctx, lastWatermarkSQL).Scan(&report.LastWatermark); err != nil {
			return t, fmt.Errorf("last watermark: %w", err)
		}
	}

	if err := report.Server.read(ctx, s.Pool); err != nil {
		return t, err
	}
	if report.Generations, err = Generations(ctx, s.Pool, s.Definition); err != nil {
		return t, err
	}

	if g := live(report.Generations); g != nil {
		report.Generation = &g.ID
	}

	if t.owners, err = readOwners(ctx, s.Pool); err != nil {
		return t, err
	}
	t.positions, err = readPositions(ctx, s.Pool)
	return t, err
}

func (r *Report) measure(ctx context.Context, js jetstream.JetStream, stream jetstream.Stream) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrent)

	for i := range r.Partitions {
		p := &r.Partitions[i]
		group.Go(func() error {
			if err := p.measure(ctx, js, stream, r.Time); err != nil {
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
	for _, problem := range []string{r.StreamProblem, r.JournalProblem, r.AuditProblem} {
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
		list = append(list, fmt.Sprintf("generation %d is live and was built by another release: run 'callboard rebuild'",
			g.ID))
	}
	return list
}

// SetRate sets the rate since an earlier report, and from it the time until the lag is applied.
func (r *Report) SetRate(before Report) {
	r.Rate, r.ETASeconds = nil, nil
	seconds := r.Time.Sub(before.Time).Seconds()
	if seconds <= 0 || r.StreamProblem != "" || before.StreamProblem != "" {
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
