package readapi

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	auditstream "callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/readapi/audit"
)

// withProjectionPool gives the projection a pool of its own, so that slow reads delay no credential.
func withProjectionPool(tb testing.TB, connections int32) func(*Config) {
	tb.Helper()
	return func(c *Config) {
		config := c.Primary.Config()
		config.MaxConns = connections
		c.Projection = openPoolWith(tb, config)
	}
}

// metric is the value of a gauge or a counter, by its name and the value of its label.
func (h *harness) metric(name, label string) float64 {
	h.Helper()
	families, err := h.config.Metrics.(*prometheus.Registry).Gather()
	if err != nil {
		h.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	h.Fatalf("no metric %s %s", name, label)
	return 0
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

// A key has 16 requests that are answered and 128 that wait. Others of it are refused, have used no permit, and are counted by the audit.
// Another key does not notice.
func TestOverload_OneKey(t *testing.T) {
	t.Parallel()
	const permits, waiting, refused = 200, 16 + 128, 40
	queue, stopAudit := stoppableAudit(t)
	h := newHarness(t, withProjectionPool(t, 20), withQuota(t, permits), func(c *Config) { c.AuditQueue, c.Timeout = queue, time.Hour })
	system := h.system("one")
	hostile, paying := h.key(system), h.key(system)
	unlock := h.lock("call_log")
	var sent statuses
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
	if got, want := w.Header().Get("RateLimit"), `"tier";r=`+strconv.Itoa(permits-waiting-1)+`;t=`; !strings.HasPrefix(got, want) {
		t.Errorf("RateLimit = %q, want %s", got, want)
	}
	if got := h.metric("callboard_readapi_body_bytes", ""); got != 0 {
		t.Errorf("reserved bytes = %v, want 0", got)
	}
	want := map[audited]int64{{hostile.ID, 200}: waiting + 1, {hostile.ID, 503}: refused, {paying.ID, 200}: 1}
	if got := stopAudit(); !maps.Equal(got, want) {
		t.Errorf("requests in the audit = %v, want %v", got, want)
	}
}

// stoppableAudit returns an audit queue, and what stops it and returns the number of requests in the stream by key and status.
func stoppableAudit(t *testing.T) (*audit.Queue, func() map[audited]int64) {
	t.Helper()
	js := newJetStream(t)
	q, err := audit.NewQueue(audit.Config{JetStream: js, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- q.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return q, func() map[audited]int64 {
		stop()
		stream, err := js.Stream(t.Context(), auditstream.StreamName)
		if err != nil {
			t.Fatal(err)
		}
		counts := make(map[audited]int64)
		for sequence := range stream.CachedInfo().State.LastSeq {
			m, err := stream.GetMsg(t.Context(), sequence+1)
			if err != nil {
				t.Fatal(err)
			}
			list, err := auditstream.Decode(m.Data)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				counts[audited{e.KeyID, e.Status}] += e.Requests()
			}
		}
		return counts
	}
}

// audited is what requests in the audit are counted by.
type audited struct {
	key    uuid.UUID
	status int
}
