package lane_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"callboard/projector/webhook/lane"
)

// newScheduler returns a scheduler and lanes that have a number of deliveries each.
func newScheduler(limit, lanes, concurrency int, waiting int64) (*lane.Scheduler[string], []*oneLane) {
	s := lane.NewScheduler[string](limit)
	list := make([]*oneLane, lanes)
	for i := range list {
		list[i] = lane.New[string](concurrency)
		refill(s, list[i], deliveries(1, waiting)...)
	}
	return s, list
}

func refill(s *lane.Scheduler[string], l *oneLane, waiting ...delivery) {
	if _, ok := l.StartLoad(); ok {
		s.Add(l, start(), waiting...)
	}
}

// Lanes that can go on take turns, whatever others do, and the limit over all of them holds.
func TestScheduler_TakesTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		s, lanes := newScheduler(limit, rapid.IntRange(2, 10).Draw(t, "lanes"), 8, 64)
		type sent struct {
			lane *oneLane
			id   int64
		}
		var inFlight []sent
		since := make(map[*oneLane]map[*oneLane]int) // starts of others since a lane's last one
		for range 200 {
			if rapid.Bool().Draw(t, "finish") && len(inFlight) > 0 {
				i := rapid.IntRange(0, len(inFlight)-1).Draw(t, "which")
				s.Done(inFlight[i].lane, inFlight[i].id, lane.Outcome{Success: true}, start())
				s.Recorded(inFlight[i].lane, inFlight[i].id, start())
				inFlight = append(inFlight[:i], inFlight[i+1:]...)
				continue
			}
			l, d, ok := s.Next(start())
			if !ok {
				continue
			}
			if inFlight = append(inFlight, sent{l, d.ID}); len(inFlight) > limit || s.InFlight() != len(inFlight) {
				t.Fatalf("in flight = %d, scheduler says %d, want %d at most", len(inFlight), s.InFlight(), limit)
			}
			since[l] = make(map[*oneLane]int)
			for _, other := range lanes {
				if at, can := other.NextAt(); !can || at.After(start()) {
					since[other] = nil // its turn begins when it can start again
				} else if other != l && since[other] != nil {
					if since[other][l]++; since[other][l] > 1 {
						t.Fatalf("a lane started %d deliveries while another waited for its turn, want 1", since[other][l])
					}
				}
			}
		}
	})
}

// Twenty lanes that hang have their concurrency in flight. The others go on.
func TestScheduler_GoesOnBesideLanesThatHang(t *testing.T) {
	s, lanes := newScheduler(200, 100, 8, 20)
	hangs := make(map[*oneLane]bool)
	for _, l := range lanes[:20] {
		hangs[l] = true
	}
	delivered := 0
	for {
		l, d, ok := s.Next(start())
		if !ok {
			break
		}
		if !hangs[l] {
			s.Done(l, d.ID, lane.Outcome{Success: true}, start())
			s.Recorded(l, d.ID, start())
			delivered++
		}
	}
	if delivered != 80*20 || s.InFlight() != 20*8 {
		t.Errorf("delivered = %d, in flight = %d, want %d and %d", delivered, s.InFlight(), 80*20, 20*8)
	}
}

func TestScheduler_WakesForTheEarliestLane(t *testing.T) {
	s, lanes := newScheduler(1, 3, 1, 0)
	if at, ok := s.WakeAt(start()); ok {
		t.Errorf("wake = %v, want none without deliveries", at)
	}
	for i, l := range lanes {
		refill(s, l, delivery{ID: 1, Due: start().Add(time.Duration(3-i) * time.Second)})
	}
	for i := range lanes {
		want := start().Add(time.Duration(i+1) * time.Second)
		at, ok := s.WakeAt(start())
		if _, _, early := s.Next(at.Add(-1)); !ok || !at.Equal(want) || early {
			t.Fatalf("wake = %v, %t, early = %t, want %v", at, ok, early, want)
		}
		l, d, ok := s.Next(at)
		if !ok || l != lanes[2-i] {
			t.Fatalf("start %d: ok = %t, want lane %d", i, ok, 2-i)
		}
		if at, ok := s.WakeAt(at); ok {
			t.Errorf("wake = %v, want none while the limit is reached", at)
		}
		s.Done(l, d.ID, lane.Outcome{Success: true}, at)
		s.Recorded(l, d.ID, at)
	}
}

// A lane that is removed starts nothing. What it has in flight counts until it ends.
func TestScheduler_Remove(t *testing.T) {
	s, lanes := newScheduler(2, 2, 2, 10)
	l, d, _ := s.Next(start())
	s.Remove(l)
	for range 3 {
		if other, _, ok := s.Next(start()); ok && (other == l || other != lanes[1]) {
			t.Fatal("the removed lane started a delivery")
		}
	}
	if s.InFlight() != 2 {
		t.Errorf("in flight = %d, want 2", s.InFlight())
	}
	for range 2 { // the second time changes nothing
		s.Done(l, d.ID, lane.Outcome{Success: true}, start())
	}
	if s.InFlight() != 1 {
		t.Errorf("in flight = %d, want 1", s.InFlight())
	}
	if other, _, ok := s.Next(start()); !ok || other == l {
		t.Errorf("started = %t, want the other lane", ok)
	}
}

// A lane goes on when the outcomes are recorded that filled its concurrency.
func TestScheduler_Recorded(t *testing.T) {
	s, _ := newScheduler(9, 1, 1, 2)
	l, d, _ := s.Next(start())
	s.Done(l, d.ID, lane.Outcome{Success: true}, start())
	if _, next, ok := s.Next(start()); ok {
		t.Errorf("started = %d before the outcome of %d was recorded, want none", next.ID, d.ID)
	}
	s.Recorded(l, d.ID, start())
	if _, _, ok := s.Next(start()); !ok {
		t.Error("started nothing after the outcome was recorded, want the next delivery")
	}
}

func BenchmarkScheduler(b *testing.B) {
	s, lanes := newScheduler(512, 1000, 8, 64)
	for _, l := range lanes[:20] { // they hang
		for range 8 {
			l.Next(start())
		}
		s.Recorded(l, 0, start()) // no delivery has this id: the scheduler only looks at the lane again
	}
	id := int64(1000)
	for b.Loop() {
		l, d, ok := s.Next(start())
		if !ok {
			b.Fatal("nothing to start")
		}
		s.Done(l, d.ID, lane.Outcome{Success: true}, start())
		s.Recorded(l, d.ID, start())
		if id += 64; d.ID%32 == 0 {
			refill(s, l, deliveries(id, id+31)...)
		}
	}
}
