package limit

import (
	"context"
	"regexp"
	"slices"
	"strings"
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
	var log eventstest.LogBuffer
	var readers []*Limiter
	server := eventstest.NewServer(t)
	for _, offset := range []time.Duration{0, time.Hour, -time.Hour, time.Minute} {
		readers = append(readers, startLimiter(t, server.URL(), withinAnHour, withClock(offset), logTo(&log)))
	}
	for range 5 {
		for _, c := range []struct {
			premium                     bool
			reports, dimensions, others int // requests
			tier                        int // permits of the tier that are taken
		}{
			{false, 0, 0, 500, 120},
			{false, 500, 0, 0, 120},
			{true, 500, 0, 0, 120},
			{false, 200, 200, 100, 120},
			{true, 200, 200, 300, 540},
			{true, 200, 200, 700, 600},
		} {
			key := uuid.New()
			report, dimension := Request{key, c.premium, CallLogReports}, Request{key, c.premium, Dimensions}
			other := Request{key, c.premium, NoReport}
			counts := takeAtOnce(t, slices.Concat(
				repeat(report, c.reports), repeat(dimension, c.dimensions), repeat(other, c.others)), readers...)
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
	if log.String() != "" {
		t.Errorf("log = %s, want none", &log)
	}
}

// The requests of a lineage that wait are decided in one write, and refusals of a full budget in none.
func TestTake_FewMessages(t *testing.T) {
	t.Parallel()
	const permits = 2500
	l := startLimiter(t, eventstest.NewServer(t).URL(), withinAnHour, func(c *Config) { c.Premium = permits })
	r := Request{Lineage: uuid.New(), Premium: true}
	if got := takeAtOnce(t, repeat(r, permits), l)[r]; got != permits {
		t.Errorf("allowed = %d, want %d", got, permits)
	}
	writes := storedVersion(t, l, r.Lineage).sequence
	if writes > permits/4 {
		t.Errorf("writes = %d for %d decisions, want far fewer", writes, permits)
	}
	r.Report = CallLogReports
	got := countAllowed(t, l, r, 50)
	if got != 0 || l.decisions(refusedLocally) != 50 || storedVersion(t, l, r.Lineage).sequence != writes {
		t.Errorf("allowed = %d, refused from memory = %d, want 0, 50 and no write", got, l.decisions(refusedLocally))
	}
}

// A full report budget leaves the tier's budget to other requests. The headers say what is left.
func TestDecision_Headers(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL(), withinAnHour, func(c *Config) { c.Report = 2 })
	key := uuid.New()
	for _, c := range []struct {
		request           Request
		policy, rateLimit string
	}{
		{
			Request{key, true, CallLogReports},
			`"report";q=2;w=60, "tier";q=600;w=60`, `^"report";r=1;t=60, "tier";r=599;t=60$`,
		},
		{Request{key, true, NoReport}, `"tier";q=600;w=60`, `^"tier";r=598;t=60$`},
		{
			Request{key, true, CallLogReports},
			`"report";q=2;w=60, "tier";q=600;w=60`, `^"report";r=0;t=60, "tier";r=597;t=60$`,
		},
		{
			Request{key, true, CallLogReports},
			`"report";q=2;w=60, "tier";q=600;w=60`, `^"report";r=0;t=60, "tier";r=597;t=60$`,
		},
		{
			Request{key, true, Dimensions},
			`"report";q=2;w=60, "tier";q=600;w=60`, `^"report";r=1;t=60, "tier";r=596;t=60$`,
		},
		{Request{key, false, NoReport}, `"tier";q=120;w=60`, `^"tier";r=115;t=60$`},
	} {
		d := l.Take(t.Context(), c.request)
		if policy := d.RateLimitPolicy(); policy != c.policy {
			t.Errorf("%+v: policy = %s, want %s", c.request, policy, c.policy)
		}
		if text, known := d.RateLimit(); !known || !regexp.MustCompile(c.rateLimit).MatchString(text) {
			t.Errorf("%+v: rate limit = %s, want %s", c.request, text, c.rateLimit)
		}
		if full := strings.Contains(c.rateLimit, "r=0"); !d.Allowed && (!full || d.RetryAfter != 60) {
			t.Errorf("%+v: refused, retry after = %d, want 60 of a full budget", c.request, d.RetryAfter)
		}
	}
}

// A report operation has no more permits than the tier.
func TestDecision_HeadersOfSmallTier(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, eventstest.NewServer(t).URL(), func(c *Config) { c.Premium = 50 })
	d := (&waiter{buckets: l.buckets(Request{Premium: true, Report: Dimensions})}).allow(allowed, nil)
	if got, want := d.RateLimitPolicy(), `"report";q=50;w=60, "tier";q=50;w=60`; got != want {
		t.Errorf("policy = %s, want %s", got, want)
	}
}

