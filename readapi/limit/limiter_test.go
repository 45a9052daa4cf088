package limit

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/eventstest"
)

// Of 500 requests of one key at once, over several readers, exactly the budget is allowed.
func TestTake_ExactAcrossReaders(t *testing.T) {
	t.Parallel()
	readers := startLimiters(t, eventstest.NewServer(t).URL(), 5)
	for round := range 20 {
		for name, c := range map[string]struct {
			request Request
			allowed int
		}{
			"standard":           {Request{}, 120},
			"standard, a report": {Request{Report: listReports}, 120},
			"premium, a report":  {Request{Premium: true, Report: listReports}, 120},
			"premium":            {Request{Premium: true}, 500},
		} {
			c.request.Lineage = uuid.New()
			if got := takeAtOnce(t, repeat(c.request, 500), readers...)[c.request]; got != c.allowed {
				t.Errorf("round %d, %s: allowed = %d of 500, want %d", round, name, got, c.allowed)
			}
			if got := storedPermits(t, readers[0], c.request.Lineage, tierPolicy); got != c.allowed {
				t.Errorf("round %d, %s: stored permits = %d, want %d", round, name, got, c.allowed)
			}
		}
	}
	for i, r := range readers {
		if got := r.decisions(unreachableRefused) + r.decisions(unreachableAllowed); got != 0 {
			t.Errorf("reader %d: decisions without NATS = %d, want 0", i, got)
		}
	}
}

// Reports of both operations and other requests share the tier's budget, and each operation has a separate one.
func TestTake_ExactForMixedRequests(t *testing.T) {
	t.Parallel()
	readers := startLimiters(t, eventstest.NewServer(t).URL(), 4)
	for _, c := range []struct {
		premium bool
		others  int
		tier    int // permits of the tier that are taken
	}{{false, 100, 120}, {true, 300, 540}, {true, 700, 600}} {
		key := uuid.New()
		report, other := Request{key, c.premium, listReports}, Request{key, c.premium, ""}
		dimension := Request{key, c.premium, dimensions}
		counts := takeAtOnce(t, slices.Concat(repeat(report, 200), repeat(dimension, 200), repeat(other, c.others)), readers...)
		if got := counts[report] + counts[dimension] + counts[other]; got != c.tier || counts[report] > 120 || counts[dimension] > 120 {
			t.Errorf("allowed = %v, want %d in all, and 120 of each report at most", counts, c.tier)
		}
		for name, want := range map[string]int{listReports: counts[report], dimensions: counts[dimension], tierPolicy: c.tier} {
			if got := storedPermits(t, readers[0], key, name); got != want {
				t.Errorf("stored permits of %s = %d, want %d", name, got, want)
			}
		}
	}
}

// A refusal changes nothing, in whichever reader it is made.
func TestTake_RefusalTakesNoPermit(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	l := startLimiter(t, server.URL(), withWindow(time.Hour))
	key := uuid.New()
	if got := countAllowed(t, l, Request{Lineage: key, Premium: true}, 600); got != 600 {
		t.Fatalf("allowed = %d, want 600", got)
	}
	before := storedLog(t, l, key).sequence
	for range 5 {
		reader := startLimiter(t, server.URL(), withWindow(time.Hour), refuseFromMemory) // does not know yet that the key is over its budget
		if got := countAllowed(t, reader, Request{Lineage: key, Premium: true, Report: listReports}, 3); got != 0 {
			t.Errorf("reports allowed = %d, want 0", got)
		}
		if refused, fromMemory := reader.decisions(refused), reader.decisions(refusedLocally); refused != 1 || fromMemory != 2 {
			t.Errorf("refused = %d, from memory = %d, want 1 and 2", refused, fromMemory)
		}
	}
	if got := storedLog(t, l, key).sequence; got != before {
		t.Errorf("sequence = %d, want %d as before the refusals", got, before)
	}
}

