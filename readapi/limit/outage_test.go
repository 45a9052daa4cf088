package limit

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/eventstest"
)

// Without NATS, reports are refused. Other requests are allowed up to the tier's allowance, which each reader counts.
func TestTake_WithoutNATS(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	server := eventstest.NewServer(t)
	l := startLimiter(t, server.URL(), withinAnHour, logTo(&log))
	key, full := uuid.New(), Request{Lineage: uuid.New()}
	if !l.Take(t.Context(), Request{Lineage: key}).Allowed || countAllowed(t, l, full, 121) != 120 {
		t.Fatal("want one request of a key, and 120 of another allowed by NATS")
	}
	server.Stop()
	eventstest.Eventually(t, "the limiter notices", func() bool { return !l.available() })

	d := l.Take(t.Context(), Request{Lineage: key, Report: CallLogReports})
	if _, known := d.RateLimit(); d.Allowed || d.RetryAfter != 1 || known {
		t.Errorf("report = %+v, want a refusal for 1 s without a quota", d)
	}
	if got := countAllowed(t, l, Request{Lineage: key}, 200); got != 120 {
		t.Errorf("standard requests allowed = %d, want 120", got)
	}
	if got := countAllowed(t, l, full, 10); got != 0 {
		t.Errorf("requests allowed of a budget that is used up = %d, want 0", got)
	}
	d = l.Take(t.Context(), Request{Lineage: key})
	if got, _ := d.RateLimit(); d.Allowed || d.RetryAfter != 60 || !strings.HasPrefix(got, `"tier";r=0;t=`) {
		t.Errorf("over the local limit: allowed = %t, retry after = %d, rate limit = %s, want a refusal for 60 s and r=0",
			d.Allowed, d.RetryAfter, got)
	}
	if got := l.decisions(refusedWithoutNATS); got != 82 || l.decisions(allowedWithoutNATS) != 120 {
		t.Errorf("refused = %d, allowed = %d, want 82 and 120", got, l.decisions(allowedWithoutNATS))
	}
	eventstest.Eventually(t, "the outage is logged", func() bool { return log.Contains("budgets unreachable") })
	if lines := log.Count("\n"); lines != 1 {
		t.Errorf("log lines = %d, want 1 about the outage:\n%s", lines, log.String())
	}
}

// Without Run, the first decision is made when its timeout ends, and all others at once.
func TestTake_BeforeRun(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, eventstest.NewServer(t).URL(), withTimeout(10*time.Millisecond))
	l.checkWithoutReply(t, uuid.New())
	if err := l.outage(); !errors.Is(err, errNoReply) {
		t.Errorf("outage = %v, want %v", err, errNoReply)
	}
}

func (l *Limiter) checkWithoutReply(t *testing.T, key uuid.UUID) {
	t.Helper()
	for range 10 {
		if d := l.Take(t.Context(), Request{Lineage: key, Report: CallLogReports}); d.Allowed || d.RetryAfter != 1 {
			t.Errorf("report: allowed = %t, retry after = %d, want a refusal for 1 s", d.Allowed, d.RetryAfter)
		}
		d := l.Take(t.Context(), Request{Lineage: key})
		if text, known := d.RateLimit(); !d.Allowed || !known {
			t.Errorf("allowed = %t, rate limit = %q, want an allowed request with a rate limit", d.Allowed, text)
		}
	}
}

// A stream that answers from any replica could answer with an old version.
func TestTake_IgnoresMisconfiguredStream(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	l := startLimiter(t, eventstest.NewServer(t).URL(), logTo(&log))
	awaitNATS(t, l)
	direct := StreamConfig(1)
	direct.AllowDirect = true
	if _, err := l.store.js.UpdateStream(t.Context(), direct); err != nil {
		t.Fatal(err)
	}
	l.check(t.Context())
	l.checkWithoutReply(t, uuid.New())
	if log.Count("\n") != 1 || !log.Contains("stream LIMITS: its settings do not count permits") {
		t.Errorf("log = %s, want one line about the stream", &log)
	}
}

// A version that another release has written is no empty one: the lineage is decided without NATS, and the version
// stays.
func TestTake_UnknownLayout(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	l := startLimiter(t, eventstest.NewServer(t).URL(), logTo(&log))
	awaitNATS(t, l)
	key, newer := uuid.New(), []byte{layout + 1, 0, 0}
	if _, err := l.store.js.Publish(t.Context(), subjectPrefix+key.String(), newer); err != nil {
		t.Fatal(err)
	}
	l.checkWithoutReply(t, key)
	awaitNATS(t, l) // decides about other lineages
	if _, err := l.store.load(t.Context(), key); !errors.Is(err, errMalformed) {
		t.Errorf("stored version: error = %v, want the newer one still there", err)
	}
	if !log.Contains("another release has written them") {
		t.Errorf("log = %s, want the reason", &log)
	}
}

// A server that does not reply costs the first request its timeout. Others are decided without asking it, until it
// replies again. A connection that accepts no more bytes blocks its writers, but no request.
func TestTake_WithStalledServer(t *testing.T) {
	t.Parallel()
	proxy := eventstest.NewProxy(t, eventstest.NewServer(t).URL())
	l := startLimiter(t, "nats://"+proxy.Addr(), withTimeout(time.Second))
	awaitNATS(t, l)
	resume := proxy.Pause()
	defer resume()
	var filling sync.WaitGroup
	filling.Go(func() {
		for range 64 {
			_ = l.store.js.Conn().Publish("elsewhere", make([]byte, 1<<19))
		}
	})
	l.checkWithoutReply(t, uuid.New())
	resume()
	filling.Wait()
	awaitNATS(t, l)
}

func TestRun_ConnectionClosed(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, eventstest.NewServer(t).URL())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(t.Context()) }()
	l.config.JetStream.Conn().Close()
	if err := <-ended; !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("error = %v, want %v", err, nats.ErrConnectionClosed)
	}
	l.checkWithoutReply(t, uuid.New())
}

// While the leader of the stream's replicas changes, no permit is given twice. Some may be lost with their
// acknowledgements.
func TestTake_LeaderChanges(t *testing.T) {
	eventstest.Long(t) // a new leader takes ten seconds
	t.Parallel()
	urls := eventstest.NewCluster(t).URL()
	conn := eventstest.Connect(t, urls)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	eventstest.Eventually(t, "the stream is created", func() bool {
		_, err := js.CreateStream(t.Context(), StreamConfig(3))
		return err == nil
	})
	var readers []*Limiter
	for range 4 {
		readers = append(readers, startLimiter(t, urls, withinAnHour))
	}
	for round := range 5 {
		r := Request{Lineage: uuid.New(), Report: CallLogReports}
		steppedDown := make(chan error, 1)
		go func() {
			_, err := conn.Request(jetstream.DefaultAPIPrefix+"STREAM.LEADER.STEPDOWN."+StreamName, nil, timeout)
			steppedDown <- err
		}()
		allowed := 0
		eventstest.Eventually(t, "the budget is used up", func() bool {
			allowed += takeAtOnce(t, slices.Repeat([]Request{r}, 200), readers...)[r]
			return storedPermits(t, readers[0], r.Lineage, CallLogReports) == 120
		})
		if err := <-steppedDown; err != nil {
			t.Fatal(err)
		}
		allowed += takeAtOnce(t, slices.Repeat([]Request{r}, 200), readers...)[r]
		if allowed > 120 {
			t.Errorf("round %d: allowed = %d, want 120 at most", round, allowed)
		}
	}
}
