// Package projectortest gives tests a stream, a database and projectors between the two.
package projectortest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/schema/schematest"
)

// Partitions is fewer than in production: tests start and stop projectors often.
const Partitions = 4

// Stage is a stream, a database and a publisher for one test.
type Stage struct {
	TB        testing.TB
	Server    *eventstest.Server
	JetStream jetstream.JetStream
	Stream    jetstream.Stream
	Database  *schematest.Database
	Pool      *pgxpool.Pool // as the superuser, who owns the schema
	Publisher *events.Publisher
}

// NewStage is a stage of a test's own.
func NewStage(tb testing.TB) *Stage {
	tb.Helper()
	s := &Stage{TB: tb, Server: eventstest.NewServer(tb), Database: schematest.New(tb)}
	s.JetStream = eventstest.JetStream(tb, s.Server.URL())
	s.Stream = eventstest.CreateStream(tb, s.JetStream, Partitions)
	s.Pool = s.Database.Pool(tb)
	s.Publisher = events.NewPublisher(s.JetStream, "test")
	return s
}

// ReplaceStream deletes the stream of events and creates it anew; the bucket stays: while an account has nothing stored,
// the server removes its directories, from under a stream that is being created.
func (s *Stage) ReplaceStream(change ...func(*jetstream.StreamConfig)) {
	s.TB.Helper()
	if err := s.JetStream.DeleteStream(s.TB.Context(), events.StreamName); err != nil {
		s.TB.Fatal(err)
	}
	settings := events.StreamConfig(events.StreamName, Partitions, 1)
	for _, apply := range change {
		apply(&settings)
	}
	var err error
	if s.Stream, err = s.JetStream.CreateStream(s.TB.Context(), settings); err != nil {
		s.TB.Fatal(err)
	}
}

// Config is a projector's, with connections of its own, until closing is called.
func (s *Stage) Config() (config projector.Config, closing func()) {
	s.TB.Helper()
	config, closing, err := Connect(s.Server.URL(), s.Database.RoleURL("callboard_projector"))
	if err != nil {
		s.TB.Fatal(err)
	}
	if testing.Verbose() {
		config.Log = zerolog.New(zerolog.NewTestWriter(s.TB))
	}
	return config, closing
}

// Start runs a projector until the test ends or stop is called; stop returns once it has ended.
func (s *Stage) Start(change ...func(*projector.Config)) (stop func()) {
	s.TB.Helper()
	config, closing := s.Config()
	for _, apply := range change {
		apply(&config)
	}
	p, err := projector.New(config)
	if err != nil {
		s.TB.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			s.TB.Errorf("run: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		closing()
	})
	s.TB.Cleanup(stop)
	return stop
}

// Publish returns once the stream has the events.
func (s *Stage) Publish(list ...events.Event) {
	s.TB.Helper()
	if err := s.Publisher.Publish(s.TB.Context(), list...); err != nil {
		s.TB.Fatal(err)
	}
}

// Change publishes what entities have become.
func (s *Stage) Change(states ...events.State) {
	s.TB.Helper()
	list := make([]events.Event, len(states))
	for i, state := range states {
		list[i] = events.Changed(state)
	}
	s.Publish(list...)
}

// AnswerDirectly lets every replica answer for the stream, or the leader alone.
func (s *Stage) AnswerDirectly(yes bool) {
	s.TB.Helper()
	config := s.Stream.CachedInfo().Config
	config.AllowDirect = yes
	if _, err := s.JetStream.UpdateStream(s.TB.Context(), config); err != nil {
		s.TB.Fatal(err)
	}
}

// Repartition gives the stream another number of partitions.
func (s *Stage) Repartition(count int) {
	s.TB.Helper()
	if _, err := s.JetStream.UpdateStream(s.TB.Context(), events.StreamConfig(events.StreamName, count, 1)); err != nil {
		s.TB.Fatal(err)
	}
}

// SystemIn is a phone system of a partition.
func SystemIn(partition int) uuid.UUID {
	for {
		if id := uuid.New(); events.Partition(id, Partitions) == partition {
			return id
		}
	}
}

// CaughtUp waits until every partition stands at the stream's end.
func (s *Stage) CaughtUp() {
	s.TB.Helper()
	info, err := s.Stream.Info(s.TB.Context())
	if err != nil {
		s.TB.Fatal(err)
	}
	eventstest.Eventually(s.TB, "every partition at the stream's end", func() bool {
		return s.Number("select count(*) from projection.position where sequence >= $1", int64(info.State.LastSeq)) == Partitions
	})
}

// Number is the first column of a query's one row.
func (s *Stage) Number(query string, parameters ...any) int64 {
	s.TB.Helper()
	var n int64
	if err := s.Pool.QueryRow(s.TB.Context(), query, parameters...).Scan(&n); err != nil {
		s.TB.Fatal(err)
	}
	return n
}

// MustEqual holds the tables as they are now against others.
func (s *Stage) MustEqual(what string, others schematest.Tables) {
	s.TB.Helper()
	if list := s.Database.Projection(s.TB).Differences(others); len(list) > 0 {
		s.TB.Errorf("%s: now (here) and before (there) differ:\n%s", what, strings.Join(list, "\n"))
	}
}

// Replayed empties the tables and lets a projector of its own fill them from the first event.
func (s *Stage) Replayed() schematest.Tables {
	s.TB.Helper()
	s.Database.Forget(s.TB)
	stop := s.Start()
	s.CaughtUp()
	stop()
	return s.Database.Projection(s.TB)
}

// PhoneSystem is one with a name.
func PhoneSystem(id uuid.UUID) *events.PhoneSystem {
	return &events.PhoneSystem{ID: id, Version: 1, Name: "Harbour Dental"}
}

// Call is one that has just come to its end.
func Call(system, id uuid.UUID) *events.Call {
	return &events.Call{
		ID: id, PhoneSystemID: system, Version: 1, CallSid: "CA" + strings.ReplaceAll(id.String(), "-", ""), Direction: "inbound",
		Status: "completed", From: "+14155550123", To: "+14155550100", CreatedAt: events.TimeOf(time.Now()),
	}
}
