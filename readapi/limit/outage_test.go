package limit

import (
	"bytes"
	"context"
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

// logged is a log that tests read.
type logged struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(line)
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

func (l *logged) logger() zerolog.Logger { return zerolog.New(l) }

func TestTake_WithoutNATS(t *testing.T) {
	var log logged
	server := eventstest.NewServer(t)
	l := run(t, server.URL(), logging(log.logger()))
	key := uuid.New()
	if !l.Take(t.Context(), Request{Lineage: key}).Allowed {
		t.Fatal("refused")
	}
	server.Stop()
	eventually(t, "disconnected", func() bool { return !l.wire.conn.IsConnected() })
	for _, premium := range []bool{false, true} {
		d := l.Take(t.Context(), Request{Lineage: key, Premium: premium, Report: listReports})
		if d.Allowed || d.RetryAfter != 1 {
			t.Errorf("a report: %+v", d)
		}
	}
	if given := took(t, l, Request{Lineage: key}, 200); given != 120 {
		t.Errorf("%d given", given)
	}
	if given := took(t, l, Request{Lineage: uuid.New(), Premium: true}, 700); given != 600 {
		t.Errorf("%d given to a premium key", given)
	}
	d := l.Take(t.Context(), Request{Lineage: key})
	if text, _ := d.RateLimit(); d.Allowed || d.RetryAfter < 1 || !strings.HasPrefix(text, `"tier";r=0;t=`) {
		t.Errorf("over the reader's own cap: %+v, %s", d, text)
	}
	if refused, allowed := counted(l, unreachableRefused), counted(l, unreachableAllowed); refused != 183 || allowed != 720 {
		t.Errorf("%d refused, %d allowed", refused, allowed)
	}
	if lines := strings.Count(log.text(), "\n"); lines != 1 || !strings.Contains(log.text(), "rate limits not available") {
		t.Errorf("%d lines: %s", lines, log.text())
	}
}

// The stream lay in the server's memory.
func TestTake_AfterARestartOfNATS(t *testing.T) {
	var log logged
	server := eventstest.NewServer(t)
	l := run(t, server.URL(), hurried, logging(log.logger()))
	key := uuid.New()
	ask := Request{Lineage: key, Report: listReports}
	for range 2 {
		server.Stop()
		eventually(t, "refused a report", func() bool { return !l.Take(t.Context(), ask).Allowed })
		server.Start()
		eventually(t, "given a report again", func() bool { return l.Take(t.Context(), ask).Allowed })
		eventually(t, "given anything by nats again", func() bool {
			before := counted(l, allowed)
			l.Take(t.Context(), Request{Lineage: uuid.New(), Premium: true})
			return counted(l, allowed) == before+1
		})
	}
	eventually(t, "logged", func() bool {
		l.Take(t.Context(), Request{Lineage: uuid.New()})
		return strings.Contains(log.text(), "rate limits available again")
	})
}

// A reader that starts before NATS does, with its requests.
func TestTake_MakesAMissingStream(t *testing.T) {
	server := eventstest.NewServer(t)
	l := run(t, server.URL(), func(c *Config) { c.DecisionTimeout = keepInterval / 2 }) // in which it isn't made by itself
	for range 3 {
		took(t, l, Request{Lineage: uuid.New(), Report: listReports}, 1)
		if err := l.standard.js.DeleteStream(t.Context(), l.standard.stream.Name); err != nil {
			t.Fatal(err)
		}
		if !l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed {
			t.Error("refused")
		}
	}
}

func TestTake_BeforeItRuns(t *testing.T) {
	c := config(eventstest.JetStream(t, eventstest.NewServer(t).URL()))
	hurried(&c)
	l, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	silence(t, l, uuid.New())
	if len(l.missing) != 1 {
		t.Error("nobody is to look for the streams")
	}
}

// Whoever listens to all messages keeps the server from saying that nobody took one.
func TestTake_MakesAMissingStreamInCompany(t *testing.T) {
	server := eventstest.NewServer(t)
	watch(t, server.URL())
	l := run(t, server.URL(), hurried)
	for range 2 {
		eventually(t, "given a report", func() bool {
			return l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed
		})
		if err := l.standard.js.DeleteStream(t.Context(), l.standard.stream.Name); err != nil {
			t.Fatal(err)
		}
	}
}

// A stream that somebody set up is left as it is, and one that counts otherwise is talked about.
func TestLimiter_LeavesAStreamAsItIs(t *testing.T) {
	var log logged
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	l, err := New(config(js))
	if err != nil {
		t.Fatal(err)
	}
	kept, odd := l.standard.stream, l.premium.stream
	kept.Description, odd.MaxMsgsPerSubject = "ours", 7
	for _, stream := range []jetstream.StreamConfig{kept, odd} {
		if _, err := js.CreateStream(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
	}
	l = run(t, js.Conn().ConnectedUrl(), logging(log.logger()))
	eventually(t, "logged", func() bool { return strings.Contains(log.text(), "its settings are not those of a limiter") })
	if strings.Contains(log.text(), l.standard.stream.Name) || !strings.Contains(log.text(), l.premium.stream.Name) {
		t.Error(log.text())
	}
	if d := l.Take(t.Context(), Request{Lineage: uuid.New()}); !d.Allowed || counted(l, allowed) != 1 {
		t.Errorf("%+v", d)
	}
	stream, err := js.Stream(t.Context(), l.standard.stream.Name)
	if err != nil || stream.CachedInfo().Config.Description != "ours" {
		t.Errorf("changed: %v", err)
	}
}

// A stream that holds more permits than there are would give them.
func TestTake_DoesWithoutAStreamThatDoesNotCount(t *testing.T) {
	var log logged
	server := eventstest.NewServer(t)
	l := run(t, server.URL(), logging(log.logger()))
	key := uuid.New()
	took(t, l, Request{Lineage: key}, 1)
	js, odd := l.standard.js, l.standard.stream
	odd.MaxMsgsPerSubject = 1000
	if _, err := js.UpdateStream(t.Context(), odd); err != nil {
		t.Fatal(err)
	}
	l.nudge()
	eventually(t, "noticed", l.standard.unfit.Load)
	if given := took(t, l, Request{Lineage: key}, 200); given != 120 {
		t.Errorf("%d given", given)
	}
	if d := l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}); d.Allowed || d.RetryAfter != 1 {
		t.Errorf("a report: %+v", d)
	}
	if !l.Take(t.Context(), Request{Lineage: uuid.New(), Premium: true, Report: listReports}).Allowed {
		t.Error("refused where the stream counts")
	}
	if text := log.text(); strings.Count(text, "\n") != 1 || !strings.Contains(text, odd.Name) {
		t.Errorf("%s", text)
	}
	if err := js.DeleteStream(t.Context(), odd.Name); err != nil {
		t.Fatal(err)
	}
	l.nudge()
	eventually(t, "given a report again", func() bool {
		return l.Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed
	})
}

