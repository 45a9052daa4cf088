package limit

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/eventstest"
)

// Of many requests of one key at once, over readers whose clocks are wrong by an hour, exactly the budgets are allowed.
// Reports of both operations and other requests share the tier's budget.
func TestTake_ExactAcrossReaders(t *testing.T) {
	t.Parallel()
	var readers []*Limiter
	server := eventstest.NewServer(t)
	for _, offset := range []time.Duration{0, time.Hour, -time.Hour, time.Minute} {
		readers = append(readers, startLimiter(t, server.URL(), withinAnHour, withClock(offset)))
	}
	for range 5 {
		for _, c := range []struct {
			premium                     bool
			reports, dimensions, others int // requests
			tier                        int // permits of the tier that are taken
		}{
			{false, 0, 0, 500, 120},
			{false, 200, 200, 100, 120},
			{true, 200, 200, 300, 540},
			{true, 200, 200, 700, 600},
		} {
			key := uuid.New()
			report, dimension := Request{key, c.premium, CallLogReports}, Request{key, c.premium, Dimensions}
			other := Request{key, c.premium, NoReport}
			counts := takeAtOnce(t, slices.Concat(
				slices.Repeat([]Request{report}, c.reports), slices.Repeat([]Request{dimension}, c.dimensions),
				slices.Repeat([]Request{other}, c.others)), readers...)
			if got := counts[report] + counts[dimension] + counts[other]; got != c.tier ||
				counts[report] > 120 || counts[dimension] > 120 {
				t.Errorf("%+v: allowed = %v, want %d in all, and 120 of each report at most", c, counts, c.tier)
			}
			for budget, want := range map[Report]int{
				CallLogReports: counts[report], Dimensions: counts[dimension], NoReport: c.tier,
			} {
				if got := storedPermits(t, readers[0], key, budget); got != want {
					t.Errorf("%+v: stored permits of budget %d = %d, want %d", c, budget, got, want)
				}
			}
		}
	}
	for i, r := range readers {
		if got := r.withoutNATS(); got != 0 {
			t.Errorf("reader %d: decisions without NATS = %d, want 0", i, got)
		}
	}
}

// The requests of a lineage that wait are decided in one write, and refusals of a full budget in none.
func TestTake_FewMessages(t *testing.T) {
	t.Parallel()
	const permits = 2500
	l := startLimiter(t, eventstest.NewServer(t).URL(), withinAnHour, func(l *Limiter) { l.config.Premium = permits })
	r := Request{Lineage: uuid.New(), Premium: true}
	if got := takeAtOnce(t, slices.Repeat([]Request{r}, permits), l)[r]; got != permits {
		t.Errorf("allowed = %d, want %d", got, permits)
	}
	writes := storedVersion(t, l, r.Lineage).sequence
	if writes > permits/4 {
		t.Errorf("writes = %d for %d decisions, want far fewer", writes, permits)
	}
	r.Report = CallLogReports
	got := countAllowed(t, l, r, 50)
	if got != 0 || l.decisions(refusedFromMemory) != 50 || storedVersion(t, l, r.Lineage).sequence != writes {
		t.Errorf("allowed = %d, refused from memory = %d, want 0, 50 and no write", got, l.decisions(refusedFromMemory))
	}
}

// A full report budget leaves the tier's budget to other requests. The headers say what is left. A report operation has
// no more permits than the tier.
func TestDecision_Headers(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL(), withinAnHour, func(l *Limiter) {
		l.config.Report, l.config.Standard = 2, 1
	})
	key, other := uuid.New(), uuid.New()
	const both = `"report";q=2;w=60, "tier";q=600;w=60`
	for i, c := range []struct {
		request           Request
		policy, rateLimit string
		retryAfter        int
	}{
		{Request{key, true, CallLogReports}, both, `"report";r=1;t=60, "tier";r=599;t=60`, 0},
		{Request{key, true, NoReport}, `"tier";q=600;w=60`, `"tier";r=598;t=60`, 0},
		{Request{key, true, CallLogReports}, both, `"report";r=0;t=60, "tier";r=597;t=60`, 0},
		{Request{key, true, CallLogReports}, both, `"report";r=0;t=60, "tier";r=597;t=60`, 60},
		{Request{key, true, Dimensions}, both, `"report";r=1;t=60, "tier";r=596;t=60`, 0},
		{Request{key, false, NoReport}, `"tier";q=1;w=60`, `"tier";r=0;t=60`, 60},
		{Request{other, false, Dimensions}, `"report";q=1;w=60, "tier";q=1;w=60`, `"report";r=0;t=60, "tier";r=0;t=60`, 0},
	} {
		d := l.Take(t.Context(), c.request)
		if policy := d.RateLimitPolicy(); policy != c.policy {
			t.Errorf("request %d: policy = %s, want %s", i, policy, c.policy)
		}
		if got, _ := d.RateLimit(); got != c.rateLimit || d.RetryAfter != c.retryAfter || d.Allowed != (c.retryAfter == 0) {
			t.Errorf("request %d: rate limit = %s, retry after = %d, want %s, %d",
				i, got, d.RetryAfter, c.rateLimit, c.retryAfter)
		}
	}
}

