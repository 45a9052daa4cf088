package limit

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"callboard/events/eventstest"
)

// maxUnknown is what the machine's readers do not know of the server's time on either side, in milliseconds.
const maxUnknown = 1_490

// machine is readers that take permits of one lineage on a real server, while the time is the test's. The model is a
// list of permits, and which of them the server and each reader know.
type machine struct {
	store   *store
	lineage uuid.UUID
	readers []*machineReader
	now     instant // the server's time
	permits []permit
	server  known
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

func (k known) and(other known) known {
	both := maps.Clone(k)
	maps.Copy(both, other)
	return both
}

// count counts the known permits of a budget that were taken since an instant, which is not included.
func (m *machine) count(k known, b bucket, since instant) (n int) {
	for i := range k {
		if p := m.permits[i]; p.at > since && (b.counter == NoReport || p.report == b.counter) {
			n++
		}
	}
	return n
}

// local is the readers' local time, which stands still: the time that passes is the server's.
func local() time.Time { return time.UnixMilli(1_000) }

func (m *machine) newReader(t *rapid.T) *machineReader {
	c := testConfig(m.store.js)
	c.Log, c.now = zerolog.Nop(), local
	c.Report, c.Standard = rapid.IntRange(1, 4).Draw(t, "report"), rapid.IntRange(2, 6).Draw(t, "standard")
	l, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	l.store = m.store
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

func (m *machine) lineageOf(r *machineReader) *lineage { return r.lineage(m.lineage) }

// request draws a request that waits. If the reader's memory refuses it, that is checked, and nil is returned.
func (m *machine) request(t *rapid.T, r *machineReader) *waiter {
	report := Report(rapid.IntRange(0, budgets-1).Draw(t, "operation"))
	w := &waiter{buckets: r.buckets(Request{Report: report}), decided: make(chan struct{})}
	if d := m.lineageOf(r).refuseFull(w, r.clock.now()); d != nil {
		m.checkRefusal(t, r, d)
		return nil
	}
	m.lineageOf(r).enqueue(w)
	return w
}

// take lets a reader decide about some requests at once.
func (m *machine) take(t *rapid.T, r *machineReader) {
	m.look(t, r)
	var list []*waiter
	for range rapid.IntRange(1, 3).Draw(t, "requests") {
		if w := m.request(t, r); w != nil {
			list = append(list, w)
		}
	}
	r.serveLineage(t.Context(), m.lineageOf(r))
	m.checkDecisions(t, r, list)
}

// send lets a reader make a version whose way to the server takes a while, in which other readers may store some.
// The acknowledgement of the first write may be lost; then the reader writes again, or gives up.
func (m *machine) send(t *rapid.T, r *machineReader) {
	m.look(t, r)
	w := m.request(t, r)
	if w == nil {
		return
	}
	k, made := m.lineageOf(r), m.now
	version := k.next(r.clock.now(), rand.Uint64())

	stored := 0 // how many permits there were when the first write was stored
	lost := rapid.Bool().Draw(t, "lose the acknowledgement")
	if lost {
		if _, err := m.store.write(t.Context(), m.lineage.String(), version.encode(), version.expected, timeout); err == nil {
			m.add(t, r, w, made)
			stored = len(m.permits)
		} else if !errors.Is(err, errConflict) {
			t.Fatal(err)
		}
	}
	m.wait(t)
	for _, other := range m.readers {
		if other != r && rapid.Bool().Draw(t, "another reader takes") {
			m.take(t, other)
		}
	}
	if lost && rapid.Bool().Draw(t, "give up") {
		k.fail(version)
		return
	}

	m.look(t, r)
	err := r.storeVersion(t.Context(), k, version)
	switch {
	case errors.Is(err, errConflict) && stored == len(m.permits):
		t.Fatal("the reader does not know its version")
	case errors.Is(err, errConflict):
		r.serveLineage(t.Context(), k)
		m.checkDecisions(t, r, []*waiter{w})
	case err != nil:
		t.Fatal(err)
	default:
		if stored == 0 {
			m.add(t, r, w, made)
		}
		r.known = r.known.and(m.server)
	}
}

// checkDecisions checks what a reader has decided just now.
func (m *machine) checkDecisions(t *rapid.T, r *machineReader, list []*waiter) {
	for _, w := range list {
		switch d := w.decision; {
		case d == nil:
			t.Fatal("no decision, want one of NATS")
		case d.Allowed:
			m.add(t, r, w, m.now)
		}
		r.known = r.known.and(m.server)
	}
	for _, w := range list {
		if !w.decision.Allowed {
			m.checkRefusal(t, r, w.decision)
		}
	}
}

// add notes that a reader has stored a request's permit. No more are taken in a minute than the reader's limits.
func (m *machine) add(t *rapid.T, r *machineReader, w *waiter, made instant) {
	m.permits = append(m.permits, permit{made, w.buckets[0].counter})
	m.server = m.server.and(r.known)
	m.server[len(m.permits)-1] = true
	for _, b := range w.buckets {
		if got := m.count(m.server, b, made-window); got > b.limit {
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
		if got := m.count(r.known.and(m.server), b, m.now-window-second-2*maxUnknown); got < b.limit {
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

// checkStored checks that the server has the permits of the model, and no others.
func (m *machine) checkStored(t *rapid.T) {
	stored, err := m.store.load(t.Context(), m.lineage, timeout)
	if err != nil {
		t.Fatal(err)
	}
	for budget := range Report(budgets) {
		b := bucket{counter: budget}
		least, most := m.count(m.server, b, m.now-window), m.count(m.server, b, m.now-window-second-2*maxUnknown)
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
	js := connect(t, eventstest.NewServer(t).URL())
	s := newStore(testConfig(js))
	ensure := func(t *rapid.T) {
		_, err := s.ensure(t.Context(), local)
		for errors.Is(err, context.DeadlineExceeded) { // a busy machine's server answers late
			_, err = s.ensure(t.Context(), local)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		ensure(t)
		m := &machine{store: s, lineage: uuid.New(), now: 1_000_000_000_000, server: known{}}
		for range 3 {
			m.readers = append(m.readers, m.newReader(t))
		}
		t.Repeat(map[string]func(*rapid.T){
			"wait": m.wait,
			"take": func(t *rapid.T) { m.take(t, rapid.SampledFrom(m.readers).Draw(t, "reader")) },
			"send": func(t *rapid.T) { m.send(t, rapid.SampledFrom(m.readers).Draw(t, "reader")) },
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
					r.forgetSequences()
				}
			},
			"": m.checkStored,
		})
	})
}