// Permits return on every reader, by the server's clock.
func TestTake_PermitsReturn(t *testing.T) {
	t.Parallel()
	readers := startLimiters(t, eventstest.NewServer(t).URL(), 2, func(c *Config) {
		c.Report, c.tick = 5, 30*time.Microsecond // a minute takes 1.8 s
	})
	r := Request{Lineage: uuid.New(), Report: CallLogReports}
	for _, reader := range readers {
		eventstest.Eventually(t, "a refusal", func() bool { return !reader.Take(t.Context(), r).Allowed })
		eventstest.Eventually(t, "an allowed request", func() bool { return reader.Take(t.Context(), r).Allowed })
	}
}

func TestTake_RefusesWhenClientIsGone(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	l := startLimiter(t, eventstest.NewServer(t).URL(), logTo(&log))
	awaitNATS(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // some decisions are made before the limiter looks at the context
		if d := l.Take(ctx, Request{Lineage: uuid.New(), Report: CallLogReports}); !d.Allowed && d.RetryAfter != 1 {
			t.Fatalf("retry after = %d, want 1", d.RetryAfter)
		}
	}
	if l.decisions(abandoned) == 0 {
		t.Error("abandoned = 0, want at least 1")
	}
	if got := l.withoutNATS(); got != 0 || log.String() != "" {
		t.Errorf("decisions without NATS = %d, want 0; log:\n%s", got, log.String())
	}
}

// Counters are forgotten after two minutes without a request.
func TestLimiter_ForgetsUnusedCounters(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, eventstest.NewServer(t).URL())
	began := time.Now()
	for range 100 {
		l.lineage(uuid.New())
	}
	for _, c := range []struct {
		at   time.Time
		want int
	}{{began.Add(keep - time.Second), 100}, {time.Now().Add(keep + time.Second), 0}} {
		if l.prune(c.at); len(l.lineages) != c.want {
			t.Errorf("counters in memory %s later = %d, want %d", c.at.Sub(began), len(l.lineages), c.want)
		}
	}
}

// A reader that has too many requests of one lineage decides further ones by itself.
func TestLineage_BoundsItsQueue(t *testing.T) {
	t.Parallel()
	var k lineage
	for i := range maxWaiting + 1 {
		if _, ok := k.enqueue(&waiter{}); ok != (i < maxWaiting) {
			t.Fatalf("request %d: waits = %t", i, ok)
		}
	}
}

func TestNew_RefusesInvalidConfig(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	for name, change := range map[string]func(*Config){
		"no JetStream":       func(c *Config) { c.JetStream = nil },
		"no permits":         func(c *Config) { c.Report = 0 },
		"negative allowance": func(c *Config) { c.Standard = -1 },
	} {
		c := testConfig(js)
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: error = nil", name)
		}
	}
}

// The stream that an operator creates is the one that limiters use.
func TestCheckStream(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	for name, c := range map[string]struct {
		change func(*jetstream.StreamConfig)
		counts bool
	}{
		"as created":          {func(*jetstream.StreamConfig) {}, true},
		"storage":             {func(c *jetstream.StreamConfig) { c.Storage = jetstream.FileStorage }, true},
		"description":         {func(c *jetstream.StreamConfig) { c.Description = "ours" }, true},
		"longer retention":    {func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, false},
		"several versions":    {func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject++ }, false},
		"discard new":         {func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardNew }, false},
		"direct reads":        {func(c *jetstream.StreamConfig) { c.AllowDirect = true }, false},
		"no acknowledgements": {func(c *jetstream.StreamConfig) { c.NoAck = true }, false},
		"few messages":        {func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 }, false},
		"few bytes":           {func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, false},
		"small messages":      {func(c *jetstream.StreamConfig) { c.MaxMsgSize = 100 }, false},
		"interest retention":  {func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }, false},
		"republishes": {func(c *jetstream.StreamConfig) {
			c.RePublish = &jetstream.RePublish{Destination: "x.>"}
		}, false},
		"copies": {func(c *jetstream.StreamConfig) {
			c.Sources = []*jetstream.StreamSource{{Name: "PHONES"}}
		}, false},
		"other subjects": {func(c *jetstream.StreamConfig) { c.Subjects = []string{"callboard.limits.>"} }, false},
		"subject transform": {func(c *jetstream.StreamConfig) {
			c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: ">", Destination: "x.>"}
		}, false},
	} {
		config := StreamConfig(1)
		c.change(&config)
		config.Name = strings.ReplaceAll(name, " ", "_") // the server may still remove a deleted stream's folder
		stream, err := js.CreateStream(t.Context(), config)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := CheckStream(stream.CachedInfo().Config); (err == nil) != c.counts {
			t.Errorf("%s: error = %v, counts permits: %t", name, err, c.counts)
		}
		if err := js.DeleteStream(t.Context(), config.Name); err != nil {
			t.Fatal(err)
		}
	}
	if err := CheckStream(StreamConfig(3)); err != nil {
		t.Errorf("replicas: error = %v, want none", err)
	}
}
