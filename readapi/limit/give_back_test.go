package limit

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events/eventstest"
)

// allowedDecisions takes permits one after the other, each of which must be allowed.
func allowedDecisions(t *testing.T, l *Limiter, r Request, n int) []*Decision {
	t.Helper()
	list := make([]*Decision, n)
	for i := range list {
		if list[i] = l.Take(t.Context(), r); !list[i].Allowed {
			t.Fatalf("request %d: allowed = false", i)
		}
	}
	return list
}

// Permits that are given back can be taken again, by every reader, also when the log was full. Giving back writes nothing by itself.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	readers := startLimiters(t, server.URL(), 2, withWindow(time.Hour))
	r := Request{Lineage: uuid.New(), Report: listReports}
	taken := allowedDecisions(t, readers[0], r, 120)
	for _, reader := range readers {
		if got := countAllowed(t, reader, r, 1); got != 0 {
			t.Errorf("allowed of a budget that is used up = %d, want 0", got)
		}
	}
	k := readers[0].lineage(r.Lineage)
	eventstest.Eventually(t, "the last write has ended", func() bool { return !k.served() })
	for _, d := range taken[:50] {
		d.GiveBack()
	}
	if got := storedPermits(t, readers[0], r.Lineage, listReports); got != 120 {
		t.Errorf("stored permits before the next write = %d, want 120", got)
	}
	if got := countAllowed(t, readers[0], r, 20); got != 20 {
		t.Errorf("allowed by the reader that gave back = %d, want 20", got)
	}
	for _, name := range []string{listReports, tierPolicy} {
		if got := storedPermits(t, readers[1], r.Lineage, name); got != 90 {
			t.Errorf("stored permits of %s = %d, want 90", name, got)
		}
	}
	// The log that the other reader remembers was full. It reads the server's after a second.
	total := 0
	eventstest.Eventually(t, "the other reader allows the rest", func() bool {
		total += countAllowed(t, readers[1], r, 60)
		return total >= 30
	})
	if total += takeAtOnce(t, repeat(r, 60), readers...)[r]; total != 30 {
		t.Errorf("allowed of the rest = %d, want 30", total)
	}
}

// While both readers take and give back at once, the log has exactly the permits that are kept.
func TestGiveBack_Concurrently(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	readers := startLimiters(t, server.URL(), 3, withWindow(time.Hour))
	awaitExactClocks(t, readers...)
	r := Request{Lineage: uuid.New(), Report: dimensions, Premium: true}
	const each = 40
	done := make(chan struct{})
	for _, reader := range readers {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range each {
				if d := reader.Take(t.Context(), r); d.Allowed && i%2 == 0 {
					d.GiveBack()
				}
			}
			reader.Take(t.Context(), r) // its write has what was given back last
		}()
	}
	for range readers {
		<-done
	}
	want := len(readers) * (each/2 + 1)
	for _, name := range []string{dimensions, tierPolicy} {
		if got := storedPermits(t, readers[0], r.Lineage, name); got != want {
			t.Errorf("stored permits of %s = %d, want %d", name, got, want)
		}
	}
}

// A restart of NATS, or another log, makes given back permits stay taken.
func TestGiveBack_OtherLog(t *testing.T) {
	t.Parallel()
	k := lineage{window: minute, sequence: 7, log: permitLog{origin: 9, newest: 5000}}
	k.log.take(tierOf3)
	k.unused = []*waiter{
		{buckets: tierOf3, origin: 8, at: 5000},
		{buckets: tierOf3, origin: 9, at: 4399},
	}
	k.waiting = []*waiter{{buckets: tierOf3, decided: make(chan result, 1)}}
	w := k.next(4990, 5000, writer{1, 2}, 3)
	if len(w.unused) != 0 || w.log.bucket(tierPolicy).total != 2 {
		t.Errorf("given back = %d, permits = %d, want 0 and 2", len(w.unused), w.log.bucket(tierPolicy).total)
	}
}

// A version that fails, and permits that are given back meanwhile.
func TestGiveBack_WhileWriting(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*lineage, *write){
		"confirmed": func(k *lineage, w *write) { k.confirm(w, version{w.log, 8, 5000}) },
		"failed":    func(k *lineage, w *write) { k.fail(w, errNoReply) },
	} {
		k := &lineage{window: minute, sequence: 7, log: permitLog{origin: 9, newest: 5000}}
		k.log.take(tierOf3)
		k.log.take(tierOf3)
		first, second := &waiter{buckets: tierOf3, origin: 9, at: 5000}, &waiter{buckets: tierOf3, origin: 9, at: 5000}
		k.giveBack(first)
		w := k.next(5000, 5000, writer{1, 2}, 3)
		k.giveBack(second)
		end(k, w)
		if len(k.unused) != 1 || k.unused[0] != second {
			t.Errorf("%s: to give back = %v, want the second one", name, k.unused)
		}
	}
}

// Whatever is taken and given back, at any instant each window has at least the permits that are in use.
func TestGiveBack_NeverForgetsOthers(t *testing.T) {
	t.Parallel()
	const window = 20
	rapid.Check(t, func(t *rapid.T) {
		k := &lineage{window: window, sequence: 1, log: permitLog{origin: 1}}
		buckets := []bucket{{policy: tierPolicy, name: tierPolicy, limit: 1000}}
		var inUse, all []*waiter
		now := tick(1000)
		for range rapid.IntRange(1, 60).Draw(t, "writes") {
			now += tick(rapid.IntRange(0, 6).Draw(t, "pause"))
			r := &waiter{buckets: buckets, decided: make(chan result, 1)}
			k.enqueue(r)
			w := k.next(now-tick(rapid.IntRange(0, 2).Draw(t, "error")), now, writer{1, 2}, 3)
			k.confirm(w, version{w.log, w.expected + 1, now + tick(rapid.IntRange(0, 2).Draw(t, "late"))})
			inUse, all = append(inUse, r), append(all, r)
			if i := rapid.IntRange(-2, len(inUse)-1).Draw(t, "given back"); i >= 0 {
				k.giveBack(inUse[i])
				inUse = append(inUse[:i:i], inUse[i+1:]...)
			}
			want := 0
			for _, r := range inUse {
				if r.at+window+1 > now {
					want++
				}
			}
			stored := k.log.clone()
			stored.expire(now, window)
			got := 0
			if b := stored.bucket(tierPolicy); b != nil {
				got = b.total
			}
			if got < want {
				t.Fatalf("at %d: permits = %d, in use = %d of %d", now, got, want, len(all))
			}
		}
	})
}