// unkept is a limiter that asks its standard stream, and never looks at it.
func unkept(t *testing.T) *Limiter {
	t.Helper()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	l, err := New(config(js))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), l.standard.stream); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- l.wire.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l
}

// Nobody has looked at the stream yet.
func TestTake_AsksAStreamThatWasNotCheckedYet(t *testing.T) {
	if !unkept(t).Take(t.Context(), Request{Lineage: uuid.New(), Report: listReports}).Allowed {
		t.Error("refused")
	}
}

// lag has the standings come from a replica that has not heard of any permit yet.
func lag(t *testing.T, l *Limiter) {
	t.Helper()
	l.standard.direct = "lagging"
	if _, err := l.wire.conn.Subscribe(l.standard.direct, func(m *nats.Msg) {
		_ = m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"404"}}})
	}); err != nil {
		t.Fatal(err)
	}
}

func TestTake_BelievesTheServerRatherThanTheStandings(t *testing.T) {
	var log logged
	server := eventstest.NewServer(t)
	key := uuid.New()
	took(t, run(t, server.URL()), Request{Lineage: key}, 120)
	l := run(t, server.URL(), logging(log.logger()), func(c *Config) { c.DecisionTimeout = 2 * time.Second })
	lag(t, l)
	if d := l.Take(t.Context(), Request{Lineage: key}); d.Allowed || d.RetryAfter != 1 {
		t.Errorf("%+v", d)
	}
	if counted(l, refused) != 1 || log.text() != "" {
		t.Errorf("taken for an outage: %s", log.text())
	}
}