func TestTake_FullReportBucketAllowsOtherRequests(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL(), refuseFromMemory)
	r := Request{Lineage: uuid.New(), Premium: true, Report: listReports}
	countAllowed(t, l, r, 125)
	if got := l.decisions(refusedLocally); got != 5 {
		t.Errorf("refused from memory = %d, want 5", got)
	}
	r.Report = ""
	if got := countAllowed(t, l, r, 10); got != 10 {
		t.Errorf("other requests allowed = %d, want 10", got)
	}
}

// Readers with different allowances share a log, and each holds its own limit.
func TestTake_DifferentAllowances(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	small := startLimiter(t, server.URL(), withWindow(time.Hour), func(c *Config) { c.Premium = 200 })
	large := startLimiter(t, server.URL(), withWindow(time.Hour), func(c *Config) { c.Premium = 120_000 })
	r := Request{Lineage: uuid.New(), Premium: true}
	for _, c := range []struct {
		reader         *Limiter
		requests, want int
	}{{large, 150, 150}, {small, 60, 50}, {large, 300, 300}, {small, 10, 0}} {
		if got := countAllowed(t, c.reader, r, c.requests); got != c.want {
			t.Errorf("premium = %d: allowed = %d of %d, want %d", c.reader.premium, got, c.requests, c.want)
		}
	}
	if text, _ := small.Take(t.Context(), r).RateLimit(); !regexp.MustCompile(`^"tier";r=0;t=\d+$`).MatchString(text) {
		t.Errorf("rate limit = %s, want none remaining", text)
	}
}

// The requests of a lineage that wait are decided in one write.
func TestTake_CombinesRequests(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL(), func(c *Config) { c.Premium = 100_000 })
	const requests = 5000
	r := Request{Lineage: uuid.New(), Premium: true}
	if got := takeAtOnce(t, repeat(r, requests/2), l)[r] + takeAtOnce(t, repeat(r, requests/2), l)[r]; got != requests {
		t.Errorf("allowed = %d, want %d", got, requests)
	}
	if got := l.written(writeStored); got > requests/4 {
		t.Errorf("writes = %d for %d decisions, want far fewer", got, requests)
	}
}

func TestTake_AllowsAgainWhenPermitReturns(t *testing.T) {
	t.Parallel()
	readers := startLimiters(t, eventstest.NewServer(t).URL(), 2, withWindow(2*time.Second), func(c *Config) { c.Report = 5 })
	r := Request{Lineage: uuid.New(), Report: listReports}
	for _, reader := range readers {
		taken := 0
		for reader.Take(t.Context(), r).Allowed {
			if taken++; taken > 100 {
				t.Fatalf("allowed = %d one after the other, want a refusal after 5", taken)
			}
		}
	}
	for _, reader := range readers {
		eventstest.Eventually(t, "an allowed request", func() bool { return reader.Take(t.Context(), r).Allowed })
	}
}

// Readers whose clocks are wrong by an hour count like the others.
func TestTake_WrongLocalClock(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	var log eventstest.LogBuffer
	var readers []*Limiter
	for _, offset := range []time.Duration{0, time.Hour, -time.Hour} {
		readers = append(readers, startLimiter(t, server.URL(), withClock(offset), logTo(&log)))
	}
	awaitExactClocks(t, readers...)
	r := Request{Lineage: uuid.New()}
	if got := takeAtOnce(t, repeat(r, 500), readers...)[r]; got != 120 {
		t.Errorf("allowed = %d, want 120", got)
	}
	for i, reader := range readers {
		if d := reader.Take(t.Context(), r); d.Allowed || d.RetryAfter < 1 || d.RetryAfter > 60 {
			t.Errorf("reader %d: allowed = %t, retry after = %d, want a refusal for 1 to 60 s", i, d.Allowed, d.RetryAfter)
		}
	}
	if log.String() != "" {
		t.Errorf("log = %s, want none", &log)
	}
}

