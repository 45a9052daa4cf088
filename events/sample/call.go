package sample

import (
	"strings"

	"callboard/events"
)

// ending is when and how a call ends.
type ending struct {
	at      events.Time // the end of the last leg
	open    bool        // the business is open
	maxLegs int
	latest  events.Time // of all events about the call
}

const never events.Time = 1 << 60

// call is one call: a leg, or several if it is passed on.
type call struct {
	*system
	random
	ending
	caller contact // the outside person, in outbound calls too
	number *events.PhoneNumber
	group  *events.CallGroup
	legs   []*leg
}

// leg is one leg of a call.
type leg struct {
	events.Call
	ring, talk events.Time // how long
	about      topic
	turns      []events.Turn
	text       string
	person     *person           // who talks for the business
	voicemail  *events.Voicemail // nil if no message is left
}

// publishCall generates a call and schedules the events about it. It returns the number of legs.
func (s *system) publishCall(q *queue, rng random, e ending) int {
	c := &call{system: s, random: rng, ending: e, number: s.numbers[rng.IntN(2)]}
	c.caller = s.contact(min(rng.IntN(400), rng.IntN(400))) // some call often

	// The last group closes.
	groups := s.groups
	if c.at >= s.reorganized-hour {
		groups = groups[:len(groups)-1]
	}
	c.group = groups[min(rng.IntN(len(groups)), rng.IntN(len(groups)))]

	// Nearly all calls outside of the opening hours are inbound.
	weights := []int{66, 25, 9}
	if !c.open {
		weights = []int{93, 5, 2}
	}
	[]func(){c.inbound, c.outbound, c.internal}[rng.weighted(weights...)]()

	// The last leg ends when the call ends, so the first leg begins earlier by the time of all legs.
	begin := c.at
	for _, l := range c.legs {
		begin -= l.ring + l.talk
	}

	for _, l := range c.legs {
		l.CreatedAt = begin
		begin += l.ring + l.talk
		l.EndTime = events.Some(begin)
		if l.talk > 0 {
			l.StartTime, l.Duration = events.Some(l.CreatedAt+l.ring), events.Some(int64(l.talk/second))
		}
		publishLeg(q, c, l)
	}

	return len(c.legs)
}

// inbound is a call from the contact to the business.
func (c *call) inbound() {
	kinds := []string{
		"answered", "second", "transferred", "forwarded", "missed", "abandoned", "voicemail", "busy", "failed",
	}

	// Who calls outside of the opening hours usually reaches the voicemail.
	weights := []int{64, 7, 9, 3, 7, 5, 10, 1, 1}
	if !c.open {
		weights = []int{4, 0, 0, 6, 25, 12, 55, 1, 1}
	}

	// These three outcomes need a second leg.
	if c.maxLegs == 1 {
		weights[1], weights[2], weights[3] = 0, 0, 0
	}

	l := c.addInbound()
	switch kind := kinds[c.weighted(weights...)]; kind {
	case "answered":
		c.answer(l, "inbound", c.anyone(), "answered")

	case "second":
		// Nobody answers, and somebody else's phone rings: two legs of the same call.
		l.setStatus("no-answer", "missed")
		next := c.addInbound()
		next.CallSid = l.CallSid
		c.answer(next, "inbound", c.anyone(), "answered")

	case "transferred":
		c.answer(l, "inbound", c.anyone(), "transferred")
		c.transfer()
	case "forwarded":
		l.setStatus("no-answer", "forwarded")
		c.forward(l)

	case "missed":
		l.setStatus("no-answer", "missed")
	case "abandoned":
		l.setStatus("canceled", "abandoned")
	case "voicemail":
		c.leaveMessage(l, c.anyone())
	default:
		l.setStatus(kind, "")
	}
}

// forward passes the call on to an outside number of somebody.
func (c *call) forward(from *leg) {
	l := c.addLeg("outbound")
	c.caller.setCaller(&l.Call)
	l.dial(c.anyNumber(c.random))
	l.ParentCallSid, l.ForwardedFrom = events.Some(from.CallSid), from.To
	l.RouteSummary = present(from.RouteSummary.Value + " > forward")
	c.converse(l, "inbound", c.anyone())
	l.setStatus("completed", "answered")
}

// addLeg begins a leg at the end of the one before it.
func (c *call) addLeg(direction string) *leg {
	l := &leg{ring: events.Time(c.between(2000, 25_000))}
	l.ID, l.PhoneSystemID, l.CallSid, l.Direction = c.uuid(), c.id, c.sid("CA"), direction
	c.legs = append(c.legs, l)
	return l
}

func (c *call) addInbound() *leg {
	l := c.addLeg("inbound")
	c.caller.setCaller(&l.Call)
	l.To, l.ToNumber, l.ToDisplay = events.Some(c.number.PhoneNumber), events.Some(c.number.PhoneNumber), c.number.Label
	l.CallGroupID = events.Some(c.group.ID)
	l.RouteSummary = present(c.number.Label.Value + " > Welcome > " + c.group.Name)
	return l
}

// transfer passes the call on to somebody, who may have voicemail or pass it on again.
func (c *call) transfer() {
	first, to := c.legs[0], c.anyone()

	// The new leg has the caller of the call, and the first leg as its parent.
	l := c.addLeg("inbound")
	c.caller.setCaller(&l.Call)
	l.ParentCallSid, l.RouteSummary = events.Some(first.CallSid), first.RouteSummary
	l.dialExtension(to)

	switch again := len(c.legs) < c.maxLegs && c.chance(10); {
	case again:
		c.answer(l, "brief", to, "transferred")
		c.transfer()
	case c.chance(12):
		c.leaveMessage(l, to)
	default:
		c.answer(l, "inbound", to, "answered")
	}
}

