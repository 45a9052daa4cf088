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

	for _, premium := range []bool{false, true} {
		d := l.Take(t.Context(), Request{Lineage: key, Premium: premium, Report: CallLogReports})
		if _, known := d.RateLimit(); d.Allowed || d.RetryAfter != 1 || known {
			t.Errorf("premium = %t: report = %+v, want a refusal for 1 s without a quota", premium, d)
		}
	}
	if got := countAllowed(t, l, Request{Lineage: key}, 200); got != 120 {
		t.Errorf("standard requests allowed = %d, want 120", got)
	}
	if got := countAllowed(t, l, Request{Lineage: uuid.New(), Premium: true}, 700); got != 600 {
		t.Errorf("premium requests allowed = %d, want 600", got)
	}
	if got := countAllowed(t, l, full, 10); got != 0 {
		t.Errorf("requests allowed of a budget that is used up = %d, want 0", got)
	}
	d := l.Take(t.Context(), Request{Lineage: key})
	if got, _ := d.RateLimit(); d.Allowed || d.RetryAfter != 60 || !strings.HasPrefix(got, `"tier";r=0;t=`) {
		t.Errorf("over the local limit: allowed = %t, retry after = %d, rate limit = %s, want a refusal for 60 s and r=0",
			d.Allowed, d.RetryAfter, got)
	}
	if got := l.decisions(unreachableRefused); got != 183 || l.decisions(unreachableAllowed) != 720 {
		t.Errorf("refused = %d, allowed = %d, want 183 and 720", got, l.decisions(unreachableAllowed))
	}
	eventstest.Eventually(t, "the outage is logged", func() bool { return log.Contains("budgets unreachable") })
	if lines := log.Count("\n"); lines != 1 {
		t.Errorf("log lines = %d, want 1 about the outage:\n%s", lines, log.String())
	}
}

// The stream is in memory, so a restart of NATS removes the counters. What a reader remembers counts on, for all.
func TestTake_RestartOfNATS(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	readers := startLimiters(t, server.URL(), 2, withinAnHour)
	full, half := Request{Lineage: uuid.New(), Report: CallLogReports}, Request{Lineage: uuid.New()}
	for _, reader := range readers {
		awaitNATS(t, reader)
		countByNATS(t, reader, full, 100)
		countByNATS(t, reader, half, 30)
	}
	countByNATS(t, readers[0], full, 1) // from now on, this reader knows that the budget is used up
	for range 2 {
		server.Restart()
		for i, reader := range readers {
			awaitNATS(t, reader)
			if got := countByNATS(t, reader, full, 10); got != 0 {
				t.Errorf("reader %d: allowed = %d of a budget that is used up, want 0", i, got)
			}
		}
	}

	// The second reader wrote last, so it knows all 60 permits.
	for _, c := range []struct {
		reader *Limiter
		want   int
	}{{readers[1], 60}, {readers[0], 0}, {startLimiter(t, server.URL(), withinAnHour), 0}} {
		awaitNATS(t, c.reader)
		if got := countByNATS(t, c.reader, half, 120); got != c.want {
			t.Errorf("allowed = %d, want %d", got, c.want)
		}
	}
}

// A sequence of the stream before a restart can be another reader's in the stream after it. It is no longer expected.
func TestTake_SequenceOfAnotherStream(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	readers := startLimiters(t, server.URL(), 2, withinAnHour)
	r := Request{Lineage: uuid.New()}
	countAllowed(t, readers[0], Request{Lineage: uuid.New()}, 100)
	countAllowed(t, readers[0], r, 1)
	remembered := storedVersion(t, readers[0], r.Lineage).sequence
	server.Restart()
	for _, reader := range readers {
		awaitNATS(t, reader)
	}

	taken := 0
	for ; storedVersion(t, readers[1], r.Lineage).sequence < remembered; taken++ {
		countAllowed(t, readers[1], r, 1)
	}
	countAllowed(t, readers[0], r, 1)
	if got := storedPermits(t, readers[0], r.Lineage, NoReport); got <= taken {
		t.Errorf("stored permits = %d, want more than the %d of the other reader", got, taken)
	}
}

