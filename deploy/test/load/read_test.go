//go:build linux

package load_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"callboard/events/sample"
	"callboard/readapi/access"
)

// The names of the targets.
const (
	reportPages = "report: readapi"
	listPages   = "list: readapi"
	bareReport  = "report: bare"
	bareList    = "list: bare"
)

// TestRead compares report and list pages of the reader with those of a bare server over the same tables. It prints
// medians and checks no figure.
func TestRead(t *testing.T) {
	if !*readFlag {
		t.Skip("run it with -read")
	}
	needWrk(t)
	for _, systems := range []int{*systemsFlag, 1} {
		t.Run(fmt.Sprintf("%d phone systems", systems), func(t *testing.T) {
			company := sample.New(sample.Config{Seed: 1, Systems: systems, Calls: *callsFlag})
			i := newInstallation(t, company, map[string]string{"shared_preload_libraries": "pg_stat_statements"})
			i.exec("create extension pg_stat_statements")
			c := newComparison(i, 2048)
			t.Logf("%d windows and keys", len(c.windows))
			c.checkRows(reportPages, bareReport)
			c.checkRows(listPages, bareList)
			for _, connections := range []int{1, 8, 64} {
				c.compare(connections)
			}
		})
	}
}

// comparison is a reader and a bare server over the same tables.
type comparison struct {
	*installation
	windows []window
	keys    []string // one for each window, of the standard tier
	targets []target
}

// newComparison starts the servers. A page of the reader takes a permit of its key, so many keys take turns.
func newComparison(i *installation, keys int) *comparison {
	i.Helper()
	c := &comparison{installation: i, windows: i.windows(max(1, keys/len(i.company.Systems())))}
	c.keys = i.keysOf(access.TierStandard, c.windows)
	r := i.startReader("readapi", nil)
	bareServer, bareURL := i.startBare()
	c.targets = []target{
		{reportPages, r.process, r.url, window.report}, {bareReport, bareServer, bareURL, bare("/report")},
		{listPages, r.process, r.url, window.list}, {bareList, bareServer, bareURL, bare("/list")},
	}
	return c
}

// keysOf issues a key for each window's phone system.
func (i *installation) keysOf(tier access.Tier, windows []window) (keys []string) {
	i.Helper()
	systems := make([]uuid.UUID, len(windows))
	for n, w := range windows {
		systems[n] = w.system
	}
	for _, issued := range i.issueKeys(tier, systems...) {
		keys = append(keys, issued.Key.Reveal())
	}
	return keys
}

// checkRows checks that two targets answer with a full page of the same rows in the same order.
func (c *comparison) checkRows(names ...string) {
	c.Helper()
	var pages [][]uuid.UUID
	for _, g := range c.targets {
		if !slices.Contains(names, g.name) {
			continue
		}
		_, body, err := get(c.Context(), http.DefaultClient, g.base+g.path(c.windows[0]), c.keys[0])
		var page struct{ Data []struct{ ID uuid.UUID } }
		if err == nil {
			err = json.Unmarshal(body, &page)
		}
		if err != nil {
			c.Fatalf("%s: %v: %.200s", g.name, err, body)
		}
		var ids []uuid.UUID
		for _, row := range page.Data {
			ids = append(ids, row.ID)
		}
		pages = append(pages, ids)
	}
	if !slices.Equal(pages[0], pages[1]) || len(pages[0]) != pageRows {
		c.Fatalf("rows of %v = %v and %v, want %d, and the same", names, pages[0], pages[1], pageRows)
	}
}

// compare measures all targets in turn, round after round, and prints medians and ratios.
func (c *comparison) compare(connections int) {
	c.Helper()
	measured := make(map[string]*figures)
	for _, g := range c.targets {
		measured[g.name] = new(figures)
	}
	for range *roundsFlag {
		for _, g := range c.targets {
			requests := g.requests(c, c.windows, c.keys)
			c.measure(g, requests, connections, time.Second)
			c.exec("select pg_stat_statements_reset()")
			m := c.measure(g, requests, connections, *durationFlag)
			f := measured[g.name]
			f.add("pages/s", m.rate())
			f.add("p50 ms", m.p50.Seconds()*1000)
			f.add("p99 ms", m.p99.Seconds()*1000)
			for _, server := range []string{"server", "PostgreSQL", "NATS", "projector"} {
				f.add(server+" µs", m.cpuPerPage(server))
			}
			f.add("statement ms", c.pageStatement())
		}
	}
	c.Logf("connections: %d, medians of %d rounds of %s\n%s", connections, *roundsFlag, *durationFlag, c.table(measured))
	c.Logf("ratios\n%s", ratios(measured))
}

// pageStatement returns the mean time in ms of the statement that read calls and took the most time.
func (c *comparison) pageStatement() float64 {
	c.Helper()
	return query[float64](c.installation, `
		select mean_exec_time from pg_stat_statements where query like '%call_log%'
		order by total_exec_time desc limit 1`)
}

func (c *comparison) table(measured map[string]*figures) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\t"+strings.Join(measured[reportPages].names, "\t")+"\t")
	for _, g := range c.targets {
		f := measured[g.name]
		fmt.Fprint(w, g.name)
		for _, name := range f.names {
			fmt.Fprintf(w, "\t%.2f", median(f.values[name]))
		}
		fmt.Fprintln(w, "\t")
	}
	_ = w.Flush() // to memory
	return b.String()
}

// ratios are quotients of medians, each with the figure that it should have.
func ratios(measured map[string]*figures) string {
	var b strings.Builder
	for _, r := range []struct{ figure, target, beside, aim string }{
		{"pages/s", reportPages, bareReport, "at least 0.80"},
		{"pages/s", listPages, bareList, "at least 0.85"},
		{"p50 ms", reportPages, bareReport, "at most 1.15 with 8 connections"},
		{"statement ms", reportPages, bareReport, "at most 1.3 with 1 connection"},
		{"server µs", reportPages, bareReport, "at most 1"},
	} {
		ratio := median(measured[r.target].values[r.figure]) / median(measured[r.beside].values[r.figure])
		fmt.Fprintf(&b, "    %.2f  %s: %s ÷ %s (%s)\n", ratio, r.figure, r.target, r.beside, r.aim)
	}
	fmt.Fprintf(&b, "    %.0f  µs of NATS a report page (at most 70)\n", median(measured[reportPages].values["NATS µs"]))
	return b.String()
}
