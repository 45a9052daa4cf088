// Package projectortest gives tests a stream, a database and the projectors between them.
package projectortest

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/deadletter"
	"callboard/schema"
	"callboard/schema/schematest"
)

// Partitions is the default partition count. Production has more; with few, projectors start and stop faster.
const Partitions = 4

// Harness holds one test's NATS server with the stream of events, its database, and a publisher. Everything is removed
// when the test ends. Its methods must be called from the test's own goroutine.
type Harness struct {
	testing.TB

	Server     *eventstest.Server
	JetStream  jetstream.JetStream
	Stream     jetstream.Stream
	Partitions int
	Database   *schematest.Database
	Pool       *pgxpool.Pool // as the superuser, who owns the schema
	Publisher  *events.Publisher
}

// Option changes a [Harness] before it starts.
type Option func(*Harness)

// WithPartitions sets the stream's partition count.
func WithPartitions(count int) Option {
	return func(h *Harness) { h.Partitions = count }
}

// NewHarness starts a harness.
func NewHarness(tb testing.TB, options ...Option) *Harness {
	tb.Helper()
	h := &Harness{TB: tb, Server: eventstest.NewServer(tb), Partitions: Partitions}
	for _, apply := range options {
		apply(h)
	}

	h.Database = schematest.New(tb)
	h.JetStream = eventstest.JetStream(tb, h.Server.URL())
	h.Stream = eventstest.CreateStream(tb, h.JetStream, h.Partitions)
	h.Pool = h.Database.Pool(tb)
	h.Publisher = events.NewPublisher(h.JetStream, "test")
	return h
}

// Publish returns once the stream has stored the events.
func (h *Harness) Publish(list ...events.Event) {
	h.Helper()
	if err := h.Publisher.Publish(h.Context(), list...); err != nil {
		h.Fatal(err)
	}
}

// PublishStates publishes an event of every state.
func (h *Harness) PublishStates(states ...events.State) {
	h.Helper()
	list := make([]events.Event, len(states))
	for i, state := range states {
		list[i] = events.Changed(state)
	}
	h.Publish(list...)
}

// Apply publishes an event of every state, and waits until a projector, which must run, has applied them.
func (h *Harness) Apply(states ...events.State) {
	h.Helper()
	h.PublishStates(states...)
	h.WaitUntilCaughtUp()
}

// PublishRaw publishes a message without encoding or checking it, and returns its sequence. The header may be nil.
func (h *Harness) PublishRaw(subject string, header nats.Header, data string) uint64 {
	h.Helper()
	ack, err := h.JetStream.PublishMsg(h.Context(), &nats.Msg{Subject: subject, Header: header, Data: []byte(data)})
	if err != nil {
		h.Fatal(err)
	}
	return ack.Sequence
}

// ReplaceStream deletes the stream of events and creates an empty one. The bucket stays: the server removes the
// directories of an account that stores nothing, and a stream that is created at that moment fails.
func (h *Harness) ReplaceStream(change ...func(*jetstream.StreamConfig)) {
	h.Helper()
	if err := h.JetStream.DeleteStream(h.Context(), events.StreamName); err != nil {
		h.Fatal(err)
	}

	config := events.StreamConfig(events.StreamName, h.Partitions, 1)
	for _, apply := range change {
		apply(&config)
	}

	var err error
	if h.Stream, err = h.JetStream.CreateStream(h.Context(), config); err != nil {
		h.Fatal(err)
	}
}

// SetAllowDirect sets the stream's allow_direct: whether replicas may answer reads.
func (h *Harness) SetAllowDirect(allow bool) {
	h.Helper()
	config := h.Stream.CachedInfo().Config
	config.AllowDirect = allow
	h.updateStream(config)
}

// SetPartitions changes the partition count of the stream. [Harness.WaitUntilCaughtUp] still expects the count of the
// start.
func (h *Harness) SetPartitions(count int) {
	h.Helper()
	config := events.StreamConfig(events.StreamName, count, 1)
	config.Metadata = h.Stream.CachedInfo().Config.Metadata // the stream keeps its identity
	h.updateStream(config)
}

func (h *Harness) updateStream(config jetstream.StreamConfig) {
	h.Helper()
	if _, err := h.JetStream.UpdateStream(h.Context(), config); err != nil {
		h.Fatal(err)
	}
}

// StreamID returns the stream's identity.
func (h *Harness) StreamID() uuid.UUID {
	h.Helper()
	id, err := events.StreamID(h.Stream.CachedInfo().Config)
	if err != nil {
		h.Fatal(err)
	}
	return id
}

// NewSystemIn returns a random phone system id that belongs to a partition.
func (h *Harness) NewSystemIn(partition int) uuid.UUID {
	for {
		if id := uuid.New(); events.Partition(id, h.Partitions) == partition {
			return id
		}
	}
}

// LogTo makes a projector log to a buffer.
func LogTo(buffer *eventstest.LogBuffer) func(*projector.Config) {
	return func(c *projector.Config) { c.Log = zerolog.New(buffer) }
}

// StartProjector runs a projector until stop is called or the test ends. stop returns when the projector has ended.
func (h *Harness) StartProjector(change ...func(*projector.Config)) (stop func()) {
	h.Helper()
	config, disconnect := Connect(h, h.Server.URL(), h.Database.RoleURL("callboard_projector"))
	if testing.Verbose() {
		config.Log = zerolog.New(zerolog.NewTestWriter(h.TB))
	}
	for _, apply := range change {
		apply(&config)
	}

	end := h.Run(projector.New(config).Run)
	stop = sync.OnceFunc(func() {
		end()
		disconnect()
	})

	h.Cleanup(stop)
	return stop
}