func (c *call) answer(l *leg, kind string, p *person, outcome string) {
	l.AnsweredByExtensionID = events.Some(p.extension.ID)
	l.RouteSummary = present(l.RouteSummary.Value + " > " + p.extension.Name)
	c.converse(l, kind, p)
	l.setStatus("completed", outcome)
}

// leaveMessage leaves a message for a person or for the call group.
func (c *call) leaveMessage(l *leg, p *person) {
	c.converse(l, "message", p)
	l.setStatus("completed", "voicemail")

	l.voicemail = &events.Voicemail{
		ID: c.uuid(), PhoneSystemID: c.id, CallSid: l.CallSid, From: l.From, FromName: l.FromName,
		Duration: int64(l.talk / second),
	}

	if c.chance(40) {
		l.voicemail.ExtensionID = events.Some(p.extension.ID)
	} else {
		l.voicemail.CallGroupID = events.Some(c.group.ID)
	}
}

// converse lets somebody of the business and the contact talk.
func (c *call) converse(l *leg, kind string, p *person) {
	about := kind
	if kind == "inbound" && c.chance(12) {
		about = "brief"
	}
	l.person, l.about = p, pick(c.random, c.topics[about])

	// The texts have placeholders for these values.
	talk := conversation{random: c.random, texts: c.texts, values: map[string]string{
		"business": c.state.Name, "agent": p.first, "caller": c.caller.first + " " + c.caller.last,
		"first":  c.caller.first,
		"number": c.anyNumber(c.random),
	}}

	talk.hold(kind, l.about)
	l.turns, l.text = talk.turns, strings.Join(talk.said, "\n")
	// The conversation counts hundredths of a second, the leg counts milliseconds.
	l.talk = events.Time(talk.length)*10 + events.Time(c.between(1000, 5000))
}

func (c *call) outbound() {
	l, p := c.addLeg("outbound"), c.anyone()
	l.From, l.FromNumber = events.Some(c.number.PhoneNumber), events.Some(c.number.PhoneNumber)
	l.FromDisplay = events.Some(p.extension.Name + " (" + p.extension.Number + ")")
	l.FromExtensionID = events.Some(p.extension.ID)
	l.RouteSummary = present(p.extension.Name + " > " + c.number.Label.Value)

	if c.IntN(400) == 0 {
		// A call for help is neither recorded nor transcribed.
		l.To, l.ToDisplay = events.Some("999"), events.Some("Emergency")
		l.IsEmergency, l.talk = true, c.around(150*second)
		l.setStatus("completed", "answered")
		return
	}

	if c.caller.number == "" {
		c.caller = c.contact(1) // a withheld number cannot be called
	}
	l.dial(c.caller.number)

	status := []string{"completed", "no-answer", "busy", "failed", "canceled"}[c.weighted(70, 19, 6, 2, 3)]
	l.setStatus(status, "")
	if status == "completed" {
		c.converse(l, "outbound", p)
		l.setStatus(status, "answered")
	}
}

func (c *call) internal() {
	l, from, to := c.addLeg("internal"), c.people[0], c.people[1]
	// The caller and the called person differ.
	if p := c.anyone(); p != to {
		from = p
	}

	l.From, l.FromDisplay = events.Some(from.extension.Number), events.Some(from.extension.Name)
	l.FromName, l.FromExtensionID = l.FromDisplay, events.Some(from.extension.ID)
	l.dialExtension(to)
	l.RouteSummary = present(from.extension.Number)

	if c.chance(25) {
		l.setStatus("no-answer", "missed")
		return
	}
	c.answer(l, "internal", to, "answered")
}

func (l *leg) setStatus(status, outcome string) {
	l.Status, l.Outcome = status, present(outcome)
}

func (l *leg) dial(number string) {
	l.To, l.ToNumber, l.ToDisplay = events.Some(e164(number)), events.Some(e164(number)), events.Some(number)
}

func (l *leg) dialExtension(p *person) {
	l.To, l.ToDisplay = events.Some(p.extension.Number), events.Some(p.extension.Name+" ("+p.extension.Number+")")
}

// anyone returns a person who works there at the time. The first three always do.
func (c *call) anyone() *person {
	p := pick(c.random, c.people)
	if p == c.people[3] && c.at >= c.reorganized-hour {
		return c.people[0]
	}
	return p
}

// contact is an outside person of a call. A contact without a number withholds it.
type contact struct {
	first, last string
	number      string
	known       bool // the phone system has a name for the number
}

// contact returns the n-th outside person of a business. It follows from the number, so none is stored.
func (s *system) contact(n int) contact {
	rng := newRandom(s.seed, "contact", s.index, n)
	c := contact{first: pick(rng, s.lists["first"]), last: pick(rng, s.lists["last"]), known: n%5 != 0}
	if n%25 != 0 {
		c.number = s.anyNumber(rng)
	}
	return c
}

// setCaller makes the contact the call's origin.
func (c contact) setCaller(call *events.Call) {
	if c.number == "" {
		call.From, call.FromDisplay = events.Some("anonymous"), events.Some("Anonymous")
		return
	}
	call.From, call.FromNumber = events.Some(e164(c.number)), events.Some(e164(c.number))
	call.FromDisplay = events.Some(c.number)
	if c.known {
		call.FromName = events.Some(c.first + " " + c.last)
	}
}
