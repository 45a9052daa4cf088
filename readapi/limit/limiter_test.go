package limit

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/eventstest"
)

// takeConcurrently sends 500 requests at once, spread over limiters, and returns how many were allowed.
func takeConcurrently(t *testing.T, r Request, limiters ...*Limiter) int {
	t.Helper()
	var requests sync.WaitGroup
	results := make(chan bool, 500)
	start := make(chan struct{})
	for i := range cap(results) {
		requests.Go(func() {
			<-start
			results <- limiters[i%len(limiters)].Take(t.Context(), r).Allowed
		})
	}
	close(start)
	requests.Wait()
	close(results)
	count := 0
	for ok := range results {
		if ok {
			count++
		}
	}
	return count
}

func TestTake_ExactAcrossReaders(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	first, second := startLimiter(t, server.URL()), startLimiter(t, server.URL())
	for name, c := range map[string]struct {
		premium       bool
		report        string
		allowed, tier int // requests allowed; permits of the tier that they took
	}{
		"standard":           {allowed: 120, tier: 120},
		"standard, a report": {report: listReports, allowed: 120, tier: 120},
		"premium, a report":  {premium: true, report: listReports, allowed: 120, tier: 120},
		"premium":            {premium: true, allowed: 500, tier: 500},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{Lineage: uuid.New(), Premium: c.premium, Report: c.report}
			if got := takeConcurrently(t, r, first, second); got != c.allowed {
				t.Errorf("allowed = %d, want %d", got, c.allowed)
			}
			stream := first.standard
			if c.premium {
				stream = first.premium
			}
			if got := storedMessages(t, stream, r.Lineage, tierPolicy); got != c.tier {
				t.Errorf("permits of the tier = %d, want %d", got, c.tier)
			}
			r.Report = ""
			if got, want := countAllowed(t, second, r, stream.tier), stream.tier-c.tier; got != want {
				t.Errorf("other requests allowed afterwards = %d, want %d", got, want)
			}
		})
	}
}

func TestTake_MetersReportOperationsSeparately(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL())
	key := uuid.New()
	for _, c := range []struct {
		report         string
		requests, want int
	}{{listReports, 130, 120}, {dimensions, 130, 120}, {"", 400, 360}} {
		if got := countAllowed(t, l, Request{Lineage: key, Premium: true, Report: c.report}, c.requests); got != c.want {
			t.Errorf("report %q: allowed = %d of %d, want %d", c.report, got, c.requests, c.want)
		}
	}
}

// All requests of a standard key share its 120 permits.
func TestTake_CountsReportsInTier(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL())
	key := uuid.New()
	for _, c := range []struct {
		report string
		want   int
	}{{listReports, 50}, {dimensions, 50}, {"", 20}} {
		if got := countAllowed(t, l, Request{Lineage: key, Report: c.report}, 50); got != c.want {
			t.Errorf("report %q: allowed = %d of 50, want %d", c.report, got, c.want)
		}
	}
}

func TestTake_RefusalTakesNoPermit(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	l := startLimiter(t, server.URL())
	key := uuid.New()
	if got := countAllowed(t, l, Request{Lineage: key, Premium: true}, 600); got != 600 {
		t.Fatalf("allowed = %d, want 600", got)
	}
	for range 5 {
		reader := startLimiter(t, server.URL()) // does not know yet that the key is over its budget
		if got := countAllowed(t, reader, Request{Lineage: key, Premium: true, Report: listReports}, 3); got != 0 {
			t.Errorf("reports allowed = %d, want 0", got)
		}
		if got := reader.decisions(refused); got != 1 {
			t.Errorf("refusals by NATS = %d, want 1", got)
		}
	}
	if got := storedMessages(t, l.premium, key, listReports); got != 0 {
		t.Errorf("messages of the report = %d, want 0", got)
	}
}

func TestTake_FullReportBucketAllowsOtherRequests(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL())
	r := Request{Lineage: uuid.New(), Premium: true, Report: listReports}
	countAllowed(t, l, r, 125)
	if got := l.decisions(refusedLocally); got != 4 {
		t.Errorf("refused locally = %d, want 4", got)
	}
	r.Report = ""
	if got := countAllowed(t, l, r, 10); got != 10 {
		t.Errorf("other requests allowed = %d, want 10", got)
	}
}

func TestTake_LineagesHaveSeparateBudgets(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL())
	for range 3 {
		if got := countAllowed(t, l, Request{Lineage: uuid.New(), Report: listReports}, 121); got != 120 {
			t.Errorf("allowed = %d, want 120", got)
		}
	}
}

func TestTake_RefusesBlockedKeyWithoutAsking(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	l := startLimiter(t, server.URL())
	r := Request{Lineage: uuid.New()}
	countAllowed(t, l, r, 1)
	published := newPermitCounter(t, server.URL())
	countAllowed(t, l, r, 120)
	before := published.count()
	if before != 120 {
		t.Errorf("published = %d, want 120", before)
	}
	for range 1000 {
		if d := l.Take(t.Context(), r); d.Allowed || d.RetryAfter < 1 || d.RetryAfter > 60 {
			t.Fatalf("allowed = %t, retry after = %d, want a refusal for 1 to 60 s", d.Allowed, d.RetryAfter)
		}
	}
	r.Report = listReports
	countAllowed(t, l, r, 10)
	if after := published.count(); after != before {
		t.Errorf("published while blocked = %d, want 0", after-before)
	}
	if got := l.decisions(refusedLocally); got != 1010 {
		t.Errorf("refused locally = %d, want 1010", got)
	}
}

