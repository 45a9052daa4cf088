package rebuild_test

import (
	"bytes"
	"context"
	"os"
	"slices"
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
	"callboard/events/sample"
	"callboard/projector"
	"callboard/projector/rebuild"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childNATS) != "" {
		os.Exit(runChild())
	}
	schematest.Run(m, func() error { return goleak.Find(eventstest.StoredObject()) })
}

const partitions = 4

// stage is a stream, a database and a publisher for one test.
type stage struct {
	tb        testing.TB
	server    *eventstest.Server
	js        jetstream.JetStream
	stream    jetstream.Stream
	database  *schematest.Database
	pool      *pgxpool.Pool // as the schema's owner
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
	config, err := pgxpool.ParseConfig(s.database.RoleURL("callboard_projector"))
	if err != nil {
		s.tb.Fatal(err)
	}
	config.ConnConfig.RuntimeParams["search_path"] = "projection"
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		s.tb.Fatal(err)
	}
	nc, err := nats.Connect(s.server.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		s.tb.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		s.tb.Fatal(err)
	}
	log := zerolog.Nop()
	if testing.Verbose() {
		log = zerolog.New(zerolog.NewTestWriter(s.tb))
	}
	settings := projector.Config{
		JetStream: js, Stream: events.StreamName, Database: pool, Tick: 50 * time.Millisecond, Log: log, Metrics: prometheus.NewRegistry(),
	}
	for _, apply := range change {
		apply(&settings)
	}
	p, err := projector.New(settings)
	if err != nil {
		s.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			s.tb.Errorf("run: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		closed := nc.StatusChanged(nats.CLOSED)
		nc.Close()
		<-closed
		pool.Close()
	})
	s.tb.Cleanup(stop)
	return stop
}

func (s *stage) config() rebuild.Config {
	return rebuild.Config{JetStream: s.js, Stream: events.StreamName, Database: s.pool}
}

// company is a history in which everything happens.
func company(seed uint64, calls int) []events.Event {
	c := sample.New(sample.Config{Seed: seed, Systems: 6, Calls: calls, Days: 20, Until: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})
	return slices.AppendSeq(slices.Collect(c.Directory()), c.History())
}

func (s *stage) publish(list ...events.Event) {
	s.tb.Helper()
	if err := s.publisher.Publish(s.tb.Context(), list...); err != nil {
		s.tb.Fatal(err)
	}
}

// poison publishes what nobody can read.
func (s *stage) poison() {
	s.tb.Helper()
	if _, err := s.js.Publish(s.tb.Context(), "phones.7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10.call", []byte("{")); err != nil {
		s.tb.Fatal(err)
	}
	if _, err := s.js.Publish(s.tb.Context(), "phones.nobody.fax", nil); err != nil {
		s.tb.Fatal(err)
	}
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

func (s *stage) exec(query string) {
	s.tb.Helper()
	if _, err := s.pool.Exec(s.tb.Context(), query); err != nil {
		s.tb.Fatal(err)
	}
}

// mustEqual holds the tables as they are now against others.
func (s *stage) mustEqual(what string, others schematest.Tables) {
	s.tb.Helper()
	if list := s.database.Projection(s.tb).Differences(others); len(list) > 0 {
		s.tb.Errorf("%s: now (here) and before (there) differ:\n%s", what, strings.Join(list, "\n"))
	}
}

// replayed empties the tables and lets a projector of its own fill them from the first event.
func (s *stage) replayed() schematest.Tables {
	s.tb.Helper()
	s.database.Forget(s.tb)
	stop := s.start()
	s.caughtUp()
	stop()
	return s.database.Projection(s.tb)
}

// verify holds the live projection against the stream.
func (s *stage) verify(systems ...uuid.UUID) rebuild.Comparison {
	s.tb.Helper()
	result, err := rebuild.Verify(s.tb.Context(), s.config(), systems...)
	if err != nil {
		s.tb.Fatal(err)
	}
	return result
}

// mustVerify fails where verification finds anything.
func (s *stage) mustVerify(what string) {
	s.tb.Helper()
	if result := s.verify(); result.Differs() {
		s.tb.Errorf("%s: %+v", what, result)
	}
}

// states publishes what entities have become.
func (s *stage) states(list ...events.State) {
	s.tb.Helper()
	changes := make([]events.Event, len(list))
	for i, state := range list {
		changes[i] = events.Changed(state)
	}
	s.publish(changes...)
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

// journal keeps a log for tests that look into it.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// count is how often the log holds a word.
func (j *journal) count(word string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), word)
}

// instead makes a projector log here.
func (j *journal) instead(c *projector.Config) { c.Log = zerolog.New(j) }
