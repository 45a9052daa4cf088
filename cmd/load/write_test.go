//go:build linux

package load_test

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"callboard/events"
	"callboard/events/sample"
)

// projectorRate is the name of the rate that companies are compared by.
const projectorRate = "events/s of the projector"

// growthOfStream is by how much a backlog grows between two measurements of the rate.
const growthOfStream = 4

// TestWrite measures how fast the projector works off a backlog, beside bare upserts of the same rows and plain consumers, and how soon an
// event is visible. It prints medians and checks no figure.
func TestWrite(t *testing.T) {
	if !*writeFlag {
		t.Skip("run it with -write")
	}
	var many float64
	t.Run(fmt.Sprintf("%d phone systems", *systemsFlag), func(t *testing.T) { many = compareBacklog(t, *systemsFlag, *callsFlag) })
	for _, systems := range []int{4, 1} {
		t.Run(fmt.Sprintf("%d phone systems", systems), func(t *testing.T) {
			t.Logf("%.2f of the rate of %d phone systems (at least 0.9)", compareBacklog(t, systems, *callsFlag)/many, *systemsFlag)
		})
	}
	t.Run(fmt.Sprintf("%d times the calls", growthOfStream), func(t *testing.T) {
		rate := compareBacklog(t, *systemsFlag, growthOfStream**callsFlag)
		if many > 0 { // the first one ran, too
			t.Logf("%.2f of the rate of %d calls (at least 0.77)", rate/many, *callsFlag)
		}
	})
	t.Run("live", measureLive)
}

// measureLive prints medians of an installation with one phone system that has worked off its backlog.
func measureLive(t *testing.T) {
	i := newInstallation(t, sample.New(sample.Config{Seed: 1, Systems: 1, Calls: *callsFlag}), nil)
	var f figures
	for range *roundsFlag {
		transactions, requests := i.idle()
		f.add("transactions/s without events (at most 3)", transactions)
		f.add("JetStream requests/s without events (at most 8)", requests)
	}
	for round := range *roundsFlag {
		latencies := i.publishToVisible(uint64(round) + 2)
		f.add("ms from publishing to visible, p50", percentile(latencies, 50).Seconds()*1000)
		f.add("ms from publishing to visible, p99 (at most 10)", percentile(latencies, 99).Seconds()*1000)
	}
	t.Logf("%d partitions; %d events/s of one phone system; medians of %d rounds of %s\n%s",
		events.DefaultPartitions, eventsPerSecond, *roundsFlag, *durationFlag, f.medians())
}

// figures are measurements by name, a value per round, in the order in which names were added.
type figures struct {
	names  []string
	values map[string][]float64
}

func (f *figures) add(name string, value float64) {
	if f.values == nil {
		f.values = make(map[string][]float64)
	}
	if f.values[name] == nil {
		f.names = append(f.names, name)
	}
	f.values[name] = append(f.values[name], value)
}

// medians returns a line per name.
func (f *figures) medians() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, name := range f.names {
		fmt.Fprintf(w, "%.2f\t  %s\n", median(f.values[name]), name)
	}
	_ = w.Flush() // to memory
	return b.String()
}

// compareBacklog prints the medians of a company's backlog, and returns the projector's rate in events per second.
func compareBacklog(t *testing.T, systems, calls int) float64 {
	t.Helper()
	company := sample.New(sample.Config{Seed: 1, Systems: systems, Calls: calls})
	i := replayed().start(t, company, nil)
	published, err := sample.Publish(t.Context(), i.publisher, company, 0, func(sample.Counts) {})
	if err != nil {
		t.Fatal(err)
	}
	var f figures
	var rows int64
	for round := range *roundsFlag {
		i.newDatabase(fmt.Sprintf("round_%d", round))
		p := i.workOff(published.Events)
		rows = p.rows
		rate, rowRate := float64(published.Events)/p.elapsed.Seconds(), float64(p.rows)/p.elapsed.Seconds()
		f.add(projectorRate, rate)
		f.add("rows/s of the projector", rowRate)
		f.add("s of processor time of the projector", p.projector.Seconds())
		f.add("s of processor time of NATS", p.nats.Seconds())
		f.add("s of processor time of PostgreSQL", p.postgres.Seconds())
		bare := float64(p.rows) / i.upsertBare().Seconds()
		if n := i.countRows(); n != p.rows {
			t.Errorf("rows of bare upserts = %d, want %d", n, p.rows)
		}
		f.add("rows/s of bare upserts", bare)
		f.add("of the bare upserts' rows/s (at least 0.62)", rowRate/bare)
		plain := i.consumePlainly(max(1, published.Events/10))
		f.add(fmt.Sprintf("events/s of %d plain workers, of a tenth of the stream", plainWorkers), plain)
		f.add("times the plain workers' events/s (at least 4)", rate/plain)
		i.dropDatabase()
	}
	t.Logf("%d calls in %d phone systems, %d events, %d rows, medians of %d rounds\n%s",
		published.Calls, systems, published.Events, rows, *roundsFlag, f.medians())
	return median(f.values[projectorRate])
}

// worked is what working off a backlog took.
type worked struct {
	elapsed                   time.Duration // from the projector's start on
	rows                      int64         // in the tables of calls
	projector, nats, postgres time.Duration // of processors
}

// workOff starts a projector on an empty projection, waits until it has applied all events, and kills it.
func (i *installation) workOff(total int) worked {
	i.Helper()
	w := worked{nats: -cpuTime(i, i.nats.PID()), postgres: -cpuTime(i, i.postmaster)}
	began := time.Now()
	i.startProjector()
	i.awaitApplied(int64(total))
	w.elapsed = time.Since(began)
	w.projector = cpuTime(i, i.projector.PID())
	w.nats += cpuTime(i, i.nats.PID())
	w.postgres += cpuTime(i, i.postmaster)
	i.projector.KillIfRunning()
	w.rows = i.countRows()
	return w
}

// countRows returns the number of rows in the tables of calls.
func (i *installation) countRows() (rows int64) {
	i.Helper()
	for _, table := range tablesOfCalls() {
		rows += query[int64](i, "select count(*) from projection."+table)
	}
	return rows
}
