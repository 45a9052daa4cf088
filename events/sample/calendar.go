package sample

import (
	"math/bits"

	"callboard/events"
)

// calendar says when calls come in to a business: in its opening hours, mostly before lunch and in the early afternoon, and
// every hour of every day a little differently.
type calendar struct {
	seed  uint64
	from  events.Time // the window's first hour
	hours int
	last  events.Time // no call comes later
	zone  events.Time // local time less UTC
	open  [7]opening
	calls int
	total uint64 // of all hours' weights
}

// bustle is how many calls an opening hour has, from midnight on, by the hour of the day.
func bustle() [24]uint64 {
	return [...]uint64{40, 40, 40, 40, 40, 40, 60, 80, 120, 150, 160, 140, 90, 100, 130, 120, 100, 80, 60, 50, 45, 40, 40, 40}
}

// settle is the time that a call has, at the least, to come to its end within the window.
const settle = 10 * minute

func newCalendar(s *system, from, until events.Time, days int) calendar {
	c := calendar{
		seed: mix(s.seed ^ mix(s.index<<8|hourPath)), from: from, hours: days * 24, last: until - settle,
		zone: events.Time(s.exchange.zone) * hour, open: s.trade.hours, calls: s.calls,
	}
	for h := range c.hours {
		c.total += c.weight(h)
	}
	return c
}

// weight is how likely a call is to come in the window's h-th hour.
func (c *calendar) weight(h int) uint64 {
	at := c.from + events.Time(h)*hour
	variation := 75 + mix(c.seed+uint64(h))%51
	of := local(at + c.zone)
	switch {
	case c.isOpen(at):
		return bustle()[of.hour] * variation
	case of.hour >= 7 && of.hour < 22:
		return 6 * variation
	}
	return 2 * variation
}

// isOpen tells whether the business is open.
func (c *calendar) isOpen(at events.Time) bool {
	of := local(at + c.zone)
	return c.open[of.weekday].from <= of.hour && of.hour < c.open[of.weekday].to
}

// wall is what a clock and a calendar on the wall show.
type wall struct {
	weekday int // from Monday
	hour    int
}

func local(at events.Time) wall {
	days := at / day
	if at%day < 0 {
		days--
	}
	// The epoch was a Thursday.
	return wall{weekday: int(((days+3)%7 + 7) % 7), hour: int((at - days*day) / hour)}
}

// slots hands out the times of a business's calls, in order and exactly as many as there are. It shares the calls out over the
// hours by the sum of the weights so far, which needs neither a list of calls nor a second look.
type slots struct {
	*calendar
	dice   dice
	hour   int    // the next one to share out
	weight uint64 // of the hours before it
	given  int    // calls of the hours before it
	begin  events.Time
	i, n   int // of the hour that is handed out
}

// next is the next call's time; ok is false when there are no more.
func (s *slots) next() (at events.Time, ok bool) {
	for s.i == s.n {
		if s.hour == s.hours {
			return 0, false
		}
		s.begin = s.from + events.Time(s.hour)*hour
		s.weight += s.calendar.weight(s.hour)
		s.hour++
		due := int(share(uint64(s.calls), s.weight, s.total))
		s.i, s.n, s.given = 0, due-s.given, due
	}
	// One call somewhere in each n-th of the hour.
	at = s.begin + (events.Time(s.i)*hour+events.Time(s.dice.below(int(hour))))/events.Time(s.n)
	s.i++
	return min(at, s.last), true
}

// skip passes over the times of n calls, which must be left.
func (s *slots) skip(n int) {
	for range n {
		s.next()
	}
}

// left is how many calls there are still to hand out.
func (s *slots) left() int { return s.calls - s.given + s.n - s.i }

// share is calls*part/total without overflow.
func share(calls, part, total uint64) uint64 {
	high, low := bits.Mul64(calls, part)
	quotient, _ := bits.Div64(high, low, total)
	return quotient
}

// shareCalls divides the calls among the systems by their size and makes their calendars.
func (b *builder) shareCalls(calls, days int) {
	var total, weight uint64
	for _, s := range b.company.systems {
		total += uint64(len(s.extensions))
	}
	given := 0
	for _, s := range b.company.systems {
		weight += uint64(len(s.extensions))
		due := int(share(uint64(calls), weight, total))
		s.calls, given = due-given, due
		s.calendar = newCalendar(s, b.company.from, b.company.until, days)
		s.patience = patience * (b.company.until - b.company.from) / events.Time(max(s.calls, 1))
	}
}

// patience is how many further calls come in, on average, before somebody gets round to the last thing left to do about one.
// It bounds the agenda: the busier a business is, the sooner things happen there.
const patience = 64
