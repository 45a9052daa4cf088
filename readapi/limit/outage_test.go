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
	eventstest.Eventually(t, "the limiter notices", func() bool { return !l.available() })
	for _, premium := range []bool{false, true} {
		d := l.Take(t.Context(), Request{Lineage: key, Premium: premium, Report: listReports})
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
	d := l.Take(t.Context(), Request{Lineage: key})
	if got, _ := d.RateLimit(); d.Allowed || d.RetryAfter < 1 || d.RetryAfter > 60 || !strings.HasPrefix(got, `"tier";r=0;t=`) {
		t.Errorf("over the local limit: allowed = %t, retry after = %d, rate limit = %s, want a refusal for 1 to 60 s and r=0",
			d.Allowed, d.RetryAfter, got)
	}
	if refused, allowed := l.decisions(unreachableRefused), l.decisions(unreachableAllowed); refused != 183 || allowed != 720 {
		t.Errorf("refused = %d, allowed = %d, want 183 and 720", refused, allowed)
	}
	eventstest.Eventually(t, "the outage is logged", func() bool { return strings.Contains(log.String(), "budgets unreachable") })
	if lines := strings.Count(log.String(), "\n"); lines != 1 {
		t.Errorf("log lines = %d, want 1 about the outage:\n%s", lines, log.String())
	}
}

// The stream is in memory, so a restart of NATS removes the logs. What a reader remembers counts on.
func TestTake_RestartOfNATSRefillsNothing(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	readers := startLimiters(t, server.URL(), 2, withWindow(time.Hour))
	full, half := Request{Lineage: uuid.New(), Report: listReports}, Request{Lineage: uuid.New()}
	for _, reader := range readers {
		countAllowed(t, reader, full, 100)
		countAllowed(t, reader, half, 30)
	}
	countAllowed(t, readers[0], full, 1) // from now on, this reader knows that the budget is used up
	for range 2 {
		server.Restart()
		for i, reader := range readers {
			eventstest.Eventually(t, "a request allowed by NATS", func() bool {
				before := reader.decisions(allowed)
				reader.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports})
				return reader.decisions(allowed) == before+1
			})
			if got := countAllowed(t, reader, full, 10); got != 0 {
				t.Errorf("reader %d: allowed = %d of a budget that is used up, want 0", i, got)
			}
		}
	}
	// The second reader wrote last, so it knows all 60 permits; the first one's memory has 30 or more.
	if got := countAllowed(t, readers[1], half, 120); got != 60 {
		t.Errorf("allowed of half a budget = %d, want 60", got)
	}
	if got := countAllowed(t, readers[0], half, 120); got != 0 {
		t.Errorf("allowed of the first reader afterwards = %d, want 0", got)
	}
	fresh := startLimiter(t, server.URL(), withWindow(time.Hour))
	if got := countAllowed(t, fresh, half, 120); got != 0 {
		t.Errorf("allowed by a reader that remembers nothing = %d, want 0", got)
	}
}

func (l *Limiter) deleteStream(t *testing.T) {
	t.Helper()
	if err := l.store.js.DeleteStream(t.Context(), StreamName); err != nil {
		t.Fatal(err)
	}
}

// A subscriber to the logs' subjects keeps the server from replying that nobody received a write.
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
				eventstest.Eventually(t, "an allowed report", func() bool {
					return l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed
				})
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
		if d := l.Take(t.Context(), Request{Lineage: key, Report: listReports}); d.Allowed || d.RetryAfter != 1 {
			t.Errorf("report: allowed = %t, retry after = %d, want a refusal for 1 s", d.Allowed, d.RetryAfter)
		}
		d := l.Take(t.Context(), Request{Lineage: key})
		if text, known := d.RateLimit(); !d.Allowed || !known {
			t.Errorf("allowed = %t, rate limit = %q, want an allowed request with a rate limit", d.Allowed, text)
		}
	}
}