func (l *Limiter) deleteStream(t *testing.T) {
	t.Helper()
	if err := l.store.js.DeleteStream(t.Context(), StreamName); err != nil {
		t.Fatal(err)
	}
}

// A subscriber to the counters' subjects keeps the server from replying that nobody received a write.
func TestTake_CreatesMissingStream(t *testing.T) {
	t.Parallel()
	for name, subscribed := range map[string]bool{"alone": false, "with a subscriber": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := eventstest.NewServer(t)
			if subscribed {
				conn := eventstest.Connect(t, server.URL())
				if _, err := conn.SubscribeSync(anyLineage); err != nil {
					t.Fatal(err)
				}
				if err := conn.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			l := startLimiter(t, server.URL(), withTimeout(2*time.Second))
			for range 2 {
				awaitNATS(t, l)
				l.deleteStream(t)
			}
		})
	}
}

// Without Run, the first decision is made when its timeout ends, and all others at once.
func TestTake_BeforeRun(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, eventstest.NewServer(t).URL(), withTimeout(10*time.Millisecond))
	l.checkWithoutReply(t, uuid.New())
	if _, err := l.breaker.state(); !errors.Is(err, errNoReply) {
		t.Errorf("breaker: error = %v, want %v", err, errNoReply)
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
	l.deleteStream(t)
	awaitNATS(t, l)
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
	if _, err := l.store.load(t.Context(), key, timeout); !errors.Is(err, errMalformed) {
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

// A request whose acknowledgement is lost has used its permit, whether it is allowed or not. If another reader writes
// before it asks again, it uses a second one.
func TestTake_LostAcknowledgement(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	proxy := eventstest.NewProxy(t, server.URL())
	other := startLimiter(t, server.URL(), withinAnHour)
	l := startLimiter(t, "nats://"+proxy.Addr(), withinAnHour, withTimeout(2*time.Second))
	awaitNATS(t, other)
	for _, others := range []int{0, 5, 0, 5} {
		awaitNATS(t, l)
		r := Request{Lineage: uuid.New(), Report: CallLogReports}
		restore := proxy.LoseReplies()
		decided := make(chan *Decision, 1)
		go func() { decided <- l.Take(t.Context(), r) }()
		eventstest.Eventually(t, "the write is stored", func() bool {
			return storedPermits(t, other, r.Lineage, CallLogReports) == 1
		})
		countAllowed(t, other, r, others)
		restore()
		<-decided

		used := storedPermits(t, other, r.Lineage, CallLogReports)
		if least, most := 1+others, 1+others+min(1, others); used < least || used > most {
			t.Errorf("stored permits = %d, want %d to %d", used, least, most)
		}
		if got := countAllowed(t, other, r, 200); got != 120-used {
			t.Errorf("allowed afterwards = %d, want %d", got, 120-used)
		}
	}
}

func TestRun_ConnectionClosed(t *testing.T) {
	t.Parallel()
	js := connect(t, eventstest.NewServer(t).URL())
	l, err := New(testConfig(js))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- l.Run(t.Context()) }()
	countAllowed(t, l, Request{Lineage: uuid.New()}, 1)
	js.Conn().Close()
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
	readers := startLimiters(t, urls, 4, withinAnHour)
	for round := range 5 {
		r := Request{Lineage: uuid.New(), Report: CallLogReports}
		steppedDown := make(chan error, 1)
		go func() {
			_, err := conn.Request(jetstream.DefaultAPIPrefix+"STREAM.LEADER.STEPDOWN."+StreamName, nil, timeout)
			steppedDown <- err
		}()
		allowed := 0
		eventstest.Eventually(t, "the budget is used up", func() bool {
			allowed += takeAtOnce(t, repeat(r, 200), readers...)[r]
			return storedPermits(t, readers[0], r.Lineage, CallLogReports) == 120
		})
		if err := <-steppedDown; err != nil {
			t.Fatal(err)
		}
		allowed += takeAtOnce(t, repeat(r, 200), readers...)[r]
		if allowed > 120 {
			t.Errorf("round %d: allowed = %d, want 120 at most", round, allowed)
		}
		t.Logf("round %d: allowed = %d", round, allowed)
	}
}
