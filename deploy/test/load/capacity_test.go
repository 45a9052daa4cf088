//go:build linux

package load_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"callboard/events/eventstest"
	"callboard/events/sample"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

// topologies are what TestCapacity compares.
func topologies() []topology {
	list := []topology{{name: "one server of each", nats: 1}, {name: "three NATS servers", nats: 3}}
	if schematest.OnNodes() {
		list = append(list, usual())
	}
	return list
}

// TestCapacity measures what a sizing needs, and how servers of a cluster change it. It prints medians and checks
// no figure.
func TestCapacity(t *testing.T) {
	if !*capacityFlag {
		t.Skip("run it with -capacity")
	}
	needWrk(t)
	measured := make(map[string]*figures)
	for round := range *roundsFlag {
		for _, servers := range topologies() {
			if measured[servers.name] == nil {
				measured[servers.name] = new(figures)
			}
			t.Run(fmt.Sprintf("round %d, %s", round+1, servers.name), func(t *testing.T) { measureCapacity(t, servers, measured[servers.name]) })
		}
	}
	printCapacity(t, measured)
}

func printCapacity(t *testing.T, measured map[string]*figures) {
	t.Helper()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, servers := range topologies() {
		fmt.Fprintf(w, "%s\t", servers.name)
	}
	fmt.Fprintln(w)
	for _, name := range namesOf(measured) {
		for _, servers := range topologies() {
			if values := measured[servers.name].values[name]; len(values) > 0 {
				fmt.Fprintf(w, "%.2f", median(values))
			}
			fmt.Fprint(w, "\t")
		}
		fmt.Fprintf(w, "  %s\n", name)
	}
	_ = w.Flush() // to memory
	t.Logf("%d calls in %d phone systems, medians of %d rounds\n%s", *callsFlag, *systemsFlag, *roundsFlag, &b)
}

// namesOf returns the names of all figures: first those of the first topology, then what only others have.
func namesOf(measured map[string]*figures) (names []string) {
	for _, servers := range topologies() {
		for _, name := range measured[servers.name].names {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// measureCapacity adds the figures of an installation: from a backlog, while events arrive, and while pages are read.
func measureCapacity(t *testing.T, servers topology, f *figures) {
	t.Helper()
	company := sample.New(sample.Config{Seed: 1, Systems: *systemsFlag, Calls: *callsFlag, Days: 7})
	i := servers.start(t, company, nil)
	began := time.Now()
	published, err := sample.Publish(t.Context(), i.publisher, company, 0, func(sample.Counts) {})
	if err != nil {
		t.Fatal(err)
	}
	f.add("events/s published", float64(published.Events)/time.Since(began).Seconds())
	i.newDatabase("callboard")
	nodes := i.nodeTimes()
	p := i.workOff(published.Events)
	thousands := float64(published.Events) / 1000
	f.add("events/s projected from a backlog", float64(published.Events)/p.elapsed.Seconds())
	f.add("ms of the projector's processor time for 1,000 events", float64(p.projector.Milliseconds())/thousands)
	f.add("ms of PostgreSQL's, of the coordinator's", float64(p.postgres.Milliseconds())/thousands)
	for n, used := range i.nodeTimes() {
		f.add(fmt.Sprintf("ms of worker %d's", n+1), float64((used-nodes[n]).Milliseconds())/thousands)
	}
	f.add("ms of NATS'", float64(p.nats.Milliseconds())/thousands)
	i.startProjector()
	i.measureSizes(f, published)
	i.measurePages(f)
	latencies := i.publishToVisible(2)
	f.add("ms from publishing to visible at 1,000 events/s, p50", percentile(latencies, 50).Seconds()*1000)
	f.add("ms from publishing to visible at 1,000 events/s, p99", percentile(latencies, 99).Seconds()*1000)
	rebuilt := i.rebuild()
	f.add("events/s of a rebuild", float64(rebuilt.Messages)/rebuilt.elapsed.Seconds())
	f.add("MiB of memory of a rebuild, at most", float64(rebuilt.memory))
	f.add("bytes of a request in the audit", i.bytesOfAudit())
	now, _ := memory(i.projector)
	f.add("MiB of the projector's memory", float64(now))
}

// nodeTimes returns the processor time of each worker.
func (i *installation) nodeTimes() (times []time.Duration) {
	i.Helper()
	for _, pid := range i.workerProcesses {
		times = append(times, cpuTime(i, pid))
	}
	return times
}

// measureSizes adds what a call takes on disk, with all that belongs to it, and a message in the stream.
func (i *installation) measureSizes(f *figures, published sample.Counts) {
	i.Helper()
	stream, err := i.js.Stream(i.Context(), "PHONES")
	if err != nil {
		i.Fatal(err)
	}
	calls := float64(published.Calls)
	f.add("events of a call", float64(published.Events)/calls)
	f.add("bytes of a call in the stream", float64(stream.CachedInfo().State.Bytes)/calls)
	if i.topology.workers > 0 {
		return
	}
	i.exec("vacuum analyze")
	const sizeSQL = "select sum(%s(oid))::bigint from pg_class where relnamespace = 'projection'::regnamespace and relkind = 'r'"
	f.add("bytes of a call in tables", float64(query[int64](i, fmt.Sprintf(sizeSQL, "pg_table_size")))/calls)
	f.add("bytes of a call in indexes", float64(query[int64](i, fmt.Sprintf(sizeSQL, "pg_indexes_size")))/calls)
}

// measurePages adds pages a second of a reader, over many connections.
func (i *installation) measurePages(f *figures) {
	i.Helper()
	r := i.startReader("readapi", nil)
	windows := i.windows(max(1, 2048/len(i.company.Systems())))
	keys := i.keysOf(access.TierStandard, windows)
	for _, g := range []target{
		{reportPages, r.process, r.url, window.report},
		{listPages, r.process, r.url, window.list},
	} {
		if status, body, err := get(i.Context(), http.DefaultClient, g.base+g.path(windows[0]), keys[0]); err != nil || status != http.StatusOK {
			i.Fatalf("%s: status = %d, %v, want 200: %s", g.name, status, err, body)
		}
		requests := g.requests(i, windows, keys)
		i.measure(g, requests, 1, time.Second) // names and plans
		for _, connections := range []int{1, 64} {
			m := i.measure(g, requests, connections, *durationFlag)
			name := fmt.Sprintf("%s, %d connections: ", g.name, connections)
			f.add(name+"pages/s", m.rate())
			f.add(name+"ms, p99", m.p99.Seconds()*1000)
			if connections > 1 {
				f.add(name+"µs of processor time of the reader", m.cpuPerPage("server"))
				f.add(name+"µs of PostgreSQL, of the coordinator", m.cpuPerPage("PostgreSQL"))
				f.add(name+"µs of NATS", m.cpuPerPage("NATS"))
			}
		}
	}
	_, highest := memory(r.process)
	f.add("MiB of the reader's memory, at most", float64(highest))
}

// bytesOfAudit returns what a request takes in the audit, with its indexes.
func (i *installation) bytesOfAudit() float64 {
	i.Helper()
	eventstest.Eventually(i, "the audit is stored", func() bool { return query[int64](i, "select count(*) from access.audit") > 1000 })
	const sql = `
		select sum(pg_total_relation_size(inhrelid))::float8 / (select count(*) from access.audit)
		from pg_inherits
		where inhparent = 'access.audit'::regclass`
	return query[float64](i, sql)
}