func TestTake_AllowsAgainWhenPermitReturns(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	l, other := startLimiter(t, server.URL(), withWindow(5*time.Second)), startLimiter(t, server.URL(), withWindow(5*time.Second))
	r := Request{Lineage: uuid.New()}
	for _, reader := range []*Limiter{l, other} {
		eventstest.Eventually(t, "a refusal", func() bool { return !reader.Take(t.Context(), r).Allowed })
	}
	for _, reader := range []*Limiter{l, other} {
		eventstest.Eventually(t, "an allowed request", func() bool { return reader.Take(t.Context(), r).Allowed })
	}
	eventstest.Eventually(t, "no blocked bucket", func() bool {
		l.prune(time.Now())
		return l.idle()
	})
}

// Another client's batch is the only one that the server accepts until it is complete.
func TestTake_RetriesWhatServerRefusesTemporarily(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t, oneBatchInFlight)
	l := startLimiter(t, server.URL())
	r := Request{Lineage: uuid.New(), Report: listReports}
	countAllowed(t, l, r, 1)
	published := newPermitCounter(t, server.URL())
	batch := permits(l.standard.buckets(Request{Lineage: uuid.New(), Report: listReports}))
	makeBatch(batch, "other")
	publish := func(i int) {
		if err := published.conn.PublishMsg(batch[i]); err != nil {
			t.Error(err)
		}
	}
	publish(0)
	published.count()
	decided := make(chan *Decision)
	go func() { decided <- l.Take(t.Context(), r) }()
	eventstest.Eventually(t, "three attempts", func() bool { return published.count() >= 1+3*len(batch) })
	publish(1)
	if d := <-decided; !d.Allowed {
		t.Error("allowed = false after the other batch was complete")
	}
	if got := storedMessages(t, l.standard, r.Lineage, listReports); got != 2 {
		t.Errorf("permits = %d, want 2", got)
	}
}

// A permit can return between the server's refusal and the quotas.
func TestTake_RetriesWhenNoBucketIsFullAnyMore(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL())
	r := Request{Lineage: uuid.New(), Report: listReports}
	countAllowed(t, l, r, 1)
	a := &attempt{Limiter: l, stream: l.standard, buckets: l.standard.buckets(r), deadline: time.Now().Add(patience)}
	ctx, cancel := context.WithDeadline(t.Context(), a.deadline)
	defer cancel()
	if d, err := a.decision(ctx, errFull); d != nil || err == nil || !l.idle() {
		t.Errorf("decision = %+v, error = %v, want only an error and no blocked bucket", d, err)
	}
}

func TestTake_RefusesWhenClientIsGone(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	l := startLimiter(t, eventstest.NewServer(t).URL(), logTo(&log))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // some replies arrive before the limiter looks at the context
		if d := l.Take(ctx, Request{Lineage: uuid.New(), Report: listReports}); !d.Allowed && d.RetryAfter != 1 {
			t.Fatalf("retry after = %d, want 1", d.RetryAfter)
		}
	}
	if l.decisions(abandoned) == 0 {
		t.Error("abandoned = 0, want at least 1")
	}
	if got := l.decisions(unreachableRefused) + l.decisions(unreachableAllowed); got != 0 || log.String() != "" {
		t.Errorf("local decisions = %d, want 0; log:\n%s", got, log.String())
	}
}

func TestNew_RefusesInvalidConfig(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	for name, change := range map[string]func(*Config){
		"no JetStream":        func(c *Config) { c.JetStream = nil },
		"no permits":          func(c *Config) { c.Report = 0 },
		"negative allowance":  func(c *Config) { c.Standard = -1 },
		"more than one batch": func(c *Config) { c.Premium = 1_000_000 },
	} {
		c := testConfig(js)
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: error = nil", name)
		}
	}
}

func TestTake_InJetStreamDomain(t *testing.T) {
	t.Parallel()
	url := eventstest.NewServer(t, func(o *server.Options) { o.JetStreamDomain = "edge" }).URL()
	conn := eventstest.Connect(t, url)
	domain, err := jetstream.NewWithDomain(conn, "edge")
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := jetstream.NewWithAPIPrefix(conn, "$JS.edge.API")
	if err != nil {
		t.Fatal(err)
	}
	for name, js := range map[string]jetstream.JetStream{"domain": domain, "prefix": prefix} {
		l := startLimiter(t, url, func(c *Config) { c.JetStream = js })
		if _, known := l.Take(t.Context(), Request{Lineage: uuid.New()}).RateLimit(); !known {
			t.Errorf("%s: the rate limit is unknown", name)
		}
		if got, want := l.standard.directSubject, "$JS.edge.API.DIRECT.GET.LIMITS_120_120"; got != want {
			t.Errorf("%s: subject of quota requests = %s, want %s", name, got, want)
		}
	}
}
