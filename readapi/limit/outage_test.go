package limit

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"callboard/events/eventstest"
)

func TestTake_WithoutNATS(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	server := eventstest.NewServer(t)
	l := startLimiter(t, server.URL(), logTo(&log))
	key := uuid.New()
	if !l.Take(t.Context(), Request{Lineage: key}).Allowed {
		t.Fatal("allowed = false with NATS")
	}
	server.Stop()
	eventstest.Eventually(t, "a lost connection", func() bool { return !l.client.conn.IsConnected() })
	for _, premium := range []bool{false, true} {
		d := l.Take(t.Context(), Request{Lineage: key, Premium: premium, Report: listReports})
		if d.Allowed || d.RetryAfter != 1 {
			t.Errorf("premium = %t: report allowed = %t, retry after = %d, want a refusal for 1 s", premium, d.Allowed, d.RetryAfter)
		}
	}
	if got := countAllowed(t, l, Request{Lineage: key}, 200); got != 120 {
		t.Errorf("standard requests allowed = %d, want 120", got)
	}
	if got := countAllowed(t, l, Request{Lineage: uuid.New(), Premium: true}, 700); got != 600 {
		t.Errorf("premium requests allowed = %d, want 600", got)
	}
	d := l.Take(t.Context(), Request{Lineage: key})
	if got, _ := d.RateLimit(); d.Allowed || d.RetryAfter < 1 || !strings.HasPrefix(got, `"tier";r=0;t=`) {
		t.Errorf("over the local limit: allowed = %t, retry after = %d, rate limit = %s", d.Allowed, d.RetryAfter, got)
	}
	if refused, allowed := l.decisions(unreachableRefused), l.decisions(unreachableAllowed); refused != 183 || allowed != 720 {
		t.Errorf("refused = %d, allowed = %d, want 183 and 720", refused, allowed)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "rate limits unavailable") {
		t.Errorf("log lines = %d, want 1 about the outage:\n%s", lines, log.String())
	}
}

// The streams are in memory, so a restart of NATS removes them.
func TestTake_AfterRestartOfNATS(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	server := eventstest.NewServer(t)
	l := startLimiter(t, server.URL(), productionTimeout, logTo(&log))
	report := Request{Lineage: uuid.New(), Report: listReports}
	for range 2 {
		server.Stop()
		eventstest.Eventually(t, "a refused report", func() bool { return !l.Take(t.Context(), report).Allowed })
		server.Start()
		eventstest.Eventually(t, "an allowed report", func() bool { return l.Take(t.Context(), report).Allowed })
		eventstest.Eventually(t, "a premium request allowed by NATS", func() bool {
			before := l.decisions(allowed)
			l.Take(t.Context(), Request{Lineage: uuid.New(), Premium: true})
			return l.decisions(allowed) == before+1
		})
	}
	eventstest.Eventually(t, "the end of the outage in the log", func() bool {
		l.Take(t.Context(), Request{Lineage: uuid.New()})
		return strings.Contains(log.String(), "rate limits available again")
	})
}

func TestTake_CreatesMissingStream(t *testing.T) {
	t.Parallel()
	// The timeout is too short for the periodic lookup, so only the requests can trigger one.
	l := startLimiter(t, eventstest.NewServer(t).URL(), func(c *Config) { c.DecisionTimeout = lookupInterval / 2 })
	for range 3 {
		countAllowed(t, l, Request{Lineage: uuid.New(), Report: listReports}, 1)
		l.deleteStandardStream(t)
		if !l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed {
			t.Error("allowed = false after the stream was deleted")
		}
	}
}

func (l *Limiter) deleteStandardStream(t *testing.T) {
	t.Helper()
	if err := l.standard.js.DeleteStream(t.Context(), l.standard.config.Name); err != nil {
		t.Fatal(err)
	}
}

func TestTake_BeforeRun(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, eventstest.JetStream(t, eventstest.NewServer(t).URL()), productionTimeout)
	l.checkWithoutReply(t, uuid.New())
	if got := len(l.lookup); got != 1 {
		t.Errorf("lookups triggered = %d, want 1", got)
	}
}

// A subscriber to the permits' subjects keeps the server from replying that nobody received them.
func TestTake_CreatesMissingStreamDespiteSubscriber(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	newPermitCounter(t, server.URL())
	l := startLimiter(t, server.URL(), productionTimeout)
	for range 2 {
		eventstest.Eventually(t, "an allowed report", func() bool {
			return l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed
		})
		l.deleteStandardStream(t)
	}
}

