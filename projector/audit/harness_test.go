package audit_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"callboard/events/audit"
	"callboard/events/eventstest"
	filer "callboard/projector/audit"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childNATS) != "" {
		os.Exit(runChild())
	}
	schematest.Run(m, func() error { return goleak.Find() })
}

// stage is a stream, its consumer and a database for one test.
type stage struct {
	testing.TB
	server   *eventstest.Server
	js       jetstream.JetStream
	stream   jetstream.Stream
	database *schematest.Database
	pool     *pgxpool.Pool // as the superuser
	noon     time.Time     // yesterday's
	log      lines
}

func newStage(tb testing.TB) *stage {
	tb.Helper()
	s := &stage{TB: tb, server: eventstest.NewServer(tb), database: schematest.New(tb), noon: midnight().Add(-12 * time.Hour)}
	s.js = eventstest.JetStream(tb, s.server.URL())
	s.pool = s.database.Pool(tb)
	s.createStream()
	return s
}

func (s *stage) createStream() {
	s.Helper()
	var err error
	if s.stream, err = s.js.CreateStream(s.Context(), audit.StreamConfig(1)); err != nil {
		s.Fatal(err)
	}
}

// impatient makes the consumer with a short wait for acknowledgements, so that what a killed filer had in hand comes back soon,
// and holds up no other until then.
func (s *stage) impatient() {
	s.Helper()
	config := audit.ConsumerConfig()
	config.AckWait, config.MaxAckPending = time.Second, 10_000
	if _, err := s.stream.CreateConsumer(s.Context(), config); err != nil {
		s.Fatal(err)
	}
}

// start runs a filer until the test ends or stop is called; stop returns once it has ended.
func (s *stage) start(change ...func(*filer.Config)) (stop func()) {
	s.Helper()
	config, closing, err := connect(s.server.URL(), s.database.RoleURL("callboard_projector"))
	if err != nil {
		s.Fatal(err)
	}
	config.Log = zerolog.New(&s.log)
	for _, apply := range change {
		apply(&config)
	}
	f, err := filer.New(config)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.Errorf("run: %v", err)
		}
		closing()
	})
	s.Cleanup(stop)
	return stop
}

func connect(natsURL, databaseURL string) (filer.Config, func(), error) {
	pool, err := pgxpool.New(context.Background(), databaseURL)
	if err != nil {
		return filer.Config{}, nil, err
	}
	nc, err := nats.Connect(natsURL, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		pool.Close()
		return filer.Config{}, nil, err
	}
	js, err := jetstream.New(nc)
	closing := func() {
		closed := nc.StatusChanged(nats.CLOSED)
		nc.Close()
		<-closed
		pool.Close()
	}
	return filer.Config{JetStream: js, Database: pool, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry()}, closing, err
}

// publish puts entries on the stream as one message.
func (s *stage) publish(entries ...audit.Entry) {
	s.Helper()
	message, err := audit.Encode(entries)
	if err != nil {
		s.Fatal(err)
	}
	s.raw(string(message))
}

// raw puts a message on the stream as it is.
func (s *stage) raw(data string) uint64 {
	s.Helper()
	ack, err := s.js.Publish(s.Context(), audit.Subject, []byte(data))
	if err != nil {
		s.Fatal(err)
	}
	return ack.Sequence
}

// drained waits until the stream is empty: all that was published is acknowledged.
func (s *stage) drained() {
	s.Helper()
	s.await("an empty stream", s.empty)
}

func (s *stage) empty() bool {
	info, err := s.stream.Info(s.Context())
	return err == nil && info.State.Msgs == 0
}

func (s *stage) await(what string, condition func() bool) {
	s.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			s.Fatalf("not within a minute: %s\n%s", what, s.log.all())
		}
		<-tick.C
	}
}

func (s *stage) exec(statement string) {
	s.Helper()
	if _, err := s.pool.Exec(s.Context(), statement); err != nil {
		s.Fatal(err)
	}
}

// ids are those of the filed entries, in the order of their time.
func (s *stage) ids() []uuid.UUID {
	s.Helper()
	return query[uuid.UUID](s, "select id from access.audit order by at, id")
}

// filed is how many entries are filed.
func (s *stage) filed() int {
	s.Helper()
	return query[int](s, "select count(*) from access.audit")[0]
}

func (s *stage) deadLetters() int {
	s.Helper()
	return query[int](s, "select count(*) from control.dead_letter")[0]
}

// days are the names of the audit's partitions.
func (s *stage) days() []string {
	s.Helper()
	return query[string](s, "select inhrelid::regclass::text from pg_inherits where inhparent = 'access.audit'::regclass order by 1")
}

// openDay makes a day's partition.
func (s *stage) openDay(day time.Time) {
	s.Helper()
	if opened := query[bool](s, "select access.open_audit_day($1)", day); !opened[0] {
		s.Fatalf("%s can't be opened", day)
	}
}

// query is the one column of a query's rows.
func query[T any](s *stage, statement string, parameters ...any) []T {
	s.Helper()
	rows, err := s.pool.Query(s.Context(), statement, parameters...)
	if err != nil {
		s.Fatal(err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		s.Fatal(err)
	}
	return values
}

func entry(key uuid.UUID, at time.Time) audit.Entry {
	return audit.Entry{
		ID: uuid.New(), At: at.UTC().Truncate(time.Microsecond), KeyID: key, Operation: "listCallLogs", Status: 200, RequestID: "r",
	}
}

// midnight is the one that today began with.
func midnight() time.Time { return time.Now().UTC().Truncate(24 * time.Hour) }

// partition is the name of a day's table.
func partition(day time.Time) string { return "access.audit_" + day.Format("20060102") }

// lines keeps what a filer logs.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer].
func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) count(text string) int { return strings.Count(l.all(), text) }
