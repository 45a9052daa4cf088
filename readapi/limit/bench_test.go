package limit

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events/eventstest"
)

// unlimitedBudgets has the premium tier's weights and budgets that no benchmark uses up.
func unlimitedBudgets(c *Config) {
	c.Report, c.Standard, c.Premium = 120_000_000, 120_000_000, 600_000_000
}

// BenchmarkTake measures decisions of one reader for 100 keys, beside a plain request and reply on the same connection.
func BenchmarkTake(b *testing.B) {
	l := startLimiter(b, eventstest.NewServer(b).URL(), unlimitedBudgets)
	echo, err := l.client.conn.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(nil) })
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = echo.Unsubscribe() }()
	keys := make([]uuid.UUID, 100)
	for i := range keys {
		keys[i] = uuid.New()
	}
	full := uuid.New()
	l.blocked.add([]quota{{bucket: l.standard.buckets(Request{Lineage: full})[0], next: time.Now().Add(time.Hour)}}, time.Now(), time.Hour)
	take := func(r Request) func(int) {
		return func(i int) {
			r := r
			if r.Lineage == uuid.Nil {
				r.Lineage = keys[i%len(keys)]
			}
			if d := l.Take(b.Context(), r); d.Allowed != (r.Lineage != full) {
				b.Errorf("allowed = %t, want %t", d.Allowed, !d.Allowed)
			}
		}
	}
	for _, c := range []struct {
		name string
		once func(int)
	}{
		{"request", func(int) {
			if _, err := l.client.conn.Request("echo", nil, patience); err != nil {
				b.Error(err)
			}
		}},
		{"tier", take(Request{})},
		{"report", take(Request{Premium: true, Report: listReports})},
		{"refused", take(Request{Lineage: full})},
	} {
		for _, clients := range []int{1, 64} {
			b.Run(c.name+"/clients="+strconv.Itoa(clients), func(b *testing.B) { measure(b, clients, c.once) })
		}
	}
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
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
