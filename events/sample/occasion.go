package sample

import "callboard/events"

// occasion is somebody calling somebody: one leg, or several where the call is passed on.
type occasion struct {
	system *system
	dice   dice
	begin  events.Time
	limit  events.Time // within which all of it must be over
	room   int         // legs it may have
	open   bool        // somebody is there
	legs   []*leg

	caller contact
	group  *callGroup
	number int // of the system's numbers
}

// maxLegs is the most legs that a call has.
const maxLegs = 3

// play decides what happens. Whatever needs more legs than there is room for ends with the first one.
func (o *occasion) play() {
	weights := []int{66, 25, 9}
	if !o.open {
		weights = []int{93, 5, 2}
	}
	o.caller = o.system.caller(&o.dice)
	o.group = o.system.group(&o.dice, o.begin)
	if o.dice.chance(200) {
		o.number = 1
	}
	switch o.dice.weighted(weights...) {
	case 0:
		o.inbound()
	case 1:
		o.outbound()
	default:
		o.internal()
	}
}

func (o *occasion) inbound() {
	kinds := []func(){
		o.answered, o.hunted, o.transferred, o.forwarded, o.missed, o.abandoned, o.voicemail, o.assistant, o.handedOver, o.busy, o.failed,
	}
	weights := []int{600, 70, 80, 25, 60, 45, 80, 40, 20, 8, 4}
	if !o.open {
		weights = []int{20, 0, 0, 50, 180, 90, 400, 260, 0, 4, 4}
	}
	kinds[o.dice.weighted(weights...)]()
}

// add begins a leg when the one before it ends.
func (o *occasion) add(direction string) *leg {
	at := o.begin
	if n := len(o.legs); n > 0 {
		at = o.legs[n-1].end
	}
	l := &leg{sys: o.system, dice: newDice(o.dice.pcg.Uint64()), begin: at, end: at, deadline: o.begin + o.limit, other: o.caller.person}
	l.call.ID, l.call.PhoneSystemID, l.call.CallSid = l.dice.uuid(), o.system.id, l.dice.sid("CA")
	l.call.Direction = direction
	o.legs = append(o.legs, l)
	return l
}

// arrive begins a leg that comes in from the caller.
func (o *occasion) arrive() *leg {
	l := o.add("inbound")
	o.caller.dial(&l.call)
	own := o.system.numbers[o.number]
	l.call.To, l.call.ToNumber, l.call.ToDisplay = own.PhoneNumber, events.Some(own.PhoneNumber), own.Label
	l.call.CallGroupID = events.Some(o.group.ID)
	l.route = own.Label.Value + " > "
	if o.dice.chance(550) {
		l.route += o.system.menus[0].Name + " > "
	}
	l.route += o.group.Name
	return l
}

// pass begins the leg to which a call is transferred or forwarded: a call of its own, with the first one as its parent.
func (o *occasion) pass(direction string) *leg {
	first := o.legs[0]
	l := o.add(direction)
	o.caller.dial(&l.call)
	l.call.ParentCallSid = events.Some(first.call.CallSid)
	l.route = first.route
	return l
}

// length draws how many seconds people talk, within what is left of the occasion and of its further legs.
func (o *occasion) length(l *leg, median int) int {
	left := int((o.begin + o.limit - l.end) / second)
	return max(min(o.dice.spread(median), 2400, (left-120)/2), 4)
}

func (o *occasion) answered() {
	l := o.arrive()
	l.ring(o.dice.between(3, 20))
	l.answer(o.system.colleague(&o.dice, l.begin))
	l.speak("inbound", o.length(l, 115))
	l.finish("completed", "answered")
}

// hunted rings somebody who doesn't answer and then somebody who does: two legs of the same call.
func (o *occasion) hunted() {
	if o.room < 2 {
		o.answered()
		return
	}
	first := o.arrive()
	first.ring(o.dice.between(12, 25))
	first.finish("no-answer", "missed")
	o.answered()
	o.legs[1].call.CallSid = first.call.CallSid
}

func (o *occasion) transferred() {
	o.answered()
	if o.room >= 2 {
		o.legs[0].finish("completed", "transferred")
		o.handOn()
	}
}

// handOn passes the call on to a colleague, who may pass it on once more or not be there.
func (o *occasion) handOn() {
	l := o.pass("inbound")
	x := o.system.colleague(&o.dice, l.begin)
	l.dialExtension(x)
	l.ring(o.dice.between(2, 12))
	switch {
	case o.dice.chance(120):
		l.leaveMessage(o.dice.between(8, 50), x, nil)
	case len(o.legs) < min(o.room, maxLegs) && o.dice.chance(100):
		l.answer(x)
		l.speak("brief", o.length(l, 30))
		l.finish("completed", "transferred")
		o.handOn()
	default:
		l.answer(x)
		l.speak("inbound", o.length(l, 150))
		l.finish("completed", "answered")
	}
}

// forwarded sends the caller on to a number outside, as happens after hours.
func (o *occasion) forwarded() {
	if o.room < 2 {
		o.missed()
		return
	}
	first := o.arrive()
	first.ring(o.dice.between(5, 15))
	first.finish("no-answer", "forwarded")
	l := o.pass("outbound")
	mobile := o.system.exchange.number(950)
	l.call.To, l.call.ToNumber, l.call.ToDisplay = mobile.e164, events.Some(mobile.e164), events.Some(mobile.display)
	l.call.ForwardedFrom = events.Some(first.call.To)
	l.route += " > forward"
	l.ring(o.dice.between(4, 20))
	if o.dice.chance(300) {
		l.finish("no-answer", "missed")
		return
	}
	l.agent = o.system.colleague(&o.dice, l.begin).person.first
	l.speak("inbound", o.length(l, 90))
	l.finish("completed", "answered")
}
