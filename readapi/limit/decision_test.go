package limit

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events/eventstest"
)

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
			`"report";q=120;w=60, "tier";q=600;w=60`, `^"report";r=119;t=(60|5\d), "tier";r=599;t=(60|5\d)$`,
		},
		{Request{Lineage: key, Premium: true}, `"tier";q=600;w=60`, `^"tier";r=598;t=(60|5\d)$`},
		{
			Request{Lineage: key, Premium: true, Report: listReports},
			`"report";q=120;w=60, "tier";q=600;w=60`, `^"report";r=118;t=(60|5\d), "tier";r=597;t=(60|5\d)$`,
		},
		{Request{Lineage: key}, `"tier";q=120;w=60`, `^"tier";r=119;t=(60|5\d)$`},
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
	if got, _ := d.RateLimit(); !strings.HasPrefix(got, `"report";r=49;`) || !strings.Contains(got, `"tier";r=49;`) {
		t.Errorf("rate limit = %s, want 49 remaining in both policies", got)
	}
}

func TestDecision_HeadersOfRefusal(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL())
	r := Request{Lineage: uuid.New(), Premium: true, Report: listReports}
	countAllowed(t, l, r, 120)
	for _, want := range []string{
		`^"report";r=0;t=(60|5\d), "tier";r=480;t=(60|5\d)$`,
		`^"report";r=0;t=(60|5\d)$`, // NATS is not asked again, so only the blocked bucket is known
	} {
		d := l.Take(t.Context(), r)
		if text, known := d.RateLimit(); !known || !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("rate limit = %s, want %s", text, want)
		}
		if d.Allowed || d.RetryAfter < 50 || d.RetryAfter > 60 {
			t.Errorf("allowed = %t, retry after = %d, want a refusal for 50 to 60 s", d.Allowed, d.RetryAfter)
		}
		if got, want := d.RateLimitPolicy(), `"report";q=120;w=60, "tier";q=600;w=60`; got != want {
			t.Errorf("policy = %s, want %s", got, want)
		}
	}
}

// A handler often calls RateLimit after the decision's deadline. Replies that arrived before the deadline are used.
func TestDecision_RateLimitAfterDeadline(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL(), func(c *Config) { c.DecisionTimeout = time.Second })
	eventstest.Eventually(t, "a report allowed", func() bool {
		return l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed
	})
	d := l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports})
	deadline := time.Now().Add(l.decisionTimeout)
	eventstest.Eventually(t, "all replies delivered", l.idle)
	eventstest.Eventually(t, "the deadline", func() bool { return time.Now().After(deadline) })
	if got, _ := d.RateLimit(); !strings.Contains(got, reportPolicy) || !strings.Contains(got, tierPolicy) {
		t.Fatalf("rate limit = %q, want both policies", got)
	}
}

func TestRefuse_WaitsForFullBuckets(t *testing.T) {
	t.Parallel()
	in := func(seconds, remaining int) quota {
		return quota{remaining: remaining, next: time.Now().Add(time.Duration(seconds) * time.Second)}
	}
	for want, quotas := range map[int][]quota{
		1:    nil,
		2000: {in(2000, 0), in(4000, 3)},
		4000: {in(4000, 0), in(2000, 0)},
	} {
		if d := refuse("", quotas...); d.Allowed || d.RetryAfter > want || d.RetryAfter < want-int(patience.Seconds()) {
			t.Errorf("allowed = %t, retry after = %d, want a refusal for %d s", d.Allowed, d.RetryAfter, want)
		}
	}
}

func TestQuota_Text(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b := bucket{policy: "tier"}
	for want, q := range map[string]quota{
		`"tier";r=120`:      {bucket: b, remaining: 120},
		`"tier";r=0;t=1`:    {bucket: b, next: now.Add(-time.Second)},
		`"tier";r=7;t=12`:   {bucket: b, remaining: 7, next: now.Add(11*time.Second + 1)},
		`"tier";r=119;t=60`: {bucket: b, remaining: 119, next: now.Add(time.Minute)},
	} {
		if got := q.text(now); got != want {
			t.Errorf("text = %s, want %s", got, want)
		}
	}
}

// If a reply and the end of the context are both there, the reply counts.
func TestReceive_PrefersReply(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		replies := make(chan reply, 1)
		replies <- reply{message: &nats.Msg{}}
		if m, err := receive(ctx, replies); m == nil || err != nil {
			t.Fatalf("message = %v, error = %v, want the reply", m, err)
		}
	}
}
