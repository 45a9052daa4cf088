package limit

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"callboard/events/eventstest"
)

// The NATS server has a clock goroutine that ends only with its last store.
func TestMain(m *testing.M) {
	eventstest.RunAtOnce(8)
	clock := goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1")
	eventstest.RunAndFindLeaks(m, clock, eventstest.IgnoreSourceRemoval())
}

// timeout is how long a decision may take in tests that are not about an outage.
const timeout = 30 * time.Second

// testConfig has the budgets of production.
func testConfig(js jetstream.JetStream) Config {
	return Config{JetStream: js, Report: 120, Standard: 120, Premium: 600, Log: zerolog.Nop(), Timeout: timeout}
}

// connect connects as a reader does: nothing is buffered while the connection is lost.
func connect(tb testing.TB, url string) jetstream.JetStream {
	tb.Helper()
	js, err := jetstream.New(eventstest.Connect(tb, url, nats.ReconnectBufSize(-1)), jetstream.WithDefaultTimeout(timeout))
	if err != nil {
		tb.Fatal(err)
	}
	return js
}

func newLimiter(tb testing.TB, url string, change ...func(*Limiter)) *Limiter {
	tb.Helper()
	c := testConfig(connect(tb, url))
	c.Log = zerolog.New(zerolog.NewTestWriter(tb))
	l, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	for _, apply := range change {
		apply(l)
	}
	return l
}

// startLimiter runs a limiter with a connection of its own until the test ends.
func startLimiter(tb testing.TB, url string, change ...func(*Limiter)) *Limiter {
	tb.Helper()
	l := newLimiter(tb, url, change...)
	eventstest.Run(tb, l.Run)
	return l
}

func withTimeout(d time.Duration) func(*Limiter) {
	return func(l *Limiter) { l.config.Timeout, l.store.timeout = d, d }
}

// withinAnHour makes a minute of the counters take an hour, so that no permit returns while a test runs.
func withinAnHour(l *Limiter) { l.clock.tick = 60 * time.Millisecond }

// withClock gives a reader a local clock that is wrong.
func withClock(offset time.Duration) func(*Limiter) {
	return func(l *Limiter) { l.clock.local = func() time.Time { return time.Now().Add(offset) } }
}

func logTo(log *eventstest.LogBuffer) func(*Limiter) {
	return func(l *Limiter) { l.config.Log = zerolog.New(log) }
}

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

// takeAtOnce sends requests at once, spread over limiters, and returns how many of each were allowed.
func takeAtOnce(tb testing.TB, requests []Request, limiters ...*Limiter) map[Request]int {
	tb.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	counts := map[Request]int{}
	for i, r := range requests {
		all.Go(func() {
			if limiters[i%len(limiters)].Take(tb.Context(), r).Allowed {
				mu.Lock()
				counts[r]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return counts
}

// storedVersion returns a lineage's counters as the server has them.
func storedVersion(tb testing.TB, l *Limiter, lineage uuid.UUID) version {
	tb.Helper()
	stored, err := l.store.load(tb.Context(), lineage)
	if err != nil {
		tb.Fatal(err)
	}
	return stored
}

// storedPermits returns how many permits of a budget the server has.
func storedPermits(tb testing.TB, l *Limiter, lineage uuid.UUID, budget Report) (n int) {
	tb.Helper()
	for _, c := range storedVersion(tb, l, lineage).List {
		n += int(c.Taken[budget])
	}
	return n
}

// decisions returns how many decisions had an outcome.
func (l *Limiter) decisions(o outcome) int {
	return int(testutil.ToFloat64(l.metrics.decisions.WithLabelValues(string(o))))
}

// withoutNATS returns how many decisions were made without NATS.
func (l *Limiter) withoutNATS() int {
	return l.decisions(allowedWithoutNATS) + l.decisions(refusedWithoutNATS)
}

// available reports whether NATS decides.
func (l *Limiter) available() bool { return l.outage() == nil }

// awaitNATS waits until NATS has decided about a request of a limiter.
func awaitNATS(tb testing.TB, l *Limiter) {
	tb.Helper()
	eventstest.Eventually(tb, "a report allowed by NATS", func() bool {
		return l.Take(tb.Context(), Request{Lineage: uuid.New(), Report: CallLogReports}).Allowed
	})
}
