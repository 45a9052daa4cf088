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

// The NATS server has a clock goroutine that ends only with its last store, and it does not close the store of a batch whose stream
// was deleted before the commit.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"))
}

// patience is how long a decision may take in tests that send more requests at once than NATS answers in 50 ms.
const patience = 30 * time.Second

const (
	listReports = "listCallLogReports"
	dimensions  = "getCallLogReportDimensions"
)

// testConfig has the budgets of production.
func testConfig(js jetstream.JetStream) Config {
	return Config{JetStream: js, Report: 120, Standard: 120, Premium: 600, Log: zerolog.Nop(), DecisionTimeout: patience}
}

func newLimiter(tb testing.TB, js jetstream.JetStream, change ...func(*Config)) *Limiter {
	tb.Helper()
	c := testConfig(js)
	for _, apply := range change {
		apply(&c)
	}
	l, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// startLimiter runs a limiter with a connection of its own until the test ends.
func startLimiter(tb testing.TB, url string, change ...func(*Config)) *Limiter {
	tb.Helper()
	l := newLimiter(tb, eventstest.JetStream(tb, url), change...)
	start(tb, l.Run)
	return l
}

func start(tb testing.TB, run func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("run: %v", err)
		}
	})
}

// startUnmaintained runs a limiter that sends permits to its standard stream and never looks the stream up.
func startUnmaintained(t *testing.T) *Limiter {
	t.Helper()
	l := newLimiter(t, eventstest.JetStream(t, eventstest.NewServer(t).URL()))
	if _, err := l.standard.js.CreateStream(t.Context(), l.standard.config); err != nil {
		t.Fatal(err)
	}
	start(t, l.client.run)
	return l
}

func productionTimeout(c *Config) { c.DecisionTimeout = 0 }

func withWindow(window time.Duration) func(*Config) {
	return func(c *Config) { c.window = window }
}

func logTo(log *eventstest.LogBuffer) func(*Config) {
	return func(c *Config) { c.Log = zerolog.New(log) }
}

// oneBatchInFlight limits a stream to one batch that is not committed.
func oneBatchInFlight(o *server.Options) { o.JetStreamLimits.MaxBatchInflightPerStream = 1 }

// countAllowed takes permits one after the other and returns how many requests were allowed.
func countAllowed(tb testing.TB, l *Limiter, r Request, requests int) int {
	tb.Helper()
	count := 0
	for range requests {
		if l.Take(tb.Context(), r).Allowed {
			count++
		}
	}
	return count
}

// storedMessages returns how many messages a bucket's subject holds.
func storedMessages(tb testing.TB, s *tierStream, lineage uuid.UUID, name string) int {
	tb.Helper()
	stream, err := s.js.Stream(tb.Context(), s.config.Name)
	if err != nil {
		tb.Fatal(err)
	}
	subject := s.subject(lineage.String(), name)
	info, err := stream.Info(tb.Context(), jetstream.WithSubjectFilter(subject))
	if err != nil {
		tb.Fatal(err)
	}
	return int(info.State.Subjects[subject])
}

// decisions returns how many decisions had an outcome.
func (l *Limiter) decisions(o outcome) int {
	return int(testutil.ToFloat64(l.metrics.decisions.WithLabelValues(string(o))))
}

// idle reports whether no bucket is blocked and no reply is pending.
func (l *Limiter) idle() bool {
	l.blocked.mu.Lock()
	defer l.blocked.mu.Unlock()
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	return len(l.blocked.until)+len(l.client.pending) == 0
}

// permitCounter counts the messages that are published on the limits' subjects.
type permitCounter struct {
	testing.TB
	conn         *nats.Conn
	subscription *nats.Subscription
}

func newPermitCounter(tb testing.TB, url string) *permitCounter {
	tb.Helper()
	p := &permitCounter{TB: tb, conn: eventstest.Connect(tb, url)}
	var err error
	if p.subscription, err = p.conn.SubscribeSync("callboard.limits.>"); err != nil {
		tb.Fatal(err)
	}
	p.count() // the flush makes sure that the server has the subscription
	return p
}

// count returns how many messages have arrived so far.
func (p *permitCounter) count() int {
	p.Helper()
	if err := p.conn.Flush(); err != nil {
		p.Fatal(err)
	}
	messages, _, err := p.subscription.Pending()
	if err != nil {
		p.Fatal(err)
	}
	return messages
}