// A stream that answers from any replica could answer with an old log.
func TestTake_IgnoresMisconfiguredStream(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	l := startLimiter(t, eventstest.NewServer(t).URL(), logTo(&log))
	key := uuid.New()
	countAllowed(t, l, Request{Lineage: key}, 1)
	direct := StreamConfig(1)
	direct.AllowDirect = true
	if _, err := l.store.js.UpdateStream(t.Context(), direct); err != nil {
		t.Fatal(err)
	}
	if err := l.check(t.Context()); err == nil {
		t.Error("check: error = nil, want one")
	}
	if got := countAllowed(t, l, Request{Lineage: key}, 200); got != 120 {
		t.Errorf("allowed = %d, want 120", got)
	}
	if d := l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}); d.Allowed || d.RetryAfter != 1 {
		t.Errorf("report: allowed = %t, retry after = %d, want a refusal for 1 s", d.Allowed, d.RetryAfter)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "stream LIMITS: its settings do not count permits") {
		t.Errorf("log = %s, want one line about the stream", got)
	}
	l.deleteStream(t)
	eventstest.Eventually(t, "an allowed report", func() bool {
		return l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed
	})
}

// A log that another release has written is no empty log: the lineage's requests are decided without NATS, and the log stays.
func TestTake_UnknownEncoding(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	l := startLimiter(t, eventstest.NewServer(t).URL(), logTo(&log))
	countAllowed(t, l, Request{Lineage: uuid.New()}, 1)
	r := Request{Lineage: uuid.New(), Report: listReports}
	newer := []byte{encodingVersion + 1, 0, 0}
	if _, err := l.store.js.Publish(t.Context(), subjectPrefix+r.Lineage.String(), newer); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if d := l.Take(t.Context(), r); d.Allowed || d.RetryAfter != 1 {
			t.Errorf("allowed = %t, retry after = %d, want a refusal for 1 s", d.Allowed, d.RetryAfter)
		}
	}
	if !l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed {
		t.Error("another lineage: allowed = false")
	}
	if _, err := l.store.load(r.Lineage, timeout); !errors.Is(err, errMalformed) {
		t.Errorf("stored log: error = %v, want the newer version still there", err)
	}
	if !log.Contains("another release has written it") {
		t.Errorf("log = %s, want the reason", &log)
	}
}

// A server that is connected but does not reply costs the first request its timeout. Others are decided without asking it. When it
// replies again, the permits of reports that were refused meanwhile are given back.
func TestTake_WithStalledServer(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	proxy := eventstest.NewProxy(t, server.URL())
	l := startLimiter(t, "nats://"+proxy.Addr(), withTimeout(2*time.Second))
	key := uuid.New()
	eventstest.Eventually(t, "a request allowed by NATS", func() bool {
		before := l.decisions(allowed)
		l.Take(t.Context(), Request{Lineage: key})
		return l.decisions(allowed) > before
	})
	before := storedPermits(t, l, key, tierPolicy)
	resume := proxy.Pause()
	defer resume()
	if d := l.Take(t.Context(), Request{Lineage: key, Report: listReports}); d.Allowed || d.RetryAfter != 1 {
		t.Errorf("report: allowed = %t, retry after = %d, want a refusal for 1 s", d.Allowed, d.RetryAfter)
	}
	k := l.lineage(key)
	l.checkWithoutReply(t, key)
	eventstest.Eventually(t, "no request waits after the first", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return len(k.waiting) == 0
	})
	resume()
	eventstest.Eventually(t, "an allowed report", func() bool {
		return l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed
	})
	eventstest.Eventually(t, "the refused report's permit is given back", func() bool {
		return storedPermits(t, l, key, listReports) == 0 && storedPermits(t, l, key, tierPolicy) == before
	})
}

// A connection that accepts no more bytes blocks its writers, but no request.
func TestTake_WithBlockedConnection(t *testing.T) {
	t.Parallel()
	proxy := eventstest.NewProxy(t, eventstest.NewServer(t).URL())
	l := startLimiter(t, "nats://"+proxy.Addr(), withTimeout(time.Second))
	countAllowed(t, l, Request{Lineage: uuid.New()}, 1)
	resume := proxy.Pause()
	defer resume()
	var filling sync.WaitGroup
	filling.Go(func() {
		for range 64 {
			_ = l.store.conn.Publish("elsewhere", make([]byte, 1<<19))
		}
	})
	t.Cleanup(filling.Wait) // publishing ends when the proxy goes on
	l.checkWithoutReply(t, uuid.New())
}

