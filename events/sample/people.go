package sample

import "callboard/events"

// contact is somebody who calls, or is called. One without a number withholds it.
type contact struct {
	person person
	number number
	known  bool // the phone system has a name for the number
}

// contacts is how many people a business knows. They are drawn anew from their numbers whenever they call, so nobody is remembered.
const contacts = 160

// caller draws who calls: mostly somebody known, some of them again and again.
func (s *system) caller(d *dice) contact {
	switch {
	case d.chance(780):
		return s.contact(min(d.below(contacts), d.below(contacts)))
	case d.chance(150):
		return contact{person: s.library.person(d)}
	}
	return contact{person: s.library.person(d), number: s.dialable(d)}
}

func (s *system) contact(n int) contact {
	d := newDice(s.seed, contactPath, s.index, uint64(n))
	return contact{person: s.library.person(&d), number: s.dialable(&d), known: n%7 != 0}
}

// dialable draws a number, most often one of the neighbourhood.
func (s *system) dialable(d *dice) number {
	e := s.exchange
	for d.chance(300) || e.country != s.exchange.country {
		e = &s.library.exchanges[d.below(len(s.library.exchanges))]
	}
	return e.number(d.below(1000))
}

// dial fills in where a call comes from.
func (c contact) dial(call *events.Call) {
	if c.number == (number{}) {
		call.From, call.FromDisplay = "anonymous", events.Some("Anonymous")
		return
	}
	call.From, call.FromNumber, call.FromDisplay = c.number.e164, events.Some(c.number.e164), events.Some(c.number.display)
	if c.known {
		call.FromName = events.Some(c.person.name())
	}
}

// colleague draws somebody who is there to answer.
func (s *system) colleague(d *dice, at events.Time) *extension {
	for range 8 {
		if x := pick(d, s.extensions); !x.shared && x.covers(at) {
			return x
		}
	}
	return s.extensions[0]
}

// other is one of the two who are always there, and not the one that is given.
func (s *system) other(x *extension) *extension {
	if x == s.extensions[0] {
		return s.extensions[1]
	}
	return s.extensions[0]
}

// group draws the call group that a call is for, mostly the first.
func (s *system) group(d *dice, at events.Time) *callGroup {
	if g := s.groups[min(d.below(len(s.groups)+1), d.below(len(s.groups)))]; g.covers(at) {
		return g
	}
	return s.groups[0]
}

// represents is the representative whom an extension's calls are attributed to; nil for none.
func (s *system) represents(x *extension, at events.Time) *representative {
	for _, r := range s.people {
		if r.extension == x && r.covers(at) {
			return r
		}
	}
	return nil
}
