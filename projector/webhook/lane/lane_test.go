package lane_test

import (
	"slices"
	"testing"
	"time"

	"callboard/projector/webhook/lane"
)

type (
	delivery = lane.Delivery[string]
	oneLane  = lane.Lane[string]
)

// deliveries returns deliveries with the ids from first to last, due at the start.
func deliveries(first, last int64) []delivery {
	var list []delivery
	for id := first; id <= last; id++ {
		list = append(list, delivery{ID: id, Due: start()})
	}
	return list
}

func newLane(concurrency int, waiting ...delivery) *oneLane {
	l := lane.New[string](concurrency)
	l.StartLoad()
	l.Add(waiting...)
	return l
}

// startAll returns the ids of what a lane starts at an instant.
func startAll(l *oneLane, now time.Time) []int64 {
	var ids []int64
	for {
		d, ok := l.Next(now)
		if !ok {
			return ids
		}
		ids = append(ids, d.ID)
	}
}

func fail(l *oneLane, now time.Time, ids ...int64) {
	for _, id := range ids {
		l.Done(id, lane.Outcome{}, now)
		l.Recorded(id)
	}
}

func succeed(l *oneLane, now time.Time, ids ...int64) {
	for _, id := range ids {
		l.Done(id, lane.Outcome{Success: true}, now)
		l.Recorded(id)
	}
}

func requireStarted(t *testing.T, what string, got []int64, want ...int64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: started = %v, want %v", what, got, want)
	}
}

func openLane(t *testing.T, concurrency int) *oneLane {
	t.Helper()
	l := newLane(concurrency, deliveries(1, 5)...)
	for len(startAll(l, start())) > 0 {
		fail(l, start(), 1, 2, 3, 4, 5)
	}
	if l.State() != lane.Open {
		t.Fatalf("state = %d, want open", l.State())
	}
	return l
}

func load(t *testing.T, l *oneLane, want lane.Load, loaded ...delivery) {
	t.Helper()
	if got, ok := l.StartLoad(); !ok || got != want {
		t.Fatalf("load = %+v, %t, want %+v", got, ok, want)
	}
	l.Add(loaded...)
}

func TestLane_StartsInOrderUpToItsConcurrency(t *testing.T) {
	l := newLane(2, delivery{ID: 9, Due: start()}, delivery{ID: 7, Due: start()}, delivery{ID: 8, Due: start().Add(-1)},
		delivery{ID: 1, Due: start().Add(time.Second)})
	requireStarted(t, "two at once", startAll(l, start()), 8, 7)
	if _, ok := l.NextAt(); ok || l.InFlight() != 2 {
		t.Errorf("in flight = %d, NextAt = %t, want 2 and false", l.InFlight(), ok)
	}
	succeed(l, start(), 8, 7)
	requireStarted(t, "the next", startAll(l, start()), 9)
	if at, ok := l.NextAt(); !ok || !at.Equal(start().Add(time.Second)) {
		t.Errorf("next = %v, %t, want the due time", at, ok)
	}
}

// A delivery whose outcome the database does not have yet is read as due. It must not start twice.
func TestLane_IgnoresWhatALoadReadTooEarly(t *testing.T) {
	l := newLane(8, deliveries(1, 2)...)
	requireStarted(t, "first", startAll(l, start()), 1, 2)
	if load, ok := l.StartLoad(); !ok || load.Limit != lane.LookAhead+2 {
		t.Fatalf("load = %+v, %t, want room for the two in flight", load, ok)
	}
	if _, ok := l.StartLoad(); ok {
		t.Error("a second load started, want one at a time")
	}
	succeed(l, start(), 1) // recorded while the load is under way
	l.Done(2, lane.Outcome{}, start())
	l.Add(deliveries(1, 3)...)
	requireStarted(t, "the new one alone", startAll(l, start()), 3)
	l.Recorded(2)
	load(t, l, lane.Load{Limit: lane.LookAhead + 1}, delivery{ID: 2, Due: start().Add(5 * time.Second)})
	requireStarted(t, "before it is due", startAll(l, start()))
	requireStarted(t, "when it is due again", startAll(l, start().Add(5*time.Second)), 2)
}

func TestLane_HasAtMostTheLookAhead(t *testing.T) {
	l := newLane(1000, deliveries(1, 500)...)
	if _, ok := l.StartLoad(); ok {
		t.Error("a full lane loads")
	}
	if got := len(startAll(l, start())); got != lane.LookAhead {
		t.Errorf("deliveries = %d, want %d", got, lane.LookAhead)
	}
}

