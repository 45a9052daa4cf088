package sample

import (
	"time"

	"callboard/events"
)

// Live is a company at work. It is for one goroutine.
type Live struct {
	company *Company
	agenda  agenda
}

// livePatience is the longest time until something happens to a live call, so that whoever watches sees it all.
const livePatience = 5 * minute

// Live starts a sequence of further calls on the company as it stands at the end of History.
func (c *Company) Live() *Live { return &Live{company: c} }

// Next returns the events that are due by now: those that earlier calls left to happen, then those of so many further calls, which end
// now. Given the same times and counts it returns the same events. Times must not step back.
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
		next, ok := l.agenda.take(at)
		if !ok {
			return due
		}
		if e := next.do(next.leg, next.at); e.Entity != "" {
			due = append(due, e)
		}
	}
}

// call plays a call and moves it back in time, so that it was just over. What time it is decides what the call is: a second run
// has calls of its own. At night, too, somebody answers: demonstrations have no opening hours.
func (l *Live) call(at events.Time, n uint64) {
	d := newDice(l.company.seed, livePath, uint64(at), n)
	o := occasion{
		system: l.system(&d), dice: d, begin: at, room: maxLegs, open: true, limit: hour,
	}
	o.play()
	back := at - o.legs[len(o.legs)-1].end - report
	for _, leg := range o.legs {
		leg.shift(back)
		leg.live(&l.agenda, livePatience)
	}
}

// system draws a system, large ones more often.
func (l *Live) system(d *dice) *system {
	for {
		if s := pick(d, l.company.systems); d.below(16) < len(s.extensions) {
			return s
		}
	}
}
