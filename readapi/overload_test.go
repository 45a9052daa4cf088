package readapi

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/internal/run"
	"callboard/readapi/access"
	"callboard/readapi/auditqueue"
	"callboard/schema/schematest"
)

// withProjectionPool gives the projection a pool of its own, so that slow reads delay no credential.
func withProjectionPool(tb testing.TB, connections int32) func(*Config) {
	tb.Helper()
	return func(c *Config) {
		c.Projection = schematest.OpenPoolLike(tb, c.Primary, func(p *pgxpool.Config) { p.MaxConns = connections })
	}
}

// metric is the value of a gauge or a counter, by its name and the value of its label.
func (h *harness) metric(name, label string) float64 {
	h.Helper()
	return eventstest.Metric(h, h.config.Metrics.(*prometheus.Registry), strings.TrimSpace(name+" "+label))
}

// statuses counts responses.
type statuses struct {
	mu     sync.Mutex
	counts map[int]int
	all    sync.WaitGroup
}

// send sends requests at once.
func (s *statuses) send(h *harness, requests int, path string, headers ...header) {
	h.Helper()
	for range requests {
		s.all.Go(func() {
			w := h.get(path, headers...)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.counts == nil {
				s.counts = make(map[int]int)
			}
			s.counts[w.Code]++
			if w.Code == http.StatusServiceUnavailable && problemIn(h, w).RetryAfter != 1 {
				h.Errorf("retry_after = %d, want 1", problemIn(h, w).RetryAfter)
			}
		})
	}
}

func (s *statuses) count(status int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[status]
}

// A key has 16 requests that are answered and 128 that wait. Others of it are refused, and are counted by the
// audit. All have used a permit. Another key does not notice.
func TestOverload_OneKey(t *testing.T) {
	t.Parallel()
	const permits, waiting, refused = 200, 16 + 128, 40
	queue, stopAudit := stoppableAudit(t)
	h := newHarness(t, withProjectionPool(t, 20), withQuota(t, permits), func(c *Config) { c.AuditQueue, c.Timeout = queue, time.Hour })
	system := h.system("one")
	hostile, paying := h.key(system), h.key(system)
	unlock := h.lock("call_log")
	var sent statuses
	began := time.Now()
	sent.send(h, waiting, systemPath(system, "/call-logs"), withKey(hostile))
	eventstest.Eventually(t, "requests wait", func() bool { return h.metric("callboard_readapi_body_waiting", "lineage") == 128 })
	sent.send(h, refused, systemPath(system, "/call-logs"), withKey(hostile))
	eventstest.Eventually(t, "requests are refused", func() bool { return sent.count(http.StatusServiceUnavailable) == refused })
	h.expectCode("another key", h.get(systemPath(system, "/phones"), withKey(paying)), "")
	if got := h.metric("callboard_readapi_shed_total", "lineage"); got != refused {
		t.Errorf("refused by reason lineage = %v, want %d", got, refused)
	}
	unlock()
	sent.all.Wait()
	if got := sent.count(http.StatusOK); got != waiting {
		t.Errorf("answered = %d, want %d", got, waiting)
	}
	w := h.get(systemPath(system, "/phones"), withKey(hostile))
	left := w.Header().Get("RateLimit")
	if want := `"tier";r=` + strconv.Itoa(permits-waiting-refused-1) + `;t=`; !strings.HasPrefix(left, want) &&
		time.Since(began) < time.Minute { // then the first permits are free again
		t.Errorf("RateLimit = %q, want %s", left, want)
	}
	if got := h.metric("callboard_readapi_body_bytes", ""); got != 0 {
		t.Errorf("reserved bytes = %v, want 0", got)
	}
	want := map[audited]int64{{hostile.ID, 200}: waiting + 1, {hostile.ID, 503}: refused, {paying.ID, 200}: 1}
	if got := stopAudit(); !maps.Equal(got, want) {
		t.Errorf("requests in the audit = %v, want %v", got, want)
	}
}

