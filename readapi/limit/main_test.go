package limit

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"callboard/events/eventstest"
)

// The server under test has a clock that ends with its last store, and forgets the store of a batch whose stream is gone when it
// commits.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"))
}

// patience is how long a test waits for what must happen, on a machine busy with other tests.
const patience = 30 * time.Second

// config is that of production, but for the time that a decision may take, where a test asks more at once than NATS answers in it.
func config(js jetstream.JetStream) Config {
	return Config{JetStream: js, Report: 120, Standard: 120, Premium: 600, Log: zerolog.Nop(), DecisionTimeout: patience}
}

// run is a running limiter on a connection of its own; it is stopped when the test ends.
func run(tb testing.TB, url string, change ...func(*Config)) *Limiter {
	tb.Helper()
	c := config(eventstest.JetStream(tb, url))
	for _, change := range change {
		change(&c)
	}
	l, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("run: %v", err)
		}
	})
	return l
}

// hurried gives a decision the time that it has in production.
func hurried(c *Config) { c.DecisionTimeout = 0 }

func within(window time.Duration) func(*Config) {
	return func(c *Config) { c.window = window }
}

func logging(log zerolog.Logger) func(*Config) {
	return func(c *Config) { c.Log = log }
}

func inDomain(name string) eventstest.Option {
	return func(o *server.Options) { o.JetStreamDomain = name }
}

// oneBatch lets a stream have one unfinished batch.
func oneBatch(o *server.Options) { o.JetStreamLimits.MaxBatchInflightPerStream = 1 }

// eventually waits for a condition.
func eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for end := time.After(patience); !condition(); {
		select {
		case <-ticker.C:
		case <-end:
			tb.Fatalf("not %s after %s", what, patience)
		}
	}
}

// took is how many of so many permits were given, one after the other.
func took(tb testing.TB, l *Limiter, a Request, times int) int {
	tb.Helper()
	given := 0
	for range times {
		if l.Take(tb.Context(), a).Allowed {
			given++
		}
	}
	return given
}

// held is how many messages a bucket's subject holds.
func held(tb testing.TB, g *ledger, lineage uuid.UUID, name string) int {
	tb.Helper()
	stream, err := g.js.Stream(tb.Context(), g.stream.Name)
	if err != nil {
		tb.Fatal(err)
	}
	subject := g.subject(lineage.String(), name)
	info, err := stream.Info(tb.Context(), jetstream.WithSubjectFilter(subject))
	if err != nil {
		tb.Fatal(err)
	}
	return int(info.State.Subjects[subject])
}

// counted is how many decisions had an outcome.
func counted(l *Limiter, o outcome) int {
	return int(testutil.ToFloat64(l.metrics.decisions.WithLabelValues(string(o))))
}

// idle is whether nothing is remembered of any key or question.
func (l *Limiter) idle() bool {
	l.gates.mu.Lock()
	defer l.gates.mu.Unlock()
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	return len(l.gates.opens)+len(l.wire.waiting) == 0
}

// watcher sees what is published on the limits' subjects.
type watcher struct {
	testing.TB
	conn *nats.Conn
	seen *nats.Subscription
}

func watch(tb testing.TB, url string) *watcher {
	tb.Helper()
	w := &watcher{TB: tb, conn: eventstest.Connect(tb, url)}
	var err error
	if w.seen, err = w.conn.SubscribeSync("callboard.limits.>"); err != nil {
		tb.Fatal(err)
	}
	w.count()
	return w
}

// count is how many messages there were so far.
func (w *watcher) count() int {
	w.Helper()
	if err := w.conn.Flush(); err != nil {
		w.Fatal(err)
	}
	messages, _, err := w.seen.Pending()
	if err != nil {
		w.Fatal(err)
	}
	return messages
}
