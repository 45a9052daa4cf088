package limit

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"callboard/events/eventstest"
)

// maxUnknown is what the machine's readers do not know of the server's time on either side, in milliseconds.
const maxUnknown = 1_490

// machine is readers that take permits of one lineage on a real server, while the time is the test's. The model is a
// list of permits, and which of them the server and each reader know.
type machine struct {
	js      *line
	store   *store
	lineage uuid.UUID
	readers []*machineReader
	now     instant // the server's time
	permits []permit
	server  known
}

// line is a connection whose writes are the machine's to delay and to lose.
type line struct {
	jetstream.JetStream
	write func(send func() error) error
}

func (l *line) PublishMsg(
	ctx context.Context, m *nats.Msg, options ...jetstream.PublishOpt,
) (ack *jetstream.PubAck, err error) {
	err = l.write(func() (err error) {
		ack, err = l.JetStream.PublishMsg(ctx, m, options...)
		return err
	})
	return ack, err
}

type machineReader struct {
	*Limiter
	known known
}

// permit is a stored permit. It is of the tier, too, if it is a report's.
type permit struct {
	at     instant
	report Report
}

// known is numbers of permits.
type known map[int]bool

// count counts the permits of a budget that were taken since an instant, which is not included, as far as they are
// known.
func (m *machine) count(b bucket, since instant, by ...known) (n int) {
	for i, p := range m.permits {
		knows := func(k known) bool { return k[i] }
		if p.at > since && (b.counter == NoReport || p.report == b.counter) && slices.ContainsFunc(by, knows) {
			n++
		}
	}
	return n
}

// local is the readers' local time, which stands still: the time that passes is the server's.
func local() time.Time { return time.UnixMilli(1_000) }

func (m *machine) newReader(t *rapid.T) *machineReader {
	c := testConfig(m.js)
	c.Report, c.Standard = rapid.IntRange(1, 4).Draw(t, "report"), rapid.IntRange(2, 6).Draw(t, "standard")
	l, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	l.store, l.clock.local = m.store, local
	l.serve = func(*lineage) {} // the machine serves
	l.setReachable()
	return &machineReader{l, known{}}
}

// look draws what a reader knows of the time.
func (m *machine) look(t *rapid.T, r *machineReader) {
	early := rapid.IntRange(0, maxUnknown).Draw(t, "early")
	late := rapid.IntRange(0, maxUnknown).Draw(t, "late")
	r.clock.sample.Store(&sample{
		server:   time.UnixMilli(int64(m.now)),
		answered: local().Add(time.Duration(early) * time.Millisecond),
		asked:    local().Add(-time.Duration(late) * time.Millisecond),
	})
}

func (m *machine) lineageOf(r *machineReader) *lineage { return r.lineageOf(m.lineage) }

// request draws a request that waits. If the reader's memory refuses it, that is checked, and nil is returned.
func (m *machine) request(t *rapid.T, r *machineReader) *waiter {
	report := Report(rapid.IntRange(0, budgets-1).Draw(t, "operation"))
	w := &waiter{buckets: r.buckets(Request{Report: report}), decided: make(chan *Decision, 1)}
	r.enter(m.lineage, w)
	select {
	case d := <-w.decided:
		m.checkRefusal(t, r, d)
		return nil
	default:
		return w
	}
}

// take lets a reader decide about some requests. A single request's writes take a while, in which others may take
// permits, and the replies to a version and to its repetition may be lost.
func (m *machine) take(t *rapid.T, r *machineReader, others ...*machineReader) {
	m.look(t, r)
	var list []*waiter
	requests := rapid.IntRange(1, 3).Draw(t, "requests")
	for range requests {
		if w := m.request(t, r); w != nil {
			list = append(list, w)
		}
	}
	if len(list) == 3 { // the first client has gone
		list[0].gone, list = true, list[1:]
	}

	lost, meanwhile := 0, func() {}
	if requests == 1 && len(others) > 0 {
		lost = rapid.IntRange(0, 2).Draw(t, "lost replies")
		meanwhile = func() {
			m.wait(t)
			for _, other := range others {
				if other != r && rapid.Bool().Draw(t, "another reader takes") {
					m.take(t, other)
				}
			}
			m.look(t, r)
		}
	}

	k, added := m.lineageOf(r), map[*waiter]bool{}
	var made instant // when the version was made
	var stored int   // how many permits there were when it was stored
	var missing int  // how many replies to it were lost
	var write func(func() error) error
	write = func(send func() error) error {
		if missing == 0 {
			made = m.now
			if stored > 0 && stored == len(m.permits) {
				t.Fatal("the reader does not know its version")
			}
		}
		meanwhile()
		m.js.write = write
		err := send()
		if err == nil {
			for _, w := range k.deciding {
				if w.gone {
					t.Fatal("a permit was taken for a client that has gone")
				}
				if w.decision.Allowed {
					m.add(t, r, w, made)
					added[w] = true
				}
			}
			stored = len(m.permits)
		}
		if lost > 0 {
			lost--
			missing++
			return context.DeadlineExceeded
		}
		missing = 0
		maps.Copy(r.known, m.server)
		return err
	}
	m.js.write = write
	r.serveLineage(t.Context(), k)

	for _, w := range list {
		switch d := <-w.decided; {
		case d == nil && missing != 2:
			t.Fatal("no decision, want one of NATS")
		case d == nil:
		case d.Allowed && !added[w]:
			t.Fatal("allowed without a stored permit")
		case !d.Allowed:
			m.checkRefusal(t, r, d)
		}
	}
}

