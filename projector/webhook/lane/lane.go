package lane

import (
	"cmp"
	"slices"
	"time"
)

// LookAhead is how many deliveries that are not in flight a lane has at most.
const LookAhead = 64

// Delivery is one event for one endpoint.
type Delivery[P any] struct {
	ID       int64 // above 0; rises in commit order
	Due      time.Time
	Attempts int
	Expires  time.Time // of the last attempt; zero: none was made
	Payload  P
}

func compare[P any](a, b Delivery[P]) int {
	return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID))
}

// Outcome is how an attempt ended.
type Outcome struct {
	Success    bool
	RetryAfter time.Duration // of a failure: what the endpoint asked for; 0: nothing
}

// Lane has the next deliveries of one endpoint. A lane of a [Scheduler] is changed by the scheduler's methods alone. The zero Lane is not a
// lane.
type Lane[P any] struct {
	concurrency int
	breaker     breaker
	waiting     []Delivery[P] // by (Due, ID)

	// busy has the deliveries that the database may still have as due although they must not start: true while in flight, false until
	// the outcome is recorded.
	busy     map[int64]bool
	inFlight int

	load     *Load   // under way
	recorded []int64 // while a load is under way, which may have read them before: still in busy

	place place
}

// Load is what a lane needs from the database.
type Load struct {
	// Limit is how many rows to read. Those that the lane has already are among them.
	Limit int

	// Oldest asks for the delivery with the lowest id, whether due or not: the breaker is open, and it is the probe. Otherwise the lane
	// needs deliveries that are due, in the order of (Due, ID).
	Oldest bool
}

// New returns a lane with nothing to send, for a number of requests at once.
func New[P any](concurrency int) *Lane[P] {
	return &Lane[P]{concurrency: concurrency, breaker: breaker{window: unlimited}, busy: make(map[int64]bool), place: place{index: notQueued}}
}

// StartLoad returns what to load. It returns false if the lane has enough or a load is under way. After true, Add must be called, with
// nothing if the load failed.
func (l *Lane[P]) StartLoad() (Load, bool) {
	if l.load != nil {
		return Load{}, false
	}
	switch {
	case l.breaker.open:
		// While an outcome is not recorded, the oldest delivery is not known.
		if len(l.waiting) > 0 || len(l.busy) > 0 {
			return Load{}, false
		}
		l.load = &Load{Limit: 1, Oldest: true}
	case len(l.waiting) > LookAhead/2:
		return Load{}, false
	default:
		l.load = &Load{Limit: LookAhead + len(l.busy)}
	}
	return *l.load, true
}

// Add ends a load. It ignores deliveries that the lane has already, those beyond [LookAhead], and all if the breaker opened or closed
// since the load started: the lane needs others then.
func (l *Lane[P]) Add(loaded ...Delivery[P]) {
	if l.load != nil && l.load.Oldest == l.breaker.open {
		for _, d := range loaded {
			l.add(d)
		}
	}
	for _, id := range l.recorded {
		delete(l.busy, id)
	}
	l.load, l.recorded = nil, nil
}

func (l *Lane[P]) add(d Delivery[P]) {
	if _, known := l.busy[d.ID]; known || slices.ContainsFunc(l.waiting, func(w Delivery[P]) bool { return w.ID == d.ID }) {
		return
	}
	i, _ := slices.BinarySearchFunc(l.waiting, d, compare[P])
	l.waiting = slices.Insert(l.waiting, i, d)
	if len(l.waiting) > LookAhead {
		l.waiting = slices.Delete(l.waiting, LookAhead, len(l.waiting))
	}
}

// Next returns the delivery to send now, and false if there is none. Done must be called for it.
func (l *Lane[P]) Next(now time.Time) (Delivery[P], bool) {
	at, ok := l.NextAt()
	if !ok || at.After(now) {
		return Delivery[P]{}, false
	}
	d := l.waiting[0]
	l.waiting = slices.Delete(l.waiting, 0, 1)
	l.busy[d.ID] = true
	l.inFlight++
	if l.breaker.open {
		l.breaker.probe = d.ID
	}
	return d, true
}

// NextAt returns from when on Next returns a delivery, if nothing else happens before. It returns false if something has to: an outcome, or
// a load.
func (l *Lane[P]) NextAt() (time.Time, bool) {
	switch {
	case len(l.waiting) == 0:
		return time.Time{}, false
	case l.breaker.open:
		return l.breaker.probeAt, l.inFlight == 0
	}
	return l.waiting[0].Due, l.unrecorded() < min(l.concurrency, l.breaker.window)
}

// unrecorded returns the number of deliveries in flight or without a recorded outcome. They are what a sender repeats that takes over from one
// that was killed, so the concurrency bounds them.
func (l *Lane[P]) unrecorded() int { return len(l.busy) - len(l.recorded) }

// Done ends an attempt at a delivery that Next returned, and reports whether it was in flight. The delivery does not start again before
// its outcome is in the database, which Recorded tells, and it is loaded again. Until then it counts towards the concurrency.
func (l *Lane[P]) Done(id int64, outcome Outcome, now time.Time) bool {
	if !l.busy[id] {
		return false
	}
	l.busy[id] = false
	l.inFlight--
	open := l.breaker.open
	if outcome.Success {
		l.breaker.succeed(l.concurrency)
	} else {
		l.breaker.fail(id, outcome.RetryAfter, now)
	}
	if l.breaker.open != open {
		l.waiting = nil // the probe alone is needed from now on, or no longer
	}
	return true
}

// Recorded says that the database has the outcome of a delivery.
func (l *Lane[P]) Recorded(id int64) {
	inFlight, known := l.busy[id]
	switch {
	case !known || inFlight:
	case l.load != nil:
		l.recorded = append(l.recorded, id)
	default:
		delete(l.busy, id)
	}
}

// State returns the state of the breaker.
func (l *Lane[P]) State() State { return l.breaker.state() }

// InFlight returns the number of deliveries that Next returned and Done has not ended.
func (l *Lane[P]) InFlight() int { return l.inFlight }
