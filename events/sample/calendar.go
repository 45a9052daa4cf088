package sample

import (
	"math/bits"
	"time"

	"callboard/events"
)

// calendar says when a business gets calls: most of them in its opening hours, with a peak in the morning and a lower one
// in the afternoon, and with a random variation from hour to hour.
type calendar struct {
	seed        uint64
	from        events.Time // the first hour of History
	hours       int
	last        events.Time     // no call begins later
	zone        events.Time     // local time minus UTC
	open        [7]openingHours // from Monday
	calls       int
	totalWeight uint64 // of all hours
}

// minTail is the least time between the beginning of a call and the end of History.
const minTail = 10 * minute

func newCalendar(s *system, from, until events.Time, days int) calendar {
	c := calendar{
		seed: mix(s.seed ^ mix(s.index<<8|hourPath)), from: from, hours: days * 24, last: until - minTail,
		zone: events.Time(s.exchange.zone) * hour, open: s.trade.hours, calls: s.calls,
	}
	for h := range c.hours {
		c.totalWeight += c.weight(h)
	}
	return c
}

// weight is proportional to the number of calls in the h-th hour of History.
func (c *calendar) weight(h int) uint64 {
	// Of an opening hour, by the hour of the day.
	opening := [24]uint64{40, 40, 40, 40, 40, 40, 60, 80, 120, 150, 160, 140, 90, 100, 130, 120, 100, 80, 60, 50, 45, 40, 40, 40}
	at := c.from + events.Time(h)*hour
	variation := 75 + mix(c.seed+uint64(h))%51
	switch local := c.local(at); {
	case c.isOpen(at):
		return opening[local.Hour()] * variation
	case local.Hour() >= 7 && local.Hour() < 22:
		return 6 * variation
	}
	return 2 * variation
}

func (c *calendar) local(at events.Time) time.Time { return (at + c.zone).Std() }

func (c *calendar) isOpen(at events.Time) bool {
	local := c.local(at)
	today := c.open[(local.Weekday()+6)%7]
	return today.from <= local.Hour() && local.Hour() < today.to
}

// arrivals yields the times of a business's calls: in order, and exactly as many as the calendar has calls. It distributes
// them over the hours by cumulative weight, which needs no list of calls.
type arrivals struct {
	*calendar
	rng    random
	hour   int    // the next one
	weight uint64 // of the hours before it
	given  int    // calls of the hours before it
	begin  events.Time
	i, n   int // calls of the present hour: yielded, and all
}

// next returns the time of the next call; ok is false if there are no more.
func (a *arrivals) next() (at events.Time, ok bool) {
	for a.i == a.n {
		if a.hour == a.hours {
			return 0, false
		}
		a.begin = a.from + events.Time(a.hour)*hour
		a.weight += a.calendar.weight(a.hour)
		a.hour++
		given := proportion(a.calls, a.weight, a.totalWeight)
		a.i, a.n, a.given = 0, given-a.given, given
	}
	// One call at a random time in each n-th of the hour.
	at = a.begin + (events.Time(a.i)*hour+events.Time(a.rng.below(int(hour))))/events.Time(a.n)
	a.i++
	return min(at, a.last), true
}

// remaining is the number of calls that next has not returned yet.
func (a *arrivals) remaining() int { return a.calls - a.given + a.n - a.i }

// proportion is calls*part/total without overflow.
func proportion(calls int, part, total uint64) int {
	high, low := bits.Mul64(uint64(calls), part)
	quotient, _ := bits.Div64(high, low, total)
	return int(quotient)
}

// maxBacklog is how many further calls of a business arrive, on average, before the last event about a call. It limits the
// queue: the more calls a business has, the sooner everything happens.
const maxBacklog = 64

// distributeCalls divides the calls among the systems by their size and builds their calendars.
func (b *builder) distributeCalls(calls, days int) {
	var total, weight uint64
	for _, s := range b.company.systems {
		total += uint64(len(s.extensions))
	}
	given := 0
	for _, s := range b.company.systems {
		weight += uint64(len(s.extensions))
		upTo := proportion(calls, weight, total)
		s.calls, given = upTo-given, upTo
		s.calendar = newCalendar(s, b.company.from, b.company.until, days)
		s.maxDelay = maxBacklog * (b.company.until - b.company.from) / events.Time(max(s.calls, 1))
	}
}
