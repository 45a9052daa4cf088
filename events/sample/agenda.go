package sample

import "callboard/events"

// agenda is what is still to happen, soonest first; what is due at the same time happens in the order in which it was added.
type agenda struct {
	entries []entry // a binary heap
	added   uint64
}

type entry struct {
	at    events.Time
	order uint64
	leg   *leg
	do    step
}

// step lets something happen. The event that it leads to, if any, has an entity.
type step func(l *leg, at events.Time) events.Event

func (x entry) before(y entry) bool {
	return x.at < y.at || x.at == y.at && x.order < y.order
}

func (a *agenda) add(at events.Time, l *leg, do step) {
	a.added++
	a.entries = append(a.entries, entry{at, a.added, l, do})
	for i := len(a.entries) - 1; i > 0; {
		parent := (i - 1) / 2
		if !a.entries[i].before(a.entries[parent]) {
			break
		}
		a.entries[i], a.entries[parent] = a.entries[parent], a.entries[i]
		i = parent
	}
}

// take removes the soonest entry; ok is false where none is due by then.
func (a *agenda) take(until events.Time) (next entry, ok bool) {
	if len(a.entries) == 0 || a.entries[0].at > until {
		return entry{}, false
	}
	next = a.entries[0]
	last := len(a.entries) - 1
	a.entries[0], a.entries[last] = a.entries[last], entry{}
	a.entries = a.entries[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if a.entries[child].before(a.entries[least]) {
				least = child
			}
		}
		if least == i {
			return next, true
		}
		a.entries[i], a.entries[least] = a.entries[least], a.entries[i]
		i = least
	}
}