// Run runs an actor until stop is called or the test ends. stop returns when the actor has returned; its error fails
// the test.
func (h *Harness) Run(actor func(context.Context) error) (stop func()) {
	h.Helper()
	return eventstest.Run(h, actor)
}

// WaitUntilCaughtUp waits until the position of every partition is at the stream's last sequence, or above it.
func (h *Harness) WaitUntilCaughtUp() {
	h.Helper()
	info, err := h.Stream.Info(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	eventstest.Eventually(h.TB, "every position at the stream's last sequence", func() bool {
		return h.QueryInt("select count(*) from projection.position where sequence >= $1", int64(info.State.LastSeq)) == int64(h.Partitions)
	})
}

// RetryDeadLetters retries all open dead letters and waits until none waits for a projector.
func (h *Harness) RetryDeadLetters() {
	h.Helper()
	retrier := deadletter.Retrier{Pool: h.Pool, JetStream: h.JetStream, Stream: events.StreamName, OnPublished: func(int, int) {}}
	if _, err := retrier.Retry(h.Context(), deadletter.Selection{}); err != nil {
		h.Fatal(err)
	}

	eventstest.Eventually(h.TB, "no dead letter waits", func() bool {
		return h.QueryInt("select count(*) from control.dead_letter where state = 'waiting'") == 0
	})
}

// Exec executes a statement as the superuser.
func (h *Harness) Exec(query string, parameters ...any) {
	h.Helper()
	schematest.Exec(h, h.Pool, query, parameters...)
}

// QueryInt returns the only column of a query's only row.
func (h *Harness) QueryInt(query string, parameters ...any) int64 {
	h.Helper()
	return QueryOne[int64](h, query, parameters...)
}

// QueryOne returns the only column of a query's only row. No row, or more than one, fails the test.
func QueryOne[T any](h *Harness, query string, parameters ...any) T {
	h.Helper()
	values := Query[T](h, query, parameters...)
	if len(values) != 1 {
		h.Fatalf("%s: rows = %d, want 1", query, len(values))
	}
	return values[0]
}

// Query returns the only column of a query's rows. It repeats the query as a reader does: a rebuild can switch
// meanwhile.
func Query[T any](h *Harness, query string, parameters ...any) (values []T) {
	h.Helper()
	err := schema.Repeat(h.Context(), h.Pool, func(ctx context.Context, conn *pgxpool.Conn) (_ bool, err error) {
		rows, _ := conn.Query(ctx, query, parameters...)
		values, err = pgx.CollectRows(rows, pgx.RowTo[T])
		return false, err
	})
	if err != nil {
		h.Fatalf("%s: %v", query, err)
	}
	return values
}

// RequireEqualTables fails the test where the projection's rows differ from those of want.
func (h *Harness) RequireEqualTables(what string, want schematest.Tables) {
	h.Helper()
	schematest.RequireEqual(h.TB, what, h.Database.Projection(h.TB), want)
}

// RequireReplayEquals empties the projection, lets a projector fill it from the stream's first event, and compares the
// rows. No other projector may run.
func (h *Harness) RequireReplayEquals(want schematest.Tables) {
	h.Helper()
	h.Database.ClearProjection(h.TB)
	stop := h.StartProjector()
	h.WaitUntilCaughtUp()
	stop()
	h.RequireEqualTables("replayed", want)
}

// PhoneSystem returns version 1 of a phone system.
func PhoneSystem(id uuid.UUID) *events.PhoneSystem {
	return &events.PhoneSystem{ID: id, Version: 1, Name: "Harbour Dental"}
}

// Call returns version 1 of a completed call that begins now.
func Call(system, id uuid.UUID) *events.Call {
	return &events.Call{
		ID: id, PhoneSystemID: system, Version: 1, CallSid: "CA" + strings.ReplaceAll(id.String(), "-", ""), Direction: "inbound",
		Status: "completed", From: events.Some("+14155550123"), To: events.Some("+14155550100"), CreatedAt: events.TimeOf(time.Now()),
	}
}

// Connect returns the configuration of a projector with its own connections. They end with the test, and those to the
// database when they are closed before.
func Connect(tb testing.TB, natsURL, databaseURL string) (config projector.Config, disconnect func()) {
	tb.Helper()
	pool := schematest.OpenPool(tb, databaseURL+"&search_path=projection")
	js, err := jetstream.New(eventstest.Connect(tb, natsURL))
	if err != nil {
		tb.Fatal(err)
	}

	return projector.Config{
		JetStream: js, Stream: events.StreamName, Database: pool, Clock: 50 * time.Millisecond, Tick: 50 * time.Millisecond, OwnerChecks: 200,
		Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	}, pool.Close
}

// Clock is a projector's clock that a test moves. One that is behind finds the stream's clock ahead. Its zero value is
// the host's clock. It is safe for concurrent use.
type Clock struct{ ahead atomic.Int64 }

// Move sets how far the clock is ahead of the host's; less than 0: behind.
func (c *Clock) Move(ahead time.Duration) { c.ahead.Store(int64(ahead)) }

// Now returns the clock's time.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// Option makes a projector use the clock.
func (c *Clock) Option(config *projector.Config) { config.Now = c.Now }