// stoppableAudit returns an audit queue, and what stops it and returns the number of requests in the stream by key
// and status. It checks that refused requests have few entries.
func stoppableAudit(t *testing.T) (*auditqueue.Queue, func() map[audited]int64) {
	t.Helper()
	js := newJetStream(t)
	q := auditqueue.NewQueue(auditqueue.Config{JetStream: js, FlushTimeout: time.Minute, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry()})
	stop := eventstest.Run(t, q.Run)
	return q, func() map[audited]int64 {
		stop()
		stream, err := js.Stream(t.Context(), events.AuditStream)
		if err != nil {
			t.Fatal(err)
		}
		counts, refusedEntries := make(map[audited]int64), 0
		for sequence := range stream.CachedInfo().State.LastSeq {
			m, err := stream.GetMsg(t.Context(), sequence+1)
			if err != nil {
				t.Fatal(err)
			}
			list, err := events.DecodeAudit(m.Data)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				counts[audited{e.KeyID, e.Status}] += e.Requests()
				if e.Status != http.StatusOK {
					refusedEntries++
				}
			}
		}
		if refusedEntries > 20 {
			t.Errorf("entries of refused requests = %d, want 20 or fewer", refusedEntries)
		}
		return counts
	}
}

// audited is what requests in the audit are counted by.
type audited struct {
	key    uuid.UUID
	status int
}

// serve serves the handler over TCP as the program does, and returns the base URL.
func (h *harness) serve() string {
	h.Helper()
	server := httptest.NewUnstartedServer(h.handler)
	server.Listener, _ = run.LimitConnections(server.Listener, server.Config, 1000)
	// httptest sets a ConnState hook of its own, which calls this one.
	server.Start()
	h.Cleanup(server.Close)
	return server.URL + "/api/v1"
}

// reading is how a client reads a response.
type reading func(io.Reader) error

func readAll(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// readSlowly reads 10 kB per second until the server has cut the connection, and then what is still in the kernel.
func readSlowly(cut func() bool) reading {
	return func(r io.Reader) error {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for !cut() {
			if _, err := io.CopyN(io.Discard, r, 1000); err != nil {
				return err
			}
			<-tick.C
		}
		return readAll(r)
	}
}

func readTheBeginning(r io.Reader) error {
	_, err := io.CopyN(io.Discard, r, 100_000)
	return err
}

// fetch sends a request on a connection of its own with a small receive buffer, and returns the status.
func fetch(ctx context.Context, url string, key access.IssuedKey, read reading) (int, error) {
	transport := &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(32 << 10)
		}
		return conn, err
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	withKey(key)(request.Header)
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode, read(response.Body)
}

// Large pages that are read fast, slowly or not to their end, at a time when there is memory for four: those that
// are read fast are all answered. Slow ones are cut off. Then no memory is reserved, no connection to PostgreSQL
// was closed, and the audit has all requests.
func TestOverload_LargePages(t *testing.T) {
	t.Parallel()
	queue, stopAudit := stoppableAudit(t)
	h := newHarness(t, withProjectionPool(t, 8), func(c *Config) {
		c.AuditQueue, c.Timeout, c.BodyMemory = queue, time.Hour, 4*largeBytes
	})
	system, _ := h.numberedCalls(1)
	h.transcribe(nth(0), "a", 5_400_000)
	schematest.OpenAll(t, h.config.Projection)
	opened := h.config.Projection.Stat().NewConnsCount()
	url := h.serve() + reportPath(system, reportQuery("includeTranscripts", "true"))
	want := make(map[audited]int64)
	var all sync.WaitGroup
	start := func(clients, requests int, read reading, check func(status int, err error) bool) {
		for range clients {
			key := h.key(system)
			want[audited{key.ID, http.StatusOK}] += int64(requests)
			all.Go(func() {
				for range requests {
					if status, err := fetch(t.Context(), url, key, read); !check(status, err) {
						t.Errorf("status = %d, error = %v", status, err)
					}
				}
			})
		}
	}
	const slow = 3
	cut := func() float64 { return h.metric("callboard_readapi_cut_total", "slow") }
	start(slow, 1, readSlowly(func() bool { return cut() >= slow }), func(status int, err error) bool { return status == http.StatusOK && err != nil })
	start(4, 5, readAll, func(status int, err error) bool { return status == http.StatusOK && err == nil })
	start(4, 3, readTheBeginning, func(status int, err error) bool { return status == http.StatusOK && err == nil })
	all.Wait()
	eventstest.Eventually(t, "no memory is reserved", func() bool { return h.metric("callboard_readapi_body_bytes", "") == 0 })
	if cut() != slow {
		t.Errorf("slow clients that were cut off = %v, want %d", cut(), slow)
	}
	if got := h.config.Projection.Stat().NewConnsCount(); got != opened {
		t.Errorf("connections to PostgreSQL = %d, want %d as before", got, opened)
	}
	if got := stopAudit(); !maps.Equal(got, want) {
		t.Errorf("requests in the audit = %v, want %v", got, want)
	}
}