func TestTake_RefusesWhenClientIsGone(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	l := startLimiter(t, eventstest.NewServer(t).URL(), logTo(&log))
	countAllowed(t, l, Request{Lineage: uuid.New()}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // some decisions are made before the limiter looks at the context
		if d := l.Take(ctx, Request{Lineage: uuid.New(), Report: listReports}); !d.Allowed && d.RetryAfter != 1 {
			t.Fatalf("retry after = %d, want 1", d.RetryAfter)
		}
	}
	if l.decisions(abandoned) == 0 {
		t.Error("abandoned = 0, want at least 1")
	}
	if got := l.decisions(unreachableRefused) + l.decisions(unreachableAllowed); got != 0 || log.String() != "" {
		t.Errorf("decisions without NATS = %d, want 0; log:\n%s", got, log.String())
	}
}

// Logs are forgotten after two minutes without a request.
func TestLimiter_ForgetsUnusedLogs(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL())
	began := time.Now()
	for range 100 {
		countAllowed(t, l, Request{Lineage: uuid.New()}, 1)
	}
	for _, c := range []struct {
		at   time.Time
		want int
	}{{began.Add(keep - time.Second), 100}, {time.Now().Add(keep + time.Second), 0}} {
		l.prune(c.at)
		l.mu.Lock()
		got := len(l.lineages)
		l.mu.Unlock()
		if got != c.want {
			t.Errorf("logs in memory %s after the first request = %d, want %d", c.at.Sub(began), got, c.want)
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
	r := Request{Lineage: uuid.New()}
	for i, js := range []jetstream.JetStream{domain, prefix} {
		l := startLimiter(t, url, func(c *Config) { c.JetStream = js })
		if !l.Take(t.Context(), r).Allowed || l.decisions(allowed) != 1 {
			t.Error("allowed = false, want a decision by NATS")
		}
		if got := storedPermits(t, l, r.Lineage, tierPolicy); got != i+1 {
			t.Errorf("stored permits = %d, want %d", got, i+1)
		}
	}
}

func TestDecision_Headers(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL())
	key := uuid.New()
	for _, c := range []struct {
		request           Request
		policy, rateLimit string
	}{
		{
			Request{Lineage: key, Premium: true, Report: listReports},
			`"report";q=120;w=60, "tier";q=600;w=60`, `^"report";r=119;t=([1-5]?\d|60), "tier";r=599;t=([1-5]?\d|60)$`,
		},
		{Request{Lineage: key, Premium: true}, `"tier";q=600;w=60`, `^"tier";r=598;t=([1-5]?\d|60)$`},
		{
			Request{Lineage: key, Premium: true, Report: listReports},
			`"report";q=120;w=60, "tier";q=600;w=60`, `^"report";r=118;t=([1-5]?\d|60), "tier";r=597;t=([1-5]?\d|60)$`,
		},
		{Request{Lineage: key}, `"tier";q=120;w=60`, `^"tier";r=116;t=([1-5]?\d|60)$`},
	} {
		d := l.Take(t.Context(), c.request)
		if policy := d.RateLimitPolicy(); policy != c.policy {
			t.Errorf("%+v: policy = %s, want %s", c.request, policy, c.policy)
		}
		if text, known := d.RateLimit(); !known || !regexp.MustCompile(c.rateLimit).MatchString(text) {
			t.Errorf("%+v: rate limit = %s, want %s", c.request, text, c.rateLimit)
		}
	}
}

// A report operation's limit is never larger than the tier's allowance.
func TestDecision_HeadersOfSmallTier(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL(), func(c *Config) { c.Premium = 50 })
	d := l.Take(t.Context(), Request{Lineage: uuid.New(), Premium: true, Report: listReports})
	if got, want := d.RateLimitPolicy(), `"report";q=50;w=60, "tier";q=50;w=60`; got != want {
		t.Errorf("policy = %s, want %s", got, want)
	}
	if got, _ := d.RateLimit(); !regexp.MustCompile(`^"report";r=49;.*"tier";r=49;`).MatchString(got) {
		t.Errorf("rate limit = %s, want 49 remaining in both policies", got)
	}
}

