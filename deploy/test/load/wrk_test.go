//go:build linux

package load_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// target is a server and the pages that are requested from it.
type target struct {
	name   string
	server *process
	base   string
	path   func(window) string
}

// requests writes a file of requests for wrk: each window with its key.
func (g target) requests(tb testing.TB, windows []window, keys []string) (file string) {
	tb.Helper()
	base, err := url.Parse(g.base)
	if err != nil {
		tb.Fatal(err)
	}
	var b strings.Builder
	for n, w := range windows {
		fmt.Fprintf(&b, "%s\t%s\n", base.Path+g.path(w), keys[n%len(keys)])
	}
	file = filepath.Join(tb.TempDir(), "requests")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// measurement is what one run of wrk showed.
type measurement struct {
	pages    int64
	elapsed  time.Duration
	p50, p99 time.Duration
	cpu      map[string]time.Duration // by server
}

func (m measurement) rate() float64 { return float64(m.pages) / m.elapsed.Seconds() }

// cpuPerPage returns the microseconds of processor time that a server used for a page.
func (m measurement) cpuPerPage(server string) float64 {
	return float64(m.cpu[server].Microseconds()) / float64(m.pages)
}

func needWrk(tb testing.TB) {
	tb.Helper()
	if _, err := exec.LookPath("wrk"); err != nil {
		tb.Fatalf("%v: install it with 'apt-get install wrk'", err)
	}
}

// measure requests pages over a number of connections for a time. The test fails if an answer has another status
// than 200.
func (i *installation) measure(g target, requests string, connections int, d time.Duration) measurement {
	i.Helper()
	pids := map[string]int{"server": g.server.PID(), "PostgreSQL": i.postmaster, "NATS": i.nats.PID(), "projector": i.projector.PID()}
	m := measurement{cpu: make(map[string]time.Duration)}
	for name, pid := range pids {
		m.cpu[name] = -cpuTime(i, pid)
	}
	host, err := url.Parse(g.base)
	if err != nil {
		i.Fatal(err)
	}
	seconds := max(1, int(d.Seconds()))
	out, err := exec.CommandContext(i.Context(), "wrk", "-t", "1", "-c", strconv.Itoa(connections), "-d", strconv.Itoa(seconds)+"s",
		"--timeout", "30s", "-s", "testdata/requests.lua", "http://"+host.Host, requests).CombinedOutput()
	if err != nil {
		i.Fatalf("wrk: %v\n%s", err, out)
	}
	for name, pid := range pids {
		m.cpu[name] += cpuTime(i, pid)
	}
	match := regexp.MustCompile(`(?m)^result (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)$`).FindSubmatch(out)
	if match == nil {
		i.Fatalf("wrk prints no result:\n%s", out)
	}
	number := func(group int) int64 {
		n, _ := strconv.ParseInt(string(match[group]), 10, 64) // it has digits only
		return n
	}
	m.pages, m.elapsed = number(1), time.Duration(number(2))*time.Microsecond
	m.p50, m.p99 = time.Duration(number(3))*time.Microsecond, time.Duration(number(4))*time.Microsecond
	if number(5)+number(6) > 0 || m.pages == 0 {
		i.Errorf("%s: answers = %d, of which with an error status = %d, failed requests = %d, want 0", g.name, m.pages, number(5), number(6))
		m.pages = max(1, m.pages)
	}
	return m
}