// While the breaker is open, the oldest delivery alone is tried, after 1, 2, 4 … 60 s.
func TestLane_ProbesWithTheOldest(t *testing.T) {
	l, now := openLane(t, 8), start()
	for i, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		load(t, l, lane.Load{Limit: 1, Oldest: true}, delivery{ID: 1, Due: start().Add(time.Hour)})
		at, ok := l.NextAt()
		if want := now.Add(time.Duration(seconds) * time.Second); !ok || !at.Equal(want) {
			t.Fatalf("probe %d = %v, want after %d s", i, at.Sub(now), seconds)
		}
		requireStarted(t, "too early", startAll(l, at.Add(-1)))
		now = at
		requireStarted(t, "the probe", startAll(l, now), 1)
		if _, ok := l.StartLoad(); ok || l.State() != lane.Probing {
			t.Fatalf("state = %d, loads = %t, want probing and no load", l.State(), ok)
		}
		fail(l, now, 1)
	}
}

func TestLane_ProbesNotBeforeRetryAfter(t *testing.T) {
	l := openLane(t, 8)
	load(t, l, lane.Load{Limit: 1, Oldest: true}, deliveries(1, 1)...)
	for _, c := range []struct{ asked, want time.Duration }{
		{10 * time.Second, 10 * time.Second}, {9 * time.Hour, time.Hour}, {0, 8 * time.Second},
	} {
		now, _ := l.NextAt()
		requireStarted(t, "the probe", startAll(l, now), 1)
		l.Done(1, lane.Outcome{RetryAfter: c.asked}, now)
		l.Recorded(1)
		load(t, l, lane.Load{Limit: 1, Oldest: true}, deliveries(1, 1)...)
		if at, _ := l.NextAt(); at.Sub(now) != c.want {
			t.Errorf("Retry-After %v: probe after %v, want %v", c.asked, at.Sub(now), c.want)
		}
	}
}

// After the first success 1, 2, 4 … requests run at once, until the concurrency is reached.
func TestLane_StartsSlowlyAfterItCloses(t *testing.T) {
	l := openLane(t, 10)
	load(t, l, lane.Load{Limit: 1, Oldest: true}, deliveries(1, 1)...)
	now, _ := l.NextAt()
	requireStarted(t, "the probe", startAll(l, now), 1)
	succeed(l, now, 1)
	load(t, l, lane.Load{Limit: lane.LookAhead}, deliveries(2, 60)...)
	for i, want := range []int{1, 2, 4, 8, 10, 10} {
		ids := startAll(l, now)
		if len(ids) != want {
			t.Fatalf("round %d: started = %d, want %d", i, len(ids), want)
		}
		succeed(l, now, ids...)
	}
}

// A load that started before the breaker opened read what is not the probe.
func TestLane_DiscardsALoadFromBeforeItOpened(t *testing.T) {
	l := newLane(8, deliveries(1, 5)...)
	startAll(l, start())
	l.StartLoad()
	fail(l, start(), 1, 2, 3, 4, 5)
	l.Add(deliveries(6, 9)...)
	requireStarted(t, "after a minute", startAll(l, start().Add(time.Minute)))
	load(t, l, lane.Load{Limit: 1, Oldest: true}, deliveries(1, 1)...)
	requireStarted(t, "after a minute", startAll(l, start().Add(time.Minute)), 1)
}

// One delivery that always fails says nothing about others.
func TestLane_StaysClosedForOneBadDelivery(t *testing.T) {
	l := newLane(2)
	for id := int64(2); id < 500; id++ {
		load(t, l, lane.Load{Limit: lane.LookAhead}, delivery{ID: 1, Due: start().Add(-1)}, delivery{ID: id, Due: start()})
		requireStarted(t, "both", startAll(l, start()), 1, id)
		fail(l, start(), 1)
		if id%3 == 0 { // several failures of it in a row
			load(t, l, lane.Load{Limit: lane.LookAhead + 1}, deliveries(1, 1)...)
			requireStarted(t, "again", startAll(l, start()), 1)
			fail(l, start(), 1)
		}
		succeed(l, start(), id)
		if l.State() != lane.Closed {
			t.Fatalf("after delivery %d: state = %d, want closed", id, l.State())
		}
	}
}
