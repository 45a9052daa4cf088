package sample

import (
	"iter"

	"callboard/events"
)

// History yields the window's events in time order.
func (c *Company) History() iter.Seq[events.Event] {
	return func(yield func(events.Event) bool) {
		a := &agenda{}
		for _, s := range c.systems {
			newDesk(s, a).open()
		}
		changes := c.changes
		for {
			next, ok := a.take(c.until)
			for len(changes) > 0 && (!ok || changes[0].at <= next.at) {
				if !yield(changes[0].event) {
					return
				}
				changes = changes[1:]
			}
			if !ok {
				return
			}
			if e := next.do(next.leg, next.at); e.Entity != "" && !yield(e) {
				return
			}
		}
	}
}

// desk is where one system's calls come in during History.
type desk struct {
	system *system
	agenda *agenda
	slots  slots
	taken  uint64 // calls so far
}

func newDesk(s *system, a *agenda) *desk {
	return &desk{system: s, agenda: a, slots: slots{calendar: &s.calendar, dice: newDice(s.seed, hourPath, s.index)}}
}

// open puts the next call on the agenda.
func (d *desk) open() {
	if at, ok := d.slots.next(); ok {
		d.agenda.add(at, nil, d.take)
	}
}

// take lets a call come in. A call of several legs uses up the times of as many calls, so that the legs are exactly as many
// as were ordered.
func (d *desk) take(_ *leg, at events.Time) events.Event {
	d.taken++
	o := occasion{
		system: d.system, dice: newDice(d.system.seed, callPath, d.system.index, d.taken), begin: at,
		room: 1 + d.slots.left(), open: d.system.calendar.isOpen(at), limit: d.system.calendar.last + settle - at,
	}
	o.play()
	for _, l := range o.legs {
		l.live(d.agenda, d.system.patience)
	}
	d.slots.skip(len(o.legs) - 1)
	d.open()
	return events.Event{}
}
