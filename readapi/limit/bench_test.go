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

// endless gives the premium tier's weights to budgets that no benchmark spends.
func endless(c *Config) { c.Report, c.Standard, c.Premium = 120_000_000, 120_000_000, 600_000_000 }

// BenchmarkTake is decisions of one reader for 100 keys, beside a bare question and answer on the same connection.
func BenchmarkTake(b *testing.B) {
	l := run(b, eventstest.NewServer(b).URL(), endless)
	echo, err := l.wire.conn.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(nil) })
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = echo.Unsubscribe() }()
	keys := make([]uuid.UUID, 100)
	for i := range keys {
		keys[i] = uuid.New()
	}
	full := uuid.New()
	l.gates.close([]standing{{bucket: l.standard.buckets(Request{Lineage: full})[0], opens: time.Now().Add(time.Hour)}}, time.Now(), time.Hour)
	take := func(a Request) func(int) {
		return func(i int) {
			a := a
			if a.Lineage == uuid.Nil {
				a.Lineage = keys[i%len(keys)]
			}
			if d := l.Take(b.Context(), a); d.Allowed != (a.Lineage != full) {
				b.Error("decided otherwise")
			}
		}
	}
	for _, c := range []struct {
		name string
		once func(int)
	}{
		{"request", func(int) {
			if _, err := l.wire.conn.Request("echo", nil, patience); err != nil {
				b.Error(err)
			}
		}},
		{"tier", take(Request{})},
		{"report", take(Request{Premium: true, Report: listReports})},
		{"refused", take(Request{Lineage: full})},
	} {
		for _, askers := range []int{1, 64} {
			b.Run(c.name+"/askers="+strconv.Itoa(askers), func(b *testing.B) { measure(b, askers, c.once) })
		}
	}
}

// measure does something so many times at once, and reports how often a second and how long half and nearly all of them took.
func measure(b *testing.B, askers int, once func(int)) {
	b.Helper()
	took := make([]time.Duration, b.N)
	next := make(chan int, b.N)
	for i := range b.N {
		next <- i
	}
	close(next)
	b.ResetTimer()
	var all sync.WaitGroup
	for range askers {
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