// add notes that a reader has stored a request's permit. No more are taken in a minute than the reader's limits.
func (m *machine) add(t *rapid.T, r *machineReader, w *waiter, made instant) {
	m.permits = append(m.permits, permit{made, w.buckets[0].counter})
	maps.Copy(m.server, r.known)
	m.server[len(m.permits)-1] = true
	for _, b := range w.buckets {
		if got := m.count(b, made-window, m.server); got > b.limit {
			t.Fatalf("permits of %q in a minute = %d, want %d at most", b.policy, got, b.limit)
		}
	}
}

// checkRefusal checks that permits of a full budget have not returned, and that one does when the refusal says so.
func (m *machine) checkRefusal(t *rapid.T, r *machineReader, d *Decision) {
	if d.RetryAfter < 1 || d.RetryAfter > 60 {
		t.Fatalf("retry after = %d, want 1 to 60 s", d.RetryAfter)
	}

	// A minute is the longest wait, whatever a reader does not know of the time.
	later := r.clock.now().earliest + instant(d.RetryAfter)*second
	if d.RetryAfter == 60 {
		later += 2 * maxUnknown
	}
	full := 0
	for i, b := range d.buckets {
		if d.quotas[i].remaining > 0 {
			continue
		}
		full++
		if got := m.count(b, m.now-window-second-2*maxUnknown, r.known, m.server); got < b.limit {
			t.Fatalf("refused with %d of %d permits of %q", got, b.limit, b.policy)
		}
		if got := m.lineageOf(r).stored.used(b.counter, later); got >= b.limit {
			t.Fatalf("used after %d s = %d of %d permits of %q", d.RetryAfter, got, b.limit, b.policy)
		}
	}
	if full == 0 {
		t.Fatalf("refused with %+v", d.quotas)
	}
}

// used counts a budget's permits that have not returned.
func (c *counters) used(budget Report, now instant) int {
	return math.MaxInt32 - c.quota(bucket{counter: budget, limit: math.MaxInt32}, now).remaining
}

// checkStored checks that the server has the permits of the model, and no others.
func (m *machine) checkStored(t *rapid.T) {
	stored, err := m.store.load(t.Context(), m.lineage)
	if err != nil {
		t.Fatal(err)
	}
	for budget := range Report(budgets) {
		b := bucket{counter: budget}
		least, most := m.count(b, m.now-window, m.server), m.count(b, m.now-window-second-2*maxUnknown, m.server)
		if got := stored.used(budget, m.now); got < least || got > most {
			t.Fatalf("stored permits of budget %d = %d, want %d to %d", budget, got, least, most)
		}
	}
}

// wait lets time pass.
func (m *machine) wait(t *rapid.T) {
	m.now += instant(rapid.OneOf(
		rapid.IntRange(0, 300), rapid.IntRange(0, 5_000), rapid.IntRange(0, 70_000), rapid.IntRange(56_000, 61_000),
	).Draw(t, "milliseconds"))
}

// Readers with different limits, and with different ideas of the time, share budgets exactly: whatever they take and
// refuse, whichever acknowledgements are lost, and whatever restarts. The server is a real one.
func TestReaders_ShareBudgets(t *testing.T) {
	t.Parallel()
	js := &line{JetStream: connect(t, eventstest.NewServer(t).URL())}
	s := &store{js: js, timeout: timeout}
	ensure := func(t *rapid.T) {
		_, err := s.ensure(t.Context(), local)
		for errors.Is(err, errNoReply) { // a busy machine's server answers late
			_, err = s.ensure(t.Context(), local)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		ensure(t)
		m := &machine{js: js, store: s, lineage: uuid.New(), now: 1_000_000_000_000, server: known{}}
		for range 3 {
			m.readers = append(m.readers, m.newReader(t))
		}
		t.Repeat(map[string]func(*rapid.T){
			"wait": m.wait,
			"take": func(t *rapid.T) { m.take(t, rapid.SampledFrom(m.readers).Draw(t, "reader"), m.readers...) },
			"restart a reader": func(t *rapid.T) {
				m.readers[rapid.IntRange(0, len(m.readers)-1).Draw(t, "reader")] = m.newReader(t)
			},
			"restart NATS": func(t *rapid.T) {
				if err := s.js.DeleteStream(t.Context(), StreamName); err != nil {
					t.Fatal(err)
				}
				m.now += 2*maxUnknown + second // so no counter has permits of both streams
				ensure(t)
				m.server = known{}
				for _, r := range m.readers {
					r.setUnreachable(errDisconnected)
					r.setReachable()
				}
			},
			"": m.checkStored,
		})
	})
}
