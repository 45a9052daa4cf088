package fault_test

import (
	"math/rand/v2"

	"callboard/events"
)

// disorder is what becomes of a company's events on their way: some come late, so that facets are there before their calls and older
// versions behind newer ones, some come twice, and among them is what can't be read.
type disorder struct {
	source  func() (events.Event, bool)
	dice    *rand.Rand
	poisons *pharmacy
	held    []held
}

// held is an event that comes after so many others.
type held struct {
	events.Event
	after int
}

func newDisorder(source func() (events.Event, bool), dice *rand.Rand) *disorder {
	return &disorder{source: source, dice: dice, poisons: &pharmacy{dice: dice}}
}

// next are so many of the company's events, less what is held back and with what was, and the poisons to publish behind them.
func (d *disorder) next(count int) (list []events.Event, poisons []poison) {
	for range count {
		e, _ := d.source() // it has no end
		list = append(list, d.released()...)
		switch {
		case d.dice.IntN(12) == 0 || e.Entity == events.EntityCall && d.dice.IntN(6) == 0:
			d.hold(e)
		default:
			list = append(list, e)
		}
		if d.dice.IntN(30) == 0 {
			d.hold(again(e))
		}
		if d.dice.IntN(60) == 0 {
			good, bad := d.poisons.mix(e)
			list, poisons = append(list, good...), append(poisons, bad)
		}
	}
	return list, poisons
}

func (d *disorder) hold(e events.Event) {
	d.held = append(d.held, held{e, 1 + d.dice.IntN(1+d.dice.IntN(300))})
}

// released are the events whose time has come.
func (d *disorder) released() (list []events.Event) {
	still := d.held[:0]
	for _, h := range d.held {
		if h.after--; h.after > 0 {
			still = append(still, h)
		} else {
			list = append(list, h.Event)
		}
	}
	d.held = still
	return list
}

// again is the event under another ID, which the stream takes for another event.
func again(e events.Event) events.Event {
	e.ID += "/again"
	return e
}