// served reports whether a write of the lineage's log is in progress.
func (k *lineage) served() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.serving
}

// A write whose acknowledgement is lost is found in the log. It is neither repeated nor lost, also if another reader writes meanwhile.
func TestTake_LostAcknowledgement(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	proxy := eventstest.NewProxy(t, server.URL())
	other := startLimiter(t, server.URL())
	l := startLimiter(t, "nats://"+proxy.Addr(), withTimeout(2*time.Second))
	for round := range 6 {
		eventstest.Eventually(t, "the reader is back", func() bool {
			return l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed
		})
		r := Request{Lineage: uuid.New(), Report: listReports}
		restore := proxy.LoseReplies()
		decided := make(chan *Decision, 1)
		// The breaker may open meanwhile; then the report is refused, and its permit is given back or was not taken.
		go func() { decided <- l.Take(t.Context(), r) }()
		eventstest.Eventually(t, "the write is stored", func() bool {
			return storedPermits(t, other, r.Lineage, listReports) == 1 || len(decided) > 0
		})
		want := 0
		if round%2 == 1 {
			want = countAllowed(t, other, r, 5)
		}
		restore()
		if (<-decided).Allowed {
			want++
		}
		eventstest.Eventually(t, "the log has the permits of the allowed requests", func() bool {
			return storedPermits(t, other, r.Lineage, listReports) == want && storedPermits(t, other, r.Lineage, tierPolicy) == want
		})
		if got := countAllowed(t, other, r, 200); got != 120-want {
			t.Errorf("round %d: allowed afterwards = %d, want %d", round, got, 120-want)
		}
	}
}

// A write that arrives late does not stand beside another one with the same requests.
func TestSettle_WriteArrivesAfterTheLogWasRead(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL())
	r := Request{Lineage: uuid.New()}
	countAllowed(t, l, r, 1)
	k := l.lineage(r.Lineage)
	eventstest.Eventually(t, "the first write has ended", func() bool { return !k.served() })
	late := &waiter{buckets: l.buckets(r), window: l.window, decided: make(chan result, 1)}
	if _, ok := k.enqueue(late); !ok {
		t.Fatal("want the request to wait")
	}
	w := k.next(l.clock.earliest(), l.clock.latest(), writer{l.reader, l.writes.Add(1)}, 1)
	if _, err := l.store.write(k.id.String(), w.log.encode(), w.expected, timeout); err != nil {
		t.Fatal(err)
	}
	// The reader has got no acknowledgement, so it writes again.
	if err := l.storeVersion(t.Context(), k, w); err != nil {
		t.Errorf("settle: error = %v, want none", err)
	}
	if d := <-late.decided; d.decision == nil || !d.decision.Allowed || storedPermits(t, l, r.Lineage, tierPolicy) != 2 {
		t.Errorf("decision = %+v, stored permits = %d, want an allowed request and 2", d, storedPermits(t, l, r.Lineage, tierPolicy))
	}
}

// A write that never arrived is written again, so that it can't arrive later. Nobody waits for it any longer, and its permits are given
// back.
func TestSettle_LostWrite(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	proxy := eventstest.NewProxy(t, server.URL())
	other := startLimiter(t, server.URL())
	l := startLimiter(t, "nats://"+proxy.Addr(), withTimeout(10*time.Second))
	r := Request{Lineage: uuid.New(), Report: listReports}
	eventstest.Eventually(t, "an allowed report", func() bool { return l.Take(t.Context(), r).Allowed })
	before := storedLog(t, other, r.Lineage)
	restore := proxy.LoseRequests()
	if l.Take(t.Context(), r).Allowed {
		t.Error("allowed = true without an acknowledgement")
	}
	restore()
	eventstest.Eventually(t, "the write is stored and its permits are given back", func() bool {
		after := storedLog(t, other, r.Lineage)
		return after.sequence >= before.sequence+2 && after.log.bucket(listReports).total == before.log.bucket(listReports).total
	})
}

