//go:build linux

package load_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"callboard/events"
	"callboard/events/sample"
)

// projectorRate is the name of the rate that companies are compared by.
const projectorRate = "events/s of the projector"

// growthOfStream is by how much a backlog grows between two measurements of the rate.
const growthOfStream = 4

// TestWrite measures how fast the projector works off a backlog, beside bare upserts of the same rows, how fast a
// rebuild reads the same stream, and how soon an event is visible. It prints medians and checks no figure.
func TestWrite(t *testing.T) {
	if !*writeFlag {
		t.Skip("run it with -write")
	}
	var many float64
	for _, backlog := range []struct {
		systems, calls int
		atLeast        float64 // of the first one's rate
	}{
		{*systemsFlag, *callsFlag, 1}, {4, *callsFlag, 0.9}, {1, *callsFlag, 0.9}, {*systemsFlag, growthOfStream * *callsFlag, 0.77},
	} {
		t.Run(fmt.Sprintf("%d phone systems, %d calls", backlog.systems, backlog.calls), func(t *testing.T) {
			rate := compareBacklog(t, backlog.systems, backlog.calls)
			if many == 0 {
				many = rate
			}
			t.Logf("%.2f of the first rate (at least %.2f)", rate/many, backlog.atLeast)
		})
	}
	t.Run("live", measureLive)
}

// measureLive prints medians of an installation with one phone system that has worked off its backlog.
func measureLive(t *testing.T) {
	i := newInstallation(t, sample.New(sample.Config{Seed: 1, Systems: 1, Calls: *callsFlag}), nil)
	var f figures
	for round := range *roundsFlag {
		transactions, requests := i.idle()
		f.add("transactions/s without events (at most 3)", transactions)
		f.add("JetStream requests/s without events (at most 8)", requests)
		latencies := i.publishToVisible(uint64(round) + 2)
		f.add("ms from publishing to visible, p50", percentile(latencies, 50).Seconds()*1000)
		f.add("ms from publishing to visible, p99 (at most 10)", percentile(latencies, 99).Seconds()*1000)
	}
	t.Logf("%d partitions; %d events/s of one phone system; medians of %d rounds of %s\n%s",
		events.DefaultPartitions, eventsPerSecond, *roundsFlag, *durationFlag, f.medians())
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

		i.startProjector()
		rebuilt := i.rebuild()
		f.add("of the projector's rate: a rebuild (at least 1)", float64(rebuilt.Messages)/rebuilt.elapsed.Seconds()/rate)
		f.add("s of processor time of a rebuild's command", rebuilt.rebuilder.Seconds())
		f.add("s of processor time of its servers", rebuilt.servers.Seconds())
		f.add("s of loading", rebuilt.LoadSeconds)
		f.add("s of indexing", rebuilt.IndexSeconds)
		f.add("s of comparing", rebuilt.CompareSeconds)
		f.add("of a rebuild's time: comparing (at most 0.15)", rebuilt.CompareSeconds/rebuilt.elapsed.Seconds())
		f.add("ms of write pause", 1000*max(rebuilt.SnapshotPauseSeconds, rebuilt.WritePauseSeconds))
		f.add("MiB of memory of a rebuild (at most 512)", float64(rebuilt.memory))
		i.projector.KillIfRunning()

		bare := float64(p.rows) / i.upsertBare().Seconds()
		if n := i.countRows(); n != p.rows {
			t.Errorf("rows of bare upserts = %d, want %d", n, p.rows)
		}
		f.add("rows/s of bare upserts", bare)
		f.add("of the bare upserts' rows/s (at least 0.62)", rowRate/bare)
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

// rebuilt is what a rebuild printed and took.
type rebuilt struct {
	Messages                                  int64
	LoadSeconds, IndexSeconds, CompareSeconds float64
	SnapshotPauseSeconds, WritePauseSeconds   float64

	elapsed            time.Duration
	rebuilder, servers time.Duration // of processors: of the command, and of PostgreSQL and NATS
	memory             int64         // the highest resident memory, in MiB
}

// rebuild runs 'callboard rebuild' beside the projector.
func (i *installation) rebuild() (r rebuilt) {
	i.Helper()
	command := exec.CommandContext(i.Context(), programs.Path(i, "callboard"), "rebuild", "--json")
	command.Env = append(command.Environ(), "CALLBOARD_NATS_URL="+i.natsURL, "CALLBOARD_POSTGRES_URL="+i.postgres.URL(i.database))
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	r.servers = -cpuTime(i, i.nats.PID()) - cpuTime(i, i.postmaster)
	began := time.Now()
	err := command.Start()
	if err == nil {
		endWatch := watchMemory(command.Process.Pid)
		err = command.Wait()
		r.memory = endWatch()
	}
	r.elapsed = time.Since(began)
	r.servers += cpuTime(i, i.nats.PID()) + cpuTime(i, i.postmaster)
	if err == nil {
		r.rebuilder = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
		err = json.Unmarshal(out.Bytes(), &r)
	}
	if err != nil {
		i.Fatalf("callboard rebuild: %v\n%s", err, errs.Bytes())
	}
	return r
}
