package limit

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events/eventstest"
)

func TestDecision_Headers(t *testing.T) {
	l := run(t, eventstest.NewServer(t).URL())
	key := uuid.New()
	for _, c := range []struct {
		ask              Request
		policy, standing string
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
		d := l.Take(t.Context(), c.ask)
		if policy := d.RateLimitPolicy(); policy != c.policy {
			t.Errorf("%+v: %s", c.ask, policy)
		}
		if text, known := d.RateLimit(); !known || !regexp.MustCompile(c.standing).MatchString(text) {
			t.Errorf("%+v: %s", c.ask, text)
		}
	}
}

// The smaller allowance is what binds, and what is said.
func TestDecision_HeadersOfASmallTier(t *testing.T) {
	l := run(t, eventstest.NewServer(t).URL(), func(c *Config) { c.Premium = 50 })
	d := l.Take(t.Context(), Request{Lineage: uuid.New(), Premium: true, Report: listReports})
	if policy := d.RateLimitPolicy(); policy != `"report";q=50;w=60, "tier";q=50;w=60` {
		t.Errorf("%s", policy)
	}
	if text, _ := d.RateLimit(); !strings.HasPrefix(text, `"report";r=49;`) || !strings.Contains(text, `"tier";r=49;`) {
		t.Errorf("%s", text)
	}
}

func TestDecision_HeadersOfARefusal(t *testing.T) {
	l := run(t, eventstest.NewServer(t).URL())
	a := Request{Lineage: uuid.New(), Premium: true, Report: listReports}
	took(t, l, a, 120)
	for _, want := range []string{
		`^"report";r=0;t=(60|5\d), "tier";r=480;t=(60|5\d)$`,
		`^"report";r=0;t=(60|5\d)$`, // not asked again: all that is known
	} {
		d := l.Take(t.Context(), a)
		if text, known := d.RateLimit(); !known || !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("%s, not %s", text, want)
		}
		if d.Allowed || d.RetryAfter < 50 || d.RetryAfter > 60 || d.RateLimitPolicy() != `"report";q=120;w=60, "tier";q=600;w=60` {
			t.Errorf("%+v, %s", d, d.RateLimitPolicy())
		}
	}
}

// A handler takes longer than a decision; the answer that came meanwhile is there.
func TestDecision_StandingIsKnownLater(t *testing.T) {
	l := run(t, eventstest.NewServer(t).URL(), func(c *Config) { c.DecisionTimeout = time.Second })
	eventually(t, "given", func() bool { return l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed })
	for range 4 {
		d := l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports})
		late := time.Now().Add(l.decisionTimeout)
		eventually(t, "answered", l.idle)
		eventually(t, "late", func() bool { return time.Now().After(late) })
		if text, _ := d.RateLimit(); !strings.Contains(text, reportPolicy) || !strings.Contains(text, tierPolicy) {
			t.Fatalf("%q", text)
		}
	}
}

func TestRefuse_WaitsForWhatIsFull(t *testing.T) {
	in := func(seconds, remaining int) standing {
		return standing{remaining: remaining, opens: time.Now().Add(time.Duration(seconds) * time.Second)}
	}
	for want, standings := range map[int][]standing{
		1:    nil,
		2000: {in(2000, 0), in(4000, 3)},
		4000: {in(4000, 0), in(2000, 0)},
	} {
		if d := refuse("", standings...); d.Allowed || d.RetryAfter > want || d.RetryAfter < want-int(patience.Seconds()) {
			t.Errorf("%d, not %d", d.RetryAfter, want)
		}
	}
}

func TestStanding_Text(t *testing.T) {
	now := time.Now()
	b := bucket{policy: "tier"}
	for want, s := range map[string]standing{
		`"tier";r=120`:      {bucket: b, remaining: 120},
		`"tier";r=0;t=1`:    {bucket: b, opens: now.Add(-time.Second)},
		`"tier";r=7;t=12`:   {bucket: b, remaining: 7, opens: now.Add(11*time.Second + 1)},
		`"tier";r=119;t=60`: {bucket: b, remaining: 119, opens: now.Add(time.Minute)},
	} {
		if text := s.text(now); text != want {
			t.Errorf("%s, not %s", text, want)
		}
	}
}

// Before somebody made the stream's subjects smaller, they held more.
func TestLedger_StandingIsNeverNegative(t *testing.T) {
	l, err := newLedger(Config{JetStream: eventstest.JetStream(t, eventstest.NewServer(t).URL()), Report: 120, window: time.Minute}, 120)
	if err != nil {
		t.Fatal(err)
	}
	m := &nats.Msg{Header: nats.Header{
		"Nats-Num-Pending": {"200"}, "Nats-Time-Stamp": {time.Now().UTC().Format(time.RFC3339Nano)},
	}}
	if s, ok := l.standing(l.buckets(Request{})[0], m); !ok || s.remaining != 0 {
		t.Errorf("%+v, %v", s, ok)
	}
}

// The server's clock is an hour ahead, and has no part in how long to wait.
func TestLedger_OpensByTheServersClock(t *testing.T) {
	l, err := newLedger(Config{JetStream: eventstest.JetStream(t, eventstest.NewServer(t).URL()), Report: 120, window: time.Minute}, 120)
	if err != nil {
		t.Fatal(err)
	}
	here := time.Now()
	l.clock.Store(&clock{server: here.Add(time.Hour), here: here})
	if opens, want := l.opens(here.Add(time.Hour-30*time.Second)), here.Add(30*time.Second+expiryLag); !opens.Equal(want) {
		t.Errorf("%s from now, not %s", opens.Sub(here), want.Sub(here))
	}
	if opens := l.opens(here.Add(2 * time.Hour)); opens.Sub(here) > time.Minute+patience {
		t.Errorf("%s from now", opens.Sub(here))
	}
	if err := l.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if off := time.Until(l.clock.Load().toHere(time.Now())).Abs(); off > prepareTime {
		t.Errorf("off by %s, on one machine", off)
	}
}
