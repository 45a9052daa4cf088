package limit

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/eventstest"
)

const (
	listReports = "listCallLogReports"
	dimensions  = "getCallLogReportDimensions"
)

// crowd asks 500 times at once, through limiters in turn, and counts the permits.
func crowd(t *testing.T, a Request, limiters ...*Limiter) int {
	t.Helper()
	var all sync.WaitGroup
	given := make(chan bool, 500)
	start := make(chan struct{})
	for i := range cap(given) {
		all.Go(func() {
			<-start
			given <- limiters[i%len(limiters)].Take(t.Context(), a).Allowed
		})
	}
	close(start)
	all.Wait()
	close(given)
	count := 0
	for ok := range given {
		if ok {
			count++
		}
	}
	return count
}

func TestTake_IsExactAcrossReaders(t *testing.T) {
	server := eventstest.NewServer(t)
	one, other := run(t, server.URL()), run(t, server.URL())
	for name, c := range map[string]struct {
		premium       bool
		report        string
		given, burned int // permits; of the tier
	}{
		"standard":           {given: 120, burned: 120},
		"standard, a report": {report: listReports, given: 120, burned: 120},
		"premium, a report":  {premium: true, report: listReports, given: 120, burned: 120},
		"premium":            {premium: true, given: 500, burned: 500},
	} {
		t.Run(name, func(t *testing.T) {
			a := Request{Lineage: uuid.New(), Premium: c.premium, Report: c.report}
			if given := crowd(t, a, one, other); given != c.given {
				t.Errorf("%d permits given, not %d", given, c.given)
			}
			ledger := one.standard
			if c.premium {
				ledger = one.premium
			}
			if burned := held(t, ledger, a.Lineage, tierPolicy); burned != c.burned {
				t.Errorf("%d permits of the tier burned, not %d", burned, c.burned)
			}
			a.Report = ""
			if given, left := took(t, other, a, ledger.tier), ledger.tier-c.burned; given != left {
				t.Errorf("then %d other permits given, not %d", given, left)
			}
		})
	}
}

func TestTake_MetersReportOperationsSeparately(t *testing.T) {
	l := run(t, eventstest.NewServer(t).URL())
	a := Request{Lineage: uuid.New(), Premium: true, Report: listReports}
	if given := took(t, l, a, 130); given != 120 {
		t.Errorf("%d of one", given)
	}
	a.Report = dimensions
	if given := took(t, l, a, 130); given != 120 {
		t.Errorf("%d of the other", given)
	}
	a.Report = ""
	if given := took(t, l, a, 400); given != 360 {
		t.Errorf("%d beside them", given)
	}
}

// A standard key's reports and all else share 120.
func TestTake_CountsReportsIntoTheTier(t *testing.T) {
	l := run(t, eventstest.NewServer(t).URL())
	key := uuid.New()
	first := took(t, l, Request{Lineage: key, Report: listReports}, 50)
	second := took(t, l, Request{Lineage: key, Report: dimensions}, 50)
	if rest := took(t, l, Request{Lineage: key}, 50); first != 50 || second != 50 || rest != 20 {
		t.Errorf("%d, %d, %d", first, second, rest)
	}
}

func TestTake_ARefusalBurnsNothing(t *testing.T) {
	server := eventstest.NewServer(t)
	l := run(t, server.URL())
	key := uuid.New()
	if given := took(t, l, Request{Lineage: key, Premium: true}, 600); given != 600 {
		t.Fatalf("%d given", given)
	}
	for range 5 {
		reader := run(t, server.URL()) // that doesn't know the key to be over its budget
		if given := took(t, reader, Request{Lineage: key, Premium: true, Report: listReports}, 3); given != 0 {
			t.Errorf("%d reports given", given)
		}
		if asked := counted(reader, refused); asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	}
	if burned := held(t, l.premium, key, listReports); burned != 0 {
		t.Errorf("%d permits of the report burned", burned)
	}
}

// A full report bucket refuses no other request.
func TestTake_AFullReportLeavesTheTierOpen(t *testing.T) {
	l := run(t, eventstest.NewServer(t).URL())
	a := Request{Lineage: uuid.New(), Premium: true, Report: listReports}
	took(t, l, a, 125)
	if counted(l, refusedLocally) != 4 {
		t.Error("the report was asked for again")
	}
	a.Report = ""
	if given := took(t, l, a, 10); given != 10 {
		t.Errorf("%d others given", given)
	}
}

func TestTake_LineagesShareNothing(t *testing.T) {
	l := run(t, eventstest.NewServer(t).URL())
	for range 3 {
		if given := took(t, l, Request{Lineage: uuid.New(), Report: listReports}, 121); given != 120 {
			t.Errorf("%d given", given)
		}
	}
}