func TestRefuse_WaitsForFullBuckets(t *testing.T) {
	t.Parallel()
	in := func(seconds, remaining int) quota {
		return quota{remaining: remaining, wait: time.Duration(seconds) * time.Second}
	}
	for want, quotas := range map[int][]quota{
		1:    nil,
		2000: {in(2000, 0), in(4000, 3)},
		4000: {in(4000, 0), in(2000, 0)},
	} {
		if d := new(waiter).refuse(quotas); d.Allowed || d.RetryAfter != want {
			t.Errorf("allowed = %t, retry after = %d, want a refusal for %d s", d.Allowed, d.RetryAfter, want)
		}
	}
}

func TestQuota_Text(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]quota{
		`"tier";r=120`:      {remaining: 120},
		`"tier";r=0;t=1`:    {wait: 1},
		`"tier";r=7;t=12`:   {remaining: 7, wait: 11*time.Second + 1},
		`"tier";r=119;t=60`: {remaining: 119, wait: time.Minute},
	} {
		if q.policy = tierPolicy; q.text() != want {
			t.Errorf("text = %s, want %s", q.text(), want)
		}
	}
}

// A sample replaces a former one unless that one is more exact.
func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(asked, answered, server time.Duration) *sample {
		return &sample{asked: now.Add(asked), answered: now.Add(answered), server: now.Add(server)}
	}
	for name, c := range map[string]struct {
		former, next *sample
		kept         bool // the former one
	}{
		"a slow reply":     {at(-2, -1, -1), at(-1000, 0, -600), true},
		"a fast reply":     {at(-2000, -1000, -1600), at(-2, -1, -1), false},
		"the clock is set": {at(-2000, -1000, time.Hour), at(-2, -1, -1), false},
	} {
		clock := clock{local: func() time.Time { return now }}
		clock.add(c.former)
		clock.add(c.next)
		if got := clock.sample.Load() == c.former; got != c.kept {
			t.Errorf("%s: former sample kept = %t, want %t", name, got, c.kept)
		}
		if s := clock.sample.Load(); s.earliest(now).After(s.latest(now)) {
			t.Errorf("%s: earliest %s after latest %s", name, s.earliest(now), s.latest(now))
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
		"longer window":       {func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, false},
		"several versions":    {func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject++ }, false},
		"discard new":         {func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardNew }, false},
		"direct reads":        {func(c *jetstream.StreamConfig) { c.AllowDirect = true }, false},
		"no acknowledgements": {func(c *jetstream.StreamConfig) { c.NoAck = true }, false},
		"few logs":            {func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 }, false},
		"few bytes":           {func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, false},
		"small logs":          {func(c *jetstream.StreamConfig) { c.MaxMsgSize = 100 }, false},
		"interest retention":  {func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }, false},
		"republishes":         {func(c *jetstream.StreamConfig) { c.RePublish = &jetstream.RePublish{Destination: "x.>"} }, false},
		"copies":              {func(c *jetstream.StreamConfig) { c.Sources = []*jetstream.StreamSource{{Name: "PHONES"}} }, false},
		"other subjects":      {func(c *jetstream.StreamConfig) { c.Subjects = []string{"callboard.limits.>"} }, false},
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
	replicated := StreamConfig(3)
	if err := CheckStream(replicated); err != nil {
		t.Errorf("replicas: error = %v, want none", err)
	}
}

// A stream with a limit on its logs keeps no log for as long as its permits count.
func TestLineage_ForgetsLogThatTheServerRemoved(t *testing.T) {
	t.Parallel()
	k := lineage{window: minute, sequence: 7, log: permitLog{origin: 9, newest: 5000}}
	for _, c := range []struct {
		now      tick
		expected uint64
	}{{5000 + 650, 7}, {5000 + 700, 0}} {
		k.waiting = []*waiter{{buckets: tierOf3, decided: make(chan result, 1)}}
		w := k.next(c.now, c.now, writer{1, 2}, 3)
		if w.expected != c.expected || (w.log.origin == 3) != (c.expected == 0) {
			t.Errorf("at %d: expected sequence = %d, origin = %d, want %d", c.now, w.expected, w.log.origin, c.expected)
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
