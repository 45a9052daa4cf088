package deadletter_test

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/deadletter"
	"callboard/projector/status"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	schematest.Run(m, func() error { return goleak.Find(eventstest.IgnoreObjectStoreWatcher()) })
}

const (
	partitions = 2
	patience   = time.Minute
	tick       = 20 * time.Millisecond
)

// stage is a stream, a projection and an operator.
type stage struct {
	*testing.T
	js       jetstream.JetStream
	stream   jetstream.Stream
	database *schematest.Database
	admin    *pgxpool.Pool
	operator *pgxpool.Pool
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, database: schematest.New(t), js: eventstest.JetStream(t, eventstest.NewServer(t).URL())}
	s.stream = eventstest.CreateStream(t, s.js, partitions)
	s.admin = s.database.Pool(t)
	s.operator = s.pool("callboard_operator", nil)
	return s
}

func (s *stage) pool(role string, parameters map[string]string) *pgxpool.Pool {
	s.Helper()
	config, err := pgxpool.ParseConfig(s.database.RoleURL(role))
	if err != nil {
		s.Fatal(err)
	}
	for name, value := range parameters {
		config.ConnConfig.RuntimeParams[name] = value
	}
	pool, err := pgxpool.NewWithConfig(s.Context(), config)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(pool.Close)
	return pool
}

// start runs a projector until the test ends or stop is called; stop returns once it has ended.
func (s *stage) start() (stop func()) {
	s.Helper()
	p, err := projector.New(projector.Config{
		JetStream: s.js, Stream: events.StreamName, Database: s.pool("callboard_projector", map[string]string{"search_path": "projection"}),
		Tick: tick, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() {
		if err := p.Run(ctx); err != nil {
			s.Errorf("run: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		run.Wait()
	})
	s.Cleanup(stop)
	return stop
}

func (s *stage) publish(states ...events.State) {
	s.Helper()
	for _, state := range states {
		if err := events.NewPublisher(s.js, "test").Publish(s.Context(), events.Changed(state)); err != nil {
			s.Fatal(err)
		}
	}
}

// bad publishes a call that is none.
func (s *stage) bad(system uuid.UUID) {
	s.Helper()
	if _, err := s.js.Publish(s.Context(), events.Subject(system, events.EntityCall), []byte("{}")); err != nil {
		s.Fatal(err)
	}
}

// caughtUp waits until every partition stands at the stream's end.
func (s *stage) caughtUp() {
	s.Helper()
	info, err := s.stream.Info(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	s.await("every partition stands at the stream's end", func() bool {
		return s.number("select count(*) from projection.position where sequence >= $1", int64(info.State.LastSeq)) == partitions
	})
}

// await polls until the condition holds.
func (s *stage) await(what string, condition func() bool) {
	s.Helper()
	deadline := time.After(patience)
	poll := time.NewTicker(tick)
	defer poll.Stop()
	for !condition() {
		select {
		case <-deadline:
			s.Fatalf("not within %s: %s", patience, what)
		case <-poll.C:
		}
	}
}

// number is the first column of a query's one row.
func (s *stage) number(query string, parameters ...any) (n int64) {
	s.Helper()
	if err := s.admin.QueryRow(s.Context(), query, parameters...).Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *stage) exec(query string, parameters ...any) {
	s.Helper()
	if _, err := s.admin.Exec(s.Context(), query, parameters...); err != nil {
		s.Fatal(err)
	}
}

// insert is a letter of a stream's that nobody wrote, and its id.
func (s *stage) insert(stream, reason string) int64 {
	s.Helper()
	return s.number(`
		insert into control.dead_letter (stream, stream_created, sequence, partition, subject, header, data, reason, stored_at)
		select $1, $2, coalesce(max(sequence), 0) + 1, 0, 'a.subject', '', '{}', $3, now() from control.dead_letter
		returning id`, stream, s.created(), reason)
}

func (s *stage) created() time.Time { return s.stream.CachedInfo().Created.Truncate(time.Microsecond) }

func (s *stage) list(q deadletter.Query) deadletter.Page {
	s.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	page, err := deadletter.List(s.Context(), s.operator, q)
	if err != nil {
		s.Fatal(err)
	}
	return page
}

func (s *stage) find(id int64) deadletter.Content {
	s.Helper()
	content, err := deadletter.Find(s.Context(), s.operator, id)
	if err != nil {
		s.Fatal(err)
	}
	return content
}

// retry is what becomes of letters, by id.
func (s *stage) retry(c deadletter.Choice) map[int64]deadletter.Result {
	s.Helper()
	request, err := deadletter.Retry(s.Context(), s.operator, c)
	if err != nil {
		s.Fatal(err)
	}
	results, err := deadletter.Await(s.Context(), s.operator, request.Asked, s.waiting(patience))
	if err != nil {
		s.Fatal(err)
	}
	found := make(map[int64]deadletter.Result)
	for _, r := range append(results, request.Settled...) {
		found[r.ID] = r
	}
	return found
}

// waiting is a patience that asks the stream about faults.
func (s *stage) waiting(limit time.Duration) deadletter.Patience {
	source := status.Source{JetStream: s.js, Stream: events.StreamName, Pool: s.operator}
	return deadletter.Patience{Limit: limit, Faults: source.StopReasons, Heard: func(int) {}}
}

// claimed is a transcript whose text is in the object store, or will be.
func claimed(system, call uuid.UUID, version int64, body string) *events.Transcript {
	hash := sha256.New()
	hash.Write([]byte(body))
	return &events.Transcript{
		PhoneSystemID: system, CallID: events.Some(call), Version: version, Status: events.TranscriptCompleted,
		Object: &events.Object{
			Bucket: events.TranscriptBucket, Name: "of " + call.String(), Bytes: int64(len(body)), Digest: jetstream.GetObjectDigestValue(hash),
		},
	}
}

// put stores the text of a transcript.
func (s *stage) put(t *events.Transcript, body string) {
	s.Helper()
	bucket, err := s.js.ObjectStore(s.Context(), events.TranscriptBucket)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := bucket.PutString(s.Context(), t.Object.Name, body); err != nil {
		s.Fatal(err)
	}
}

func call(system, id uuid.UUID) *events.Call {
	return &events.Call{
		ID: id, PhoneSystemID: system, Version: 1, CallSid: "CA" + strings.ReplaceAll(id.String(), "-", ""), Direction: "inbound",
		Status: "completed", From: "+14155550123", To: "+14155550100", CreatedAt: events.TimeOf(time.Now()),
	}
}
