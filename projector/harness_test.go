package projector_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childNATS) != "" {
		os.Exit(runChild())
	}
	schematest.Run(m, func() error { return goleak.Find(eventstest.StoredObject()) })
}

// partitions is fewer than in production: tests start and stop projectors often.
const partitions = 4

// stage is a stream, a database and a publisher for one test.
type stage struct {
	tb        testing.TB
	server    *eventstest.Server
	js        jetstream.JetStream
	stream    jetstream.Stream
	database  *schematest.Database
	pool      *pgxpool.Pool // as the superuser
	publisher *events.Publisher
}

func newStage(tb testing.TB) *stage {
	tb.Helper()
	s := &stage{tb: tb, server: eventstest.NewServer(tb), database: schematest.New(tb)}
	s.js = eventstest.JetStream(tb, s.server.URL())
	s.stream = eventstest.CreateStream(tb, s.js, partitions)
	s.pool = s.database.Pool(tb)
	s.publisher = events.NewPublisher(s.js, "test")
	return s
}

// start runs a projector until the test ends or stop is called; stop returns once it has ended.
func (s *stage) start(change ...func(*projector.Config)) (stop func()) {
	s.tb.Helper()
	config, closing := config(s.tb, s.server.URL(), s.database.RoleURL("callboard_projector"))
	for _, apply := range change {
		apply(&config)
	}
	p, err := projector.New(config)
	if err != nil {
		s.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.Run(ctx); err != nil {
			s.tb.Errorf("run: %v", err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
		closing()
	})
	s.tb.Cleanup(stop)
	return stop
}

func config(tb testing.TB, natsURL, databaseURL string) (projector.Config, func()) {
	tb.Helper()
	c, closing, err := connect(natsURL, databaseURL)
	if err != nil {
		tb.Fatal(err)
	}
	if testing.Verbose() {
		c.Log = zerolog.New(zerolog.NewTestWriter(tb))
	}
	return c, closing
}

func connect(natsURL, databaseURL string) (projector.Config, func(), error) {
	pgx, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return projector.Config{}, nil, err
	}
	pgx.ConnConfig.RuntimeParams["search_path"] = "projection"
	pool, err := pgxpool.NewWithConfig(context.Background(), pgx)
	if err != nil {
		return projector.Config{}, nil, err
	}
	nc, err := nats.Connect(natsURL, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		pool.Close()
		return projector.Config{}, nil, err
	}
	js, err := jetstream.New(nc)
	closing := func() {
		closed := nc.StatusChanged(nats.CLOSED)
		nc.Close()
		<-closed
		pool.Close()
	}
	return projector.Config{
		JetStream: js, Stream: events.StreamName, Database: pool, Tick: 50 * time.Millisecond,
		Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	}, closing, err
}

func (s *stage) publish(states ...events.State) {
	s.tb.Helper()
	list := make([]events.Event, len(states))
	for i, state := range states {
		list[i] = events.Changed(state)
	}
	if err := s.publisher.Publish(s.tb.Context(), list...); err != nil {
		s.tb.Fatal(err)
	}
}

// raw publishes a message as it is.
func (s *stage) raw(subject string, header nats.Header, data string) uint64 {
	s.tb.Helper()
	ack, err := s.js.PublishMsg(s.tb.Context(), &nats.Msg{Subject: subject, Header: header, Data: []byte(data)})
	if err != nil {
		s.tb.Fatal(err)
	}
	return ack.Sequence
}

// await polls until the condition holds.
func await(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	deadline := time.Now().Add(60 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			tb.Fatalf("not within a minute: %s", what)
		}
		<-tick.C
	}
}

// caughtUp waits until every partition stands at the stream's end.
func (s *stage) caughtUp() {
	s.tb.Helper()
	info, err := s.stream.Info(s.tb.Context())
	if err != nil {
		s.tb.Fatal(err)
	}
	await(s.tb, "every partition at the stream's end", func() bool {
		return s.number("select count(*) from projection.position where sequence >= $1", int64(info.State.LastSeq)) == partitions
	})
}

// number is the first column of a query's one row.
func (s *stage) number(query string, parameters ...any) int64 {
	s.tb.Helper()
	var n int64
	if err := s.pool.QueryRow(s.tb.Context(), query, parameters...).Scan(&n); err != nil {
		s.tb.Fatal(err)
	}
	return n
}

// mustEqual holds the tables as they are now against others.
func (s *stage) mustEqual(what string, others schematest.Tables) {
	s.tb.Helper()
	if list := s.database.Projection(s.tb).Differences(others); len(list) > 0 {
		s.tb.Errorf("%s: now (here) and before (there) differ:\n%s", what, strings.Join(list, "\n"))
	}
}

func phoneSystem(id uuid.UUID) *events.PhoneSystem {
	return &events.PhoneSystem{ID: id, Version: 1, Name: "Harbour Dental"}
}

func call(system, id uuid.UUID) *events.Call {
	return &events.Call{
		ID: id, PhoneSystemID: system, Version: 1, CallSid: "CA" + strings.ReplaceAll(id.String(), "-", ""), Direction: "inbound",
		Status: "completed", From: "+14155550123", To: "+14155550100", CreatedAt: events.TimeOf(time.Now()),
	}
}