// Only a server that said full has decided.
func TestRequest_Conclude(t *testing.T) {
	l, err := New(config(eventstest.JetStream(t, eventstest.NewServer(t).URL())))
	if err != nil {
		t.Fatal(err)
	}
	r := &request{Limiter: l}
	for _, word := range []error{nil, nats.ErrNoResponders} {
		if d, err := r.conclude(word, errSilence); d != nil || !errors.Is(err, errSilence) {
			t.Errorf("%v, then silence: %+v, %v", word, d, err)
		}
	}
	for _, last := range []error{errFull, errSilence, errDisconnected} {
		if d, err := r.conclude(errFull, last); err != nil || d.Allowed || d.RetryAfter != 1 {
			t.Errorf("full, then %v: %+v, %v", last, d, err)
		}
	}
}

// What the server said before it went away is remembered.
func TestTake_RemembersThatItWasFull(t *testing.T) {
	server := eventstest.NewServer(t)
	key := uuid.New()
	took(t, run(t, server.URL()), Request{Lineage: key}, 120)
	l := run(t, server.URL(), func(c *Config) { c.DecisionTimeout = 5 * time.Second })
	lag(t, l)
	seen := watch(t, server.URL())
	decided := make(chan *Decision)
	go func() { decided <- l.Take(t.Context(), Request{Lineage: key}) }()
	eventually(t, "asked twice", func() bool { return seen.count() > 1 })
	seen.conn.Close()
	server.Stop()
	if d := <-decided; d.Allowed || counted(l, refused) != 1 {
		t.Errorf("%+v", d)
	}
}

// A stream that goes away when it was full has nothing to give.
func TestTake_RemembersThatAStreamWasFull(t *testing.T) {
	l := unkept(t)
	ask := Request{Lineage: uuid.New()}
	took(t, l, ask, 120)
	lag(t, l)
	l.decisionTimeout = 2 * time.Second
	seen := watch(t, l.wire.conn.ConnectedUrl())
	decided := make(chan *Decision)
	go func() { decided <- l.Take(t.Context(), ask) }()
	eventually(t, "asked twice", func() bool { return seen.count() > 1 })
	seen.conn.Close() // so that the server says that nobody takes permits
	if err := l.standard.js.DeleteStream(t.Context(), l.standard.stream.Name); err != nil {
		t.Error(err)
	}
	if d := <-decided; d.Allowed || counted(l, refused) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestOutage_IsLoggedOnce(t *testing.T) {
	var log logged
	o := newOutage(log.logger(), "something")
	o.end()
	for range 3 {
		o.begin(errSilence)
		o.end() // too early to be believed
	}
	if text := log.text(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "something not available") {
		t.Errorf("begun: %s", text)
	}
	past := time.Now().Add(-minOutage)
	o.since.Store(&past)
	o.end()
	o.end()
	if text := log.text(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "something available again") {
		t.Errorf("ended: %s", text)
	}
}

// A server that is connected and says nothing holds nobody up. Were the requests to wait for NATS, this test would wait for its
// end.
func TestTake_WithASilentServer(t *testing.T) {
	proxy := eventstest.NewProxy(t, eventstest.NewServer(t).URL())
	l := run(t, "nats://"+proxy.Addr(), hurried)
	key := uuid.New()
	eventually(t, "asked", func() bool {
		before := counted(l, allowed)
		l.Take(t.Context(), Request{Lineage: key})
		return counted(l, allowed) > before
	})
	defer proxy.Pause()()
	silence(t, l, key)
	if l.sweep(time.Now().Add(time.Hour)); !l.idle() {
		t.Error("questions without an answer are kept")
	}

	// What is written now fills the line's buffers until the connection takes no more.
	var filling sync.WaitGroup
	filling.Go(func() {
		for range 64 {
			_ = l.wire.conn.Publish("elsewhere", make([]byte, 1<<19))
		}
	})
	t.Cleanup(filling.Wait) // which the line's end makes fail
	silence(t, l, key)
}

func silence(t *testing.T, l *Limiter, key uuid.UUID) {
	t.Helper()
	for range 10 {
		if d := l.Take(t.Context(), Request{Lineage: key, Report: listReports}); d.Allowed || d.RetryAfter != 1 {
			t.Errorf("a report: %+v", d)
		}
		d := l.Take(t.Context(), Request{Lineage: key})
		if text, known := d.RateLimit(); !d.Allowed || !known {
			t.Errorf("%+v, %s", d, text)
		}
	}
}