func TestTake_RefusesWhenClientIsGone(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL())
	awaitNATS(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	eventstest.Eventually(t, "a refusal", func() bool { // some decisions are made before the limiter looks at the context
		return !l.Take(ctx, Request{Lineage: uuid.New(), Report: CallLogReports}).Allowed
	})
	if got := l.decisions(abandoned); got != 1 || l.withoutNATS() != 0 {
		t.Errorf("abandoned = %d, decisions without NATS = %d, want 1, 0", got, l.withoutNATS())
	}
}

// Counters are forgotten after two minutes without a request.
func TestLimiter_ForgetsUnusedCounters(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, eventstest.NewServer(t).URL())
	l.lineageOf(uuid.New())
	l.prune(time.Now().Add(keep - time.Second))
	kept := len(l.lineages)
	if l.prune(time.Now().Add(keep + time.Second)); kept != 1 || len(l.lineages) != 0 {
		t.Errorf("counters in memory = %d, then %d, want 1, then 0", kept, len(l.lineages))
	}
}

// A reader refuses a request if more requests of its lineage wait than any budget has permits. An outage ends all
// waits, also of requests in a write.
func TestLimiter_EndsWaits(t *testing.T) {
	t.Parallel()
	l, key := newLimiter(t, eventstest.NewServer(t).URL()), uuid.New()
	var first, last *waiter
	for i := range maxWaiting + 1 {
		last = &waiter{buckets: tierOf(1), decided: make(chan *Decision, 1)}
		if l.enter(key, last); len(last.decided) == 1 != (i == maxWaiting) {
			t.Fatalf("request %d: ended waits = %d", i, len(last.decided))
		}
		first = cmp.Or(first, last)
	}
	if d := <-last.decided; d == nil || d.Allowed {
		t.Errorf("decision of the last one = %+v, want a refusal", d)
	}
	l.next(l.lineageOf(key))
	if l.setUnreachable(errNoReply); len(first.decided) != 1 {
		t.Error("the first request waits, want its wait ended")
	}
}

func TestNew_RefusesInvalidConfig(t *testing.T) {
	t.Parallel()
	c := testConfig(connect(t, eventstest.NewServer(t).URL()))
	c.Report = 0
	if _, err := New(c); err == nil {
		t.Error("no permits: error = nil, want one")
	}
}

// A stream whose settings lose counters or answer with old ones does not count permits.
func TestCheckStream(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"longer retention":    func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"several versions":    func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject++ },
		"discard new":         func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardNew },
		"direct reads":        func(c *jetstream.StreamConfig) { c.AllowDirect = true },
		"no acknowledgements": func(c *jetstream.StreamConfig) { c.NoAck = true },
		"sealed":              func(c *jetstream.StreamConfig) { c.Sealed = true },
		"few messages":        func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 },
		"few bytes":           func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 },
		"small messages":      func(c *jetstream.StreamConfig) { c.MaxMsgSize = 100 },
		"interest retention":  func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy },
		"republishes":         func(c *jetstream.StreamConfig) { c.RePublish = &jetstream.RePublish{} },
		"mirror":              func(c *jetstream.StreamConfig) { c.Mirror = &jetstream.StreamSource{} },
		"copies":              func(c *jetstream.StreamConfig) { c.Sources = []*jetstream.StreamSource{{}} },
		"other subjects":      func(c *jetstream.StreamConfig) { c.Subjects = []string{"callboard.limits.>"} },
		"subject transform":   func(c *jetstream.StreamConfig) { c.SubjectTransform = &jetstream.SubjectTransformConfig{} },
	} {
		config := StreamConfig(1)
		if change(&config); CheckStream(config) == nil {
			t.Errorf("%s: error = nil, want one", name)
		}
	}

	// Storage and replicas are the operator's choice.
	config := StreamConfig(3)
	config.Storage, config.Description = jetstream.FileStorage, "ours"
	if err := CheckStream(config); err != nil {
		t.Errorf("three replicas in files: error = %v, want none", err)
	}
}
