package sample

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"
	"time"

	"callboard/events"
)

// History yields the events of the company's period in time order.
func (c *Company) History() iter.Seq[events.Event] {
	return func(yield func(events.Event) bool) {
		q := &queue{}
		for _, s := range c.systems {
			s.reorganize(q)
		}

		// Halfway through the period the second group changes its phone systems.
		if len(c.systems) > 1 {
			extended, at := *c.groups[1], c.from+(c.until-c.from)/2
			extended.Version, extended.PhoneSystemIDs = 2, append(extended.PhoneSystemIDs[:1:1], c.systems[1].state.ID)
			q.add(at, events.Changed(&extended))
		}

		calendar := newCalendar(c)
		for n := 0; n < c.calls; {
			rng := newRandom(c.seed, "call", n)
			end := calendar.at(n, rng)
			for e := range q.due(end) {
				if !yield(e) {
					return
				}
			}

			// Each leg counts as a call.
			e := ending{at: end, open: open(end), maxLegs: min(c.calls-n, 3), latest: never}
			n += pick(rng, c.systems).publishCall(q, rng, e)
		}

		// The last calls have events after their end.
		for e := range q.due(c.until) {
			if !yield(e) {
				return
			}
		}
	}
}

// calendar spreads a company's calls over the hours of its period.
type calendar struct {
	hour           events.Time // the hour of the last call
	before, weight uint64      // of all hours before, and of this one
	step           uint64      // the weight of one call
}

func newCalendar(c *Company) *calendar {
	// The first hour is left out, so that no call begins before the period, and so are the last minutes.
	k := &calendar{hour: c.from + hour, weight: weight(c.from + hour)}
	var total uint64
	for at := k.hour; at+hour <= c.until; at += hour {
		total += weight(at)
	}
	k.step = total / uint64(max(c.calls, 1))
	return k
}

// at returns the end of the n-th call. The numbers must not decrease.
func (k *calendar) at(n int, rng random) events.Time {
	position := k.step*uint64(n) + rng.Uint64N(k.step)
	for position >= k.before+k.weight {
		k.before += k.weight
		k.hour += hour
		k.weight = weight(k.hour)
	}
	return k.hour + events.Time((position-k.before)/(k.weight/uint64(hour))*59/60)
}

// weight is in proportion to the number of calls of an hour: most of them come on the mornings of working days.
func weight(at events.Time) uint64 {
	perHour := [24]uint64{2, 1, 1, 1, 1, 2, 6, 20, 90, 150, 160, 140, 90, 100, 130, 120, 100, 70, 30, 15, 10, 8, 5, 3}
	perDay := [7]uint64{1, 12, 12, 12, 12, 10, 4} // from Sunday
	return perHour[at.Std().Hour()] * perDay[at.Std().Weekday()] * uint64(hour)
}

func open(at events.Time) bool {
	t := at.Std()
	return t.Hour() >= 8 && t.Hour() < 18 && t.Weekday() != time.Sunday
}

// Live generates further calls on the company as it is at the end of History. It is not safe for concurrent use.
type Live struct {
	company *Company
	queue   queue
}

// Live starts a sequence of further calls.
func (c *Company) Live() *Live { return &Live{company: c} }

// Next returns the events that are due: those of earlier calls, and those of the given number of new calls, which end
// now. All events of a call are due within five minutes. The same times and numbers give the same events. Times must
// not decrease.
func (l *Live) Next(now time.Time, calls int) []events.Event {
	at := events.TimeOf(now)
	for i := range calls {
		rng := newRandom(l.company.seed, "live", at, i)
		e := ending{at: at - publishDelay, open: true, maxLegs: 3, latest: at + 5*minute}
		pick(rng, l.company.systems).publishCall(&l.queue, rng, e)
	}
	return slices.Collect(l.queue.due(at))
}

// scheduled is an event of a queue.
type scheduled struct {
	at    events.Time
	order int // of equal times
	event events.Event
}

// queue holds events until their time has come.
type queue struct {
	events byTime
	added  int
}

func (q *queue) add(at events.Time, e events.Event) {
	q.added++
	heap.Push(&q.events, scheduled{at, q.added, envelope(at, e)})
}

// due removes and yields the events until a time.
func (q *queue) due(until events.Time) iter.Seq[events.Event] {
	return func(yield func(events.Event) bool) {
		for len(q.events) > 0 && q.events[0].at <= until {
			if next := heap.Pop(&q.events).(scheduled); !yield(next.event) {
				return
			}
		}
	}
}

// byTime implements [heap.Interface].
type byTime []scheduled

func (b byTime) Len() int { return len(b) }
func (b byTime) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(b[i].at, b[j].at), b[i].order-b[j].order) < 0
}
func (b byTime) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b *byTime) Push(x any)   { *b = append(*b, x.(scheduled)) }

func (b *byTime) Pop() any {
	last := len(*b) - 1
	popped := (*b)[last]
	(*b)[last] = scheduled{} // for the garbage collector
	*b = (*b)[:last]
	return popped
}
