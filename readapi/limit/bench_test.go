package limit

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"callboard/events/eventstest"
)

// BenchmarkTake measures decisions of one reader beside a plain request and reply on the same connection.
func BenchmarkTake(b *testing.B) {
	const unlimited = MaxPerMinute // a budget that no benchmark exhausts
	l := startLimiter(b, eventstest.NewServer(b).URL(), func(c *Config) {
		c.Report, c.Standard, c.Premium = unlimited, unlimited, unlimited
	})
	echo, err := l.store.conn.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(nil) })
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = echo.Unsubscribe() }()
	keys := make([]uuid.UUID, 1000)
	for i := range keys {
		keys[i] = uuid.New()
	}
	take := func(r Request, keys ...uuid.UUID) func(int) {
		return func(i int) {
			r := r
			r.Lineage = keys[i%len(keys)]
			if d := l.Take(b.Context(), r); !d.Allowed {
				b.Error("allowed = false")
			}
		}
	}
	for _, c := range []struct {
		name string
		once func(int)
	}{
		{"request", func(int) {
			if _, err := l.store.conn.Request("echo", nil, timeout); err != nil {
				b.Error(err)
			}
		}},
		{"tier", take(Request{}, keys...)},
		{"report", take(Request{Premium: true, Report: listReports}, keys...)},
		{"one key", take(Request{}, uuid.New())},
		{"one key, report", take(Request{Premium: true, Report: listReports}, uuid.New())},
	} {
		for _, clients := range []int{1, 64} {
			b.Run(c.name+"/clients="+strconv.Itoa(clients), func(b *testing.B) {
				before := l.writesTried()
				measure(b, clients, c.once)
				b.ReportMetric((l.writesTried()-before)/float64(b.N), "writes/decision")
			})
		}
	}
}

// writesTried returns how many writes the limiter has sent.
func (l *Limiter) writesTried() (n float64) {
	for _, result := range []string{writeStored, writeConflict, writeFailed} {
		n += testutil.ToFloat64(l.metrics.writes.WithLabelValues(result))
	}
	return n
}

// BenchmarkTake_Refused measures refusals from memory.
func BenchmarkTake_Refused(b *testing.B) {
	l := startLimiter(b, eventstest.NewServer(b).URL())
	r := Request{Lineage: uuid.New()}
	countAllowed(b, l, r, 120)
	measure(b, 1, func(int) {
		if l.Take(b.Context(), r).Allowed {
			b.Error("allowed = true")
		}
	})
}

// measure calls once b.N times from concurrent clients and reports the rate and the percentiles of the duration.
func measure(b *testing.B, clients int, once func(int)) {
	b.Helper()
	took := make([]time.Duration, b.N)
	next := make(chan int, b.N)
	for i := range b.N {
		next <- i
	}
	close(next)
	b.ResetTimer()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := range next {
				began := time.Now()
				once(i)
				took[i] = time.Since(began)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1000, "p99-µs")
}