// Other errors than a conflict leave the requests to be decided without NATS, and the next ones ask it again.
func TestTake_ServerRefusesWrites(t *testing.T) {
	t.Parallel()
	l := startLimiter(t, eventstest.NewServer(t).URL())
	countAllowed(t, l, Request{Lineage: uuid.New()}, 1)
	small := StreamConfig(1)
	small.MaxMsgSize = 10
	if _, err := l.store.js.UpdateStream(t.Context(), small); err != nil {
		t.Fatal(err)
	}
	if l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed {
		t.Error("report: allowed = true")
	}
	if !l.Take(t.Context(), Request{Lineage: uuid.New()}).Allowed || l.decisions(unreachableAllowed) != 1 {
		t.Errorf("allowed without NATS = %d, want 1", l.decisions(unreachableAllowed))
	}
	if _, err := l.store.js.UpdateStream(t.Context(), StreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	eventstest.Eventually(t, "reports are allowed after the limit was removed", func() bool {
		return l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed
	})
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

func TestOutage_IsLoggedOnce(t *testing.T) {
	t.Parallel()
	var log eventstest.LogBuffer
	o := newOutage(zerolog.New(&log))
	o.end()
	for range 3 {
		o.begin(errNoReply)
		o.end() // too early
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "budgets unreachable") {
		t.Errorf("log after the begin = %s, want one line", got)
	}
	past := time.Now().Add(-minOutage)
	o.since.Store(&past)
	o.end()
	o.end()
	if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "budgets reachable again") {
		t.Errorf("log after the end = %s, want one line more", got)
	}
}

func TestLocalCounter(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := newLocalCounter(time.Minute)
	key, b := uuid.New(), bucket{policy: tierPolicy, limit: 3}
	for i := range 5 {
		at := time.Duration(i) * time.Second
		q, ok := c.take(key, b, now.Add(at))
		if ok != (i < 3) || q.remaining != max(0, 2-i) || q.wait != time.Minute-at {
			t.Errorf("request %d: quota = %+v, allowed = %t, want %d left, a wait of %s and %t", i, q, ok, max(0, 2-i), time.Minute-at, i < 3)
		}
	}
	if _, ok := c.take(uuid.New(), b, now); !ok {
		t.Error("another key was refused")
	}
	c.prune(now.Add(time.Minute - 1))
	if _, ok := c.take(key, b, now.Add(time.Minute-1)); ok {
		t.Error("allowed before the window's end")
	}
	if _, ok := c.take(key, b, now.Add(time.Minute)); !ok {
		t.Error("refused at the window's end")
	}
	if c.prune(now.Add(2 * time.Minute)); len(c.windows) != 0 {
		t.Errorf("windows after pruning = %d, want 0", len(c.windows))
	}
}

// Whenever the leader of the stream's replicas changes, exactly the budget is allowed: requests without a leader are refused, no permit is
// given twice, and none is lost.
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
	readers := startLimiters(t, urls, 4)
	for round := range 5 {
		r, began := Request{Lineage: uuid.New(), Report: listReports}, time.Now()
		steppedDown := make(chan error, 1)
		go func() {
			_, err := conn.Request(jetstream.DefaultAPIPrefix+"STREAM.LEADER.STEPDOWN."+StreamName, nil, timeout)
			steppedDown <- err
		}()
		allowed := 0
		eventstest.Eventually(t, "the budget is used up", func() bool {
			allowed += takeAtOnce(t, repeat(r, 200), readers...)[r]
			return allowed >= 120
		})
		if err := <-steppedDown; err != nil {
			t.Fatal(err)
		}
		allowed += takeAtOnce(t, repeat(r, 200), readers...)[r]
		if allowed != 120 && time.Since(began) < time.Minute { // later, the first permits are back
			t.Errorf("round %d: allowed = %d, want 120", round, allowed)
		}
	}
}