// An existing stream is not changed. The limiter logs one that does not count permits.
func TestLimiter_DoesNotChangeStreams(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	l := newLimiter(t, js)
	described, tooSmall := l.standard.config, l.premium.config
	described.Description, tooSmall.MaxMsgsPerSubject = "ours", 7
	for _, config := range []jetstream.StreamConfig{described, tooSmall} {
		if _, err := js.CreateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	l = startLimiter(t, js.Conn().ConnectedUrl(), logTo(&log))
	eventstest.Eventually(t, "a log line", func() bool { return strings.Contains(log.String(), "its settings do not count permits") })
	if got := log.String(); strings.Contains(got, l.standard.config.Name) || !strings.Contains(got, l.premium.config.Name) {
		t.Errorf("log = %s, want only %s in it", got, l.premium.config.Name)
	}
	if d := l.Take(t.Context(), Request{Lineage: uuid.New()}); !d.Allowed || l.decisions(allowed) != 1 {
		t.Errorf("allowed = %t, by NATS %d times, want once", d.Allowed, l.decisions(allowed))
	}
	stream, err := js.Stream(t.Context(), l.standard.config.Name)
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().Config.Description; got != "ours" {
		t.Errorf("description = %q, want %q", got, "ours")
	}
}

// A stream whose subjects hold more messages would allow more requests.
func TestTake_IgnoresMisconfiguredStream(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	l := startLimiter(t, eventstest.NewServer(t).URL(), logTo(&log))
	key := uuid.New()
	countAllowed(t, l, Request{Lineage: key}, 1)
	tooLarge := l.standard.config
	tooLarge.MaxMsgsPerSubject = 1000
	if _, err := l.standard.js.UpdateStream(t.Context(), tooLarge); err != nil {
		t.Fatal(err)
	}
	l.triggerLookup()
	eventstest.Eventually(t, "a misconfigured stream", l.standard.misconfigured.Load)
	if got := countAllowed(t, l, Request{Lineage: key}, 200); got != 120 {
		t.Errorf("allowed = %d, want 120", got)
	}
	if d := l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}); d.Allowed || d.RetryAfter != 1 {
		t.Errorf("report: allowed = %t, retry after = %d, want a refusal for 1 s", d.Allowed, d.RetryAfter)
	}
	if !l.Take(t.Context(), Request{Lineage: uuid.New(), Premium: true, Report: listReports}).Allowed {
		t.Error("premium report: allowed = false although its stream counts permits")
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, tooLarge.Name) {
		t.Errorf("log = %s, want one line about %s", got, tooLarge.Name)
	}
	l.deleteStandardStream(t)
	l.triggerLookup()
	eventstest.Eventually(t, "an allowed report", func() bool {
		return l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed
	})
}

func TestTake_UsesStreamBeforeItIsChecked(t *testing.T) {
	t.Parallel()
	if !startUnmaintained(t).Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed {
		t.Error("allowed = false")
	}
}

// simulateLag makes a replica that has no permits yet answer the quota requests for the standard stream.
func (l *Limiter) simulateLag(t *testing.T) {
	t.Helper()
	l.standard.directSubject = "lagging"
	if _, err := l.client.conn.Subscribe(l.standard.directSubject, func(m *nats.Msg) {
		_ = m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"404"}}})
	}); err != nil {
		t.Fatal(err)
	}
}

func TestTake_RefusesDespiteLaggingReplica(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	server := eventstest.NewServer(t)
	key := uuid.New()
	countAllowed(t, startLimiter(t, server.URL()), Request{Lineage: key}, 120)
	l := startLimiter(t, server.URL(), logTo(&log), func(c *Config) { c.DecisionTimeout = 3 * time.Second })
	l.simulateLag(t)
	if d := l.Take(t.Context(), Request{Lineage: key}); d.Allowed || d.RetryAfter != 1 {
		t.Errorf("allowed = %t, retry after = %d, want a refusal for 1 s", d.Allowed, d.RetryAfter)
	}
	if l.decisions(refused) != 1 || log.String() != "" {
		t.Errorf("refused = %d, want 1; log:\n%s", l.decisions(refused), log.String())
	}
}