func TestTake_DoesNotAskAgainForAKeyOverItsBudget(t *testing.T) {
	server := eventstest.NewServer(t)
	l := run(t, server.URL())
	a := Request{Lineage: uuid.New()}
	took(t, l, a, 1)
	seen := watch(t, server.URL())
	took(t, l, a, 120)
	asked := seen.count()
	if asked != 120 {
		t.Errorf("asked %d times", asked)
	}
	for range 1000 {
		if d := l.Take(t.Context(), a); d.Allowed || d.RetryAfter < 1 || d.RetryAfter > 60 {
			t.Fatalf("%+v", d)
		}
	}
	a.Report = listReports
	took(t, l, a, 10)
	if again := seen.count(); again != asked {
		t.Errorf("asked %d more times", again-asked)
	}
	if counted(l, refusedLocally) != 1010 {
		t.Errorf("%d refused without asking", counted(l, refusedLocally))
	}
}

func TestTake_OpensWhenAPermitComesBack(t *testing.T) {
	server := eventstest.NewServer(t)
	l, other := run(t, server.URL(), within(5*time.Second)), run(t, server.URL(), within(5*time.Second))
	a := Request{Lineage: uuid.New()}
	for _, reader := range []*Limiter{l, other} {
		eventually(t, "full", func() bool { return !reader.Take(t.Context(), a).Allowed })
	}
	eventually(t, "open", func() bool { return l.Take(t.Context(), a).Allowed })
	eventually(t, "open on the other reader", func() bool { return other.Take(t.Context(), a).Allowed })
	eventually(t, "forgotten", func() bool {
		l.sweep(time.Now())
		return l.idle()
	})
}

// Somebody else's batch is the only one that the server has room for, until it is complete.
func TestTake_TriesAgainWhatTheServerCannotDoNow(t *testing.T) {
	server := eventstest.NewServer(t, oneBatch)
	l := run(t, server.URL())
	a := Request{Lineage: uuid.New(), Report: listReports}
	took(t, l, a, 1)
	seen := watch(t, server.URL())
	batch := permits(l.standard.buckets(Request{Lineage: uuid.New(), Report: listReports}))
	bind(batch, "somebody's")
	publish := func(i int) {
		if err := seen.conn.PublishMsg(batch[i]); err != nil {
			t.Error(err)
		}
	}
	publish(0)
	seen.count()
	decided := make(chan *Decision)
	go func() { decided <- l.Take(t.Context(), a) }()
	eventually(t, "tried three times", func() bool { return seen.count() >= 1+3*len(batch) })
	publish(1)
	if d := <-decided; !d.Allowed {
		t.Errorf("%+v", d)
	}
	if burned := held(t, l.standard, a.Lineage, listReports); burned != 2 {
		t.Errorf("%d permits burned, not 2", burned)
	}
}

// A permit came back before the limiter looked why there was none.
func TestTake_TriesAgainWhatIsFullNoMore(t *testing.T) {
	l := run(t, eventstest.NewServer(t).URL())
	a := Request{Lineage: uuid.New(), Report: listReports}
	took(t, l, a, 1)
	r := &request{Limiter: l, ledger: l.standard, buckets: l.standard.buckets(a), deadline: time.Now().Add(patience)}
	ctx, cancel := context.WithDeadline(t.Context(), r.deadline)
	defer cancel()
	if d, err := r.decision(ctx, errFull); d != nil || err == nil || !l.idle() {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestTake_IsRefusedOnceNobodyWaits(t *testing.T) {
	var log logged
	server := eventstest.NewServer(t)
	l := run(t, server.URL(), logging(log.logger()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // until the server isn't quicker than the limiter looks
		if d := l.Take(ctx, Request{Lineage: uuid.New(), Report: listReports}); !d.Allowed && d.RetryAfter != 1 {
			t.Fatalf("%+v", d)
		}
	}
	if counted(l, abandoned) == 0 {
		t.Error("never abandoned")
	}
	if n := counted(l, unreachableRefused) + counted(l, unreachableAllowed); n != 0 || log.text() != "" {
		t.Errorf("taken for an outage %d times: %s", n, log.text())
	}
}

func TestNew_RefusesWhatCannotBeMetered(t *testing.T) {
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	for name, change := range map[string]func(*Config){
		"no JetStream":             func(c *Config) { c.JetStream = nil },
		"no permits":               func(c *Config) { c.Report = 0 },
		"less than none":           func(c *Config) { c.Standard = -1 },
		"more than fit in a batch": func(c *Config) { c.Premium = 1_000_000 },
	} {
		c := config(js)
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestTake_InADomain(t *testing.T) {
	server := eventstest.NewServer(t, inDomain("office"))
	conn := eventstest.Connect(t, server.URL())
	direct, err := jetstream.NewWithDomain(conn, "office")
	if err != nil {
		t.Fatal(err)
	}
	prefixed, err := jetstream.NewWithAPIPrefix(conn, "$JS.office.API")
	if err != nil {
		t.Fatal(err)
	}
	for name, js := range map[string]jetstream.JetStream{"domain": direct, "prefix": prefixed} {
		l := run(t, server.URL(), func(c *Config) { c.JetStream = js })
		if _, known := l.Take(t.Context(), Request{Lineage: uuid.New()}).RateLimit(); !known {
			t.Errorf("%s: nothing known", name)
		}
		if want := "$JS.office.API.DIRECT.GET.LIMITS_120_120"; l.standard.direct != want {
			t.Errorf("%s: asked at %s, not %s", name, l.standard.direct, want)
		}
	}
}
