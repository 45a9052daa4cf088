package sample

import (
	"cmp"
	"container/heap"
	"iter"
	"time"

	"callboard/events"
)

// History yields the events of the company's period in time order.
func (c *Company) History() iter.Seq[events.Event] {
	return func(yield func(events.Event) bool) {
		q := &queue{}
		for _, s := range c.systems {
			source := &callSource{system: s, queue: q, arrivals: arrivals{calendar: &s.calendar, rng: newRandom(s.seed, hourPath, s.index)}}
			source.scheduleNext()
		}
		changes := c.changes
		for {
			next, ok := q.next(c.until)
			for len(changes) > 0 && (!ok || changes[0].at <= next.at) {
				if !yield(changes[0].event) {
					return
				}
				changes = changes[1:]
			}
			if !ok {
				return
			}
			if e := next.run(next.leg, next.at); e.Entity != "" && !yield(e) {
				return
			}
		}
	}
}

// callSource generates one system's calls during History.
type callSource struct {
	system   *system
	queue    *queue
	arrivals arrivals
	count    uint64
}

func (s *callSource) scheduleNext() {
	if at, ok := s.arrivals.next(); ok {
		s.queue.add(at, nil, s.call)
	}
}

// call generates a call. Each further leg uses an arrival, so that the number of legs is the number of calls of the Config.
func (s *callSource) call(_ *leg, at events.Time) events.Event {
	s.count++
	f := callFlow{
		system: s.system, rng: newRandom(s.system.seed, callPath, s.system.index, s.count), begin: at,
		maxLegs: min(maxLegs, 1+s.arrivals.remaining()), open: s.system.calendar.isOpen(at), limit: s.system.calendar.last + minTail - at,
	}
	f.run()
	for i, l := range f.legs {
		l.schedule(s.queue, s.system.maxDelay)
		if i > 0 {
			s.arrivals.next()
		}
	}
	s.scheduleNext()
	return events.Event{}
}

// Live generates further calls on the company as it is at the end of History. It is not safe for concurrent use.
type Live struct {
	company *Company
	queue   queue
}

// liveMaxDelay is the longest time from the end of a live call until the last event about it, so that a spectator sees all
// of them.
const liveMaxDelay = 5 * minute

// Live starts a sequence of further calls.
func (c *Company) Live() *Live { return &Live{company: c} }

// Next returns the events that are due: those of earlier calls, and those of the given number of new calls, which end now.
// The same times and numbers give the same events. Times must not decrease.
func (l *Live) Next(now time.Time, calls int) []events.Event {
	at := events.TimeOf(now)
	due := l.due(at)
	for i := range calls {
		l.call(at, uint64(i))
	}
	return append(due, l.due(at)...)
}

func (l *Live) due(at events.Time) []events.Event {
	var due []events.Event
	for {
		next, ok := l.queue.next(at)
		if !ok {
			return due
		}
		if e := next.run(next.leg, next.at); e.Entity != "" {
			due = append(due, e)
		}
	}
}

// call generates a call and moves it in time so that it ends now. The call depends on the time, so a second run has other
// calls. Businesses are always open.
func (l *Live) call(at events.Time, n uint64) {
	rng := newRandom(l.company.seed, livePath, uint64(at), n)
	f := callFlow{system: l.system(&rng), rng: rng, begin: at, maxLegs: maxLegs, open: true, limit: hour}
	f.run()
	shift := at - f.legs[len(f.legs)-1].end - publishDelay
	for _, leg := range f.legs {
		leg.shift(shift)
		leg.schedule(&l.queue, liveMaxDelay)
	}
}

// system picks a system, large ones more often.
func (l *Live) system(rng *random) *system {
	for {
		if s := pick(rng, l.company.systems); rng.below(16) < len(s.extensions) {
			return s
		}
	}
}

// action makes something happen to a leg. It returns the event about it, or one without an entity.
type action func(l *leg, at events.Time) events.Event

// queue holds scheduled actions by time. Actions of the same time keep the order in which they were added.
type queue struct {
	tasks tasks
	added uint64
}

type task struct {
	at    events.Time
	order uint64
	leg   *leg
	run   action
}

func (q *queue) add(at events.Time, l *leg, run action) {
	q.added++
	heap.Push(&q.tasks, task{at, q.added, l, run})
}

// next removes and returns the first task; ok is false if none is due at the given time.
func (q *queue) next(until events.Time) (next task, ok bool) {
	if len(q.tasks) == 0 || q.tasks[0].at > until {
		return task{}, false
	}
	return heap.Pop(&q.tasks).(task), true
}

// tasks implements heap.Interface.
type tasks []task

func (t tasks) Len() int { return len(t) }
func (t tasks) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(t[i].at, t[j].at), cmp.Compare(t[i].order, t[j].order)) < 0
}
func (t tasks) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *tasks) Push(x any)   { *t = append(*t, x.(task)) }

func (t *tasks) Pop() any {
	last := len(*t) - 1
	popped := (*t)[last]
	(*t)[last] = task{} // for the garbage collector
	*t = (*t)[:last]
	return popped
}
