package lane

import (
	"container/heap"
	"container/list"
	"time"
)

// Scheduler shares a limit of requests among lanes, round robin: between two starts of a lane that can go on, each other lane starts one
// delivery at most. A step takes a time that is logarithmic in the number of lanes; lanes that can start nothing take none.
type Scheduler[P any] struct {
	limit    int
	inFlight int
	ready    *list.List  // lanes that can start something now, in the order of their turns
	later    timeHeap[P] // lanes that can without another event
}

// place is where a scheduler has a lane: in ready, in later, or in neither.
type place struct {
	element *list.Element
	index   int // in later
	at      time.Time
	removed bool
}

const notQueued = -1

// NewScheduler returns a scheduler for a number of requests at once, over all lanes.
func NewScheduler[P any](limit int) *Scheduler[P] {
	return &Scheduler[P]{limit: limit, ready: list.New()}
}

// Add ends a load of a lane, as [Lane.Add] does. The first call makes a lane known to the scheduler.
func (s *Scheduler[P]) Add(l *Lane[P], now time.Time, loaded ...Delivery[P]) {
	l.Add(loaded...)
	s.update(l, now)
}

// Next returns the delivery to send now and its lane, and false if there is none. Done must be called for it.
func (s *Scheduler[P]) Next(now time.Time) (*Lane[P], Delivery[P], bool) {
	for len(s.later) > 0 && !s.later[0].place.at.After(now) {
		s.update(s.later[0], now)
	}
	for s.inFlight < s.limit && s.ready.Len() > 0 {
		l := s.ready.Front().Value.(*Lane[P]) // the list has lanes only
		s.leave(l)
		d, ok := l.Next(now)
		s.update(l, now) // at the end of the turns
		if ok {
			s.inFlight++
			return l, d, true
		}
	}
	return nil, Delivery[P]{}, false
}

// Done ends an attempt, as [Lane.Done] does, also of a lane that was removed.
func (s *Scheduler[P]) Done(l *Lane[P], id int64, outcome Outcome, now time.Time) {
	if l.Done(id, outcome, now) {
		s.inFlight--
	}
	s.update(l, now)
}

// Recorded says that the database has the outcome of a delivery, as [Lane.Recorded] does, also of a lane that was removed.
func (s *Scheduler[P]) Recorded(l *Lane[P], id int64, now time.Time) {
	l.Recorded(id)
	s.update(l, now)
}

// Remove forgets a lane for ever. Its requests in flight count until Done ends them.
func (s *Scheduler[P]) Remove(l *Lane[P]) {
	s.leave(l)
	l.place.removed = true
}

// WakeAt returns from when on Next returns a delivery, if nothing else happens before. The instant can have passed. It returns false if
// something has to happen: an outcome, or a load.
func (s *Scheduler[P]) WakeAt(now time.Time) (time.Time, bool) {
	switch {
	case s.inFlight >= s.limit:
		return time.Time{}, false
	case s.ready.Len() > 0:
		return now, true
	case len(s.later) > 0:
		return s.later[0].place.at, true
	}
	return time.Time{}, false
}

// InFlight returns the number of deliveries that Next returned and Done has not ended.
func (s *Scheduler[P]) InFlight() int { return s.inFlight }

// update puts a lane where it belongs. One that has a turn keeps it as long as it can start something.
func (s *Scheduler[P]) update(l *Lane[P], now time.Time) {
	at, ok := l.NextAt()
	ok = ok && !l.place.removed
	turn := ok && !at.After(now)
	if turn && l.place.element != nil {
		return
	}
	s.leave(l)
	switch {
	case turn:
		l.place.element = s.ready.PushBack(l)
	case ok:
		l.place.at = at
		heap.Push(&s.later, l)
	}
}

func (s *Scheduler[P]) leave(l *Lane[P]) {
	if l.place.element != nil {
		s.ready.Remove(l.place.element)
		l.place.element = nil
	}
	if l.place.index != notQueued {
		heap.Remove(&s.later, l.place.index)
	}
}

// timeHeap has the lane with the earliest instant first.
type timeHeap[P any] []*Lane[P]

// Len implements [heap.Interface].
func (h timeHeap[P]) Len() int { return len(h) }

// Less implements [heap.Interface].
func (h timeHeap[P]) Less(i, j int) bool { return h[i].place.at.Before(h[j].place.at) }

// Swap implements [heap.Interface].
func (h timeHeap[P]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place.index, h[j].place.index = i, j
}

// Push implements [heap.Interface].
func (h *timeHeap[P]) Push(x any) {
	l := x.(*Lane[P]) // only update calls it
	l.place.index = len(*h)
	*h = append(*h, l)
}

// Pop implements [heap.Interface].
func (h *timeHeap[P]) Pop() any {
	last := len(*h) - 1
	l := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	l.place.index = notQueued
	return l
}