func TestAttempt_DecideAtDeadline(t *testing.T) {
	t.Parallel()
	a := &attempt{Limiter: newLimiter(t, eventstest.JetStream(t, eventstest.NewServer(t).URL()))}
	for _, lastErr := range []error{nil, nats.ErrNoResponders} {
		if d, err := a.decideAtDeadline(lastErr, errNoReply); d != nil || !errors.Is(err, errNoReply) {
			t.Errorf("last error %v: decision = %+v, error = %v, want only errNoReply", lastErr, d, err)
		}
	}
	for _, err := range []error{errFull, errNoReply, errDisconnected} {
		if d, err := a.decideAtDeadline(errFull, err); err != nil || d.Allowed || d.RetryAfter != 1 {
			t.Errorf("full, then %v: decision = %+v, error = %v, want a refusal for 1 s", err, d, err)
		}
	}
}

// A bucket that was full stays full for the decision, even if the server or the stream goes away.
func TestTake_RemembersFullBucket(t *testing.T) {
	t.Parallel()
	serverStops := func(t *testing.T) (*Limiter, Request, func()) {
		t.Helper()
		server := eventstest.NewServer(t)
		r := Request{Lineage: uuid.New()}
		countAllowed(t, startLimiter(t, server.URL()), r, 120)
		return startLimiter(t, server.URL()), r, server.Stop
	}
	streamIsDeleted := func(t *testing.T) (*Limiter, Request, func()) {
		t.Helper()
		l := startUnmaintained(t)
		r := Request{Lineage: uuid.New()}
		countAllowed(t, l, r, 120)
		return l, r, func() { l.deleteStandardStream(t) }
	}
	for name, setup := range map[string]func(*testing.T) (*Limiter, Request, func()){
		"server stops": serverStops, "stream is deleted": streamIsDeleted,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, r, fail := setup(t)
			l.simulateLag(t)
			l.decisionTimeout = 3 * time.Second
			published := newPermitCounter(t, l.client.conn.ConnectedUrl())
			decided := make(chan *Decision)
			go func() { decided <- l.Take(t.Context(), r) }()
			eventstest.Eventually(t, "two attempts", func() bool { return published.count() > 1 })
			published.conn.Close() // so that the server replies that nobody takes permits
			fail()
			if d := <-decided; d.Allowed || l.decisions(refused) != 1 {
				t.Errorf("allowed = %t, refused = %d, want one refusal", d.Allowed, l.decisions(refused))
			}
		})
	}
}

func TestOutage_IsLoggedOnce(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	o := newOutage(zerolog.New(&log), "something")
	o.end()
	for range 3 {
		o.begin(errNoReply)
		o.end() // too early
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "something unavailable") {
		t.Errorf("log after the begin = %s, want one line", got)
	}
	past := time.Now().Add(-minOutage)
	o.since.Store(&past)
	o.end()
	o.end()
	if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "something available again") {
		t.Errorf("log after the end = %s, want one line more", got)
	}
}

// A server that is connected but does not reply blocks no request.
func TestTake_WithStalledServer(t *testing.T) {
	t.Parallel()
	proxy := eventstest.NewProxy(t, eventstest.NewServer(t).URL())
	l := startLimiter(t, "nats://"+proxy.Addr(), productionTimeout)
	key := uuid.New()
	eventstest.Eventually(t, "a request allowed by NATS", func() bool {
		before := l.decisions(allowed)
		l.Take(t.Context(), Request{Lineage: key})
		return l.decisions(allowed) > before
	})
	defer proxy.Pause()()
	l.checkWithoutReply(t, key)
	if l.prune(time.Now().Add(time.Hour)); !l.idle() {
		t.Error("replies are still pending after pruning")
	}

	// These messages fill the buffers between client and server, so that the connection blocks its writers.
	var filling sync.WaitGroup
	filling.Go(func() {
		for range 64 {
			_ = l.client.conn.Publish("elsewhere", make([]byte, 1<<19))
		}
	})
	t.Cleanup(filling.Wait) // publishing fails when the proxy closes the connection
	l.checkWithoutReply(t, key)
}

func (l *Limiter) checkWithoutReply(t *testing.T, key uuid.UUID) {
	t.Helper()
	for range 10 {
		if d := l.Take(t.Context(), Request{Lineage: key, Report: listReports}); d.Allowed || d.RetryAfter != 1 {
			t.Errorf("report: allowed = %t, retry after = %d, want a refusal for 1 s", d.Allowed, d.RetryAfter)
		}
		d := l.Take(t.Context(), Request{Lineage: key})
		if text, known := d.RateLimit(); !d.Allowed || !known {
			t.Errorf("allowed = %t, rate limit = %q, want an allowed request with a rate limit", d.Allowed, text)
		}
	}
}
