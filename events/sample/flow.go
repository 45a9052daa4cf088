package sample

import "callboard/events"

// callFlow is a call from its beginning to its end: one leg, or several if it is transferred or forwarded.
type callFlow struct {
	system  *system
	rng     random
	begin   events.Time
	limit   events.Time // the longest time until the end of the last leg
	maxLegs int
	open    bool // the business is open
	legs    []*leg

	contact contact
	group   *callGroup
	number  *events.PhoneNumber // of the system
}

// maxLegs is the largest number of legs of a call.
const maxLegs = 3

// run generates the legs. A flow that needs more than maxLegs ends with the first one.
func (f *callFlow) run() {
	weights := []int{66, 25, 9}
	if !f.open {
		weights = []int{93, 5, 2}
	}
	f.contact = f.system.randomContact(&f.rng)
	f.group = f.system.randomGroup(&f.rng, f.begin)
	f.number = f.system.numbers[0]
	if f.rng.chance(200) {
		f.number = f.system.numbers[1]
	}
	[]func(){f.inbound, f.outbound, f.internal}[f.rng.weighted(weights...)]()
}

func (f *callFlow) inbound() {
	flows := []func(){
		f.answered, f.secondExtension, f.transferred, f.forwarded, f.missed, f.abandoned, f.voicemail, f.assistant,
		f.assistantTransferred, f.busy, f.failed,
	}
	weights := []int{600, 70, 80, 25, 60, 45, 80, 40, 20, 8, 4}
	if !f.open {
		weights = []int{20, 0, 0, 50, 180, 90, 400, 260, 0, 4, 4}
	}
	flows[f.rng.weighted(weights...)]()
}

// addLeg begins a leg at the end of the one before it.
func (f *callFlow) addLeg(direction string) *leg {
	at := f.begin
	if n := len(f.legs); n > 0 {
		at = f.legs[n-1].end
	}
	l := &leg{
		sys: f.system, rng: newRandom(f.rng.pcg.Uint64()), begin: at, end: at, deadline: f.begin + f.limit, other: f.contact.person,
	}
	l.call.ID, l.call.PhoneSystemID, l.call.CallSid = l.rng.uuid(), f.system.id, l.rng.sid("CA")
	l.call.Direction = direction
	f.legs = append(f.legs, l)
	return l
}

// addInbound begins a leg from the contact to the business's number.
func (f *callFlow) addInbound() *leg {
	l := f.addLeg("inbound")
	f.contact.setCaller(&l.call)
	l.call.To, l.call.ToNumber, l.call.ToDisplay = events.Some(f.number.PhoneNumber), events.Some(f.number.PhoneNumber), f.number.Label
	l.call.CallGroupID = events.Some(f.group.ID)
	l.route = f.number.Label.Value + " > "
	if f.rng.chance(550) {
		l.route += f.system.menus[0].Name + " > "
	}
	l.route += f.group.Name
	return l
}

// addTransfer begins the leg to which a call is transferred or forwarded. The first leg is its parent.
func (f *callFlow) addTransfer(direction string) *leg {
	first := f.legs[0]
	l := f.addLeg(direction)
	f.contact.setCaller(&l.call)
	l.call.ParentCallSid = events.Some(first.call.CallSid)
	l.route = first.route
	return l
}

// talkTime returns how many seconds people talk. It leaves time for further legs.
func (f *callFlow) talkTime(l *leg, median int) int {
	left := int((f.begin + f.limit - l.end) / second)
	return max(min(f.rng.logNormal(median), 2400, (left-120)/2), 4)
}

func (f *callFlow) answered() {
	l := f.addInbound()
	l.ring(f.rng.between(3, 20))
	l.answer(f.system.randomExtension(&f.rng, l.begin))
	l.talk("inbound", f.talkTime(l, 115))
	l.setStatus("completed", "answered")
}

// secondExtension rings an extension that does not answer, then one that does: two legs of the same call.
func (f *callFlow) secondExtension() {
	if f.maxLegs < 2 {
		f.answered()
		return
	}
	first := f.addInbound()
	first.ring(f.rng.between(12, 25))
	first.setStatus("no-answer", "missed")
	f.answered()
	f.legs[1].call.CallSid = first.call.CallSid
}

func (f *callFlow) transferred() {
	f.answered()
	f.transferFirst()
}

func (f *callFlow) transferFirst() {
	if f.maxLegs >= 2 {
		f.legs[0].setStatus("completed", "transferred")
		f.transfer()
	}
}

// transfer passes the call on to another extension, which may answer, pass it on again, or have voicemail.
func (f *callFlow) transfer() {
	l := f.addTransfer("inbound")
	x := f.system.randomExtension(&f.rng, l.begin)
	l.dial(x)
	l.ring(f.rng.between(2, 12))
	switch {
	case f.rng.chance(120):
		l.leaveMessage(f.rng.between(8, 50), x, nil)
	case len(f.legs) < f.maxLegs && f.rng.chance(100):
		l.answer(x)
		l.talk("brief", f.talkTime(l, 30))
		l.setStatus("completed", "transferred")
		f.transfer()
	default:
		l.answer(x)
		l.talk("inbound", f.talkTime(l, 150))
		l.setStatus("completed", "answered")
	}
}

// forwarded forwards the call to an outside number.
func (f *callFlow) forwarded() {
	if f.maxLegs < 2 {
		f.missed()
		return
	}
	first := f.addInbound()
	first.ring(f.rng.between(5, 15))
	first.setStatus("no-answer", "forwarded")
	l := f.addTransfer("outbound")
	l.dialNumber(f.system.exchange.number(950))
	l.call.ForwardedFrom = first.call.To
	l.route += " > forward"
	l.ring(f.rng.between(4, 20))
	if f.rng.chance(300) {
		l.setStatus("no-answer", "missed")
		return
	}
	l.agent = f.system.randomExtension(&f.rng, l.begin).person.first
	l.talk("inbound", f.talkTime(l, 90))
	l.setStatus("completed", "answered")
}

func (f *callFlow) missed() {
	l := f.addInbound()
	l.ring(f.rng.between(20, 30))
	l.setStatus("no-answer", "missed")
}

func (f *callFlow) abandoned() {
	l := f.addInbound()
	l.ring(f.rng.between(1, 25))
	l.setStatus("canceled", "abandoned")
}

func (f *callFlow) busy() { f.addInbound().setStatus("busy", "") }

func (f *callFlow) failed() { f.addInbound().setStatus("failed", "") }

// voicemail leaves a message for an extension or for the call group.
func (f *callFlow) voicemail() {
	l := f.addInbound()
	l.ring(f.rng.between(15, 30))
	if f.rng.chance(400) {
		x := f.system.randomExtension(&f.rng, l.begin)
		l.route += " > " + x.Name
		l.leaveMessage(min(f.rng.logNormal(22), 120), x, nil)
		return
	}
	l.leaveMessage(min(f.rng.logNormal(22), 120), nil, f.group)
}

// assistant lets the Call Assistant answer.
func (f *callFlow) assistant() {
	l := f.addInbound()
	l.route += " > " + f.system.agents[0].Name
	l.agent = f.system.assistant
	l.ring(1)
	l.talk("inbound", f.talkTime(l, 75))
	l.setStatus("completed", "answered")
}

func (f *callFlow) assistantTransferred() {
	f.assistant()
	f.transferFirst()
}

func (f *callFlow) outbound() {
	l := f.addLeg("outbound")
	x := f.system.randomExtension(&f.rng, l.begin)
	l.call.From, l.call.FromNumber = events.Some(f.number.PhoneNumber), events.Some(f.number.PhoneNumber)
	l.call.FromDisplay = events.Some(x.Name + " (" + x.Number + ")")
	l.call.FromExtensionID = events.Some(x.ID)
	l.agent, l.representative = x.person.first, f.system.representativeOf(x, l.begin)
	l.route = x.Name + " > " + f.number.Label.Value
	if f.rng.below(400) == 0 {
		f.emergency(l)
		return
	}
	if f.contact.number == (number{}) {
		f.contact = f.system.contact(1) // a withheld number cannot be called
		l.other = f.contact.person
	}
	l.dialNumber(f.contact.number)
	switch f.rng.weighted(70, 19, 6, 2, 3) {
	case 0:
		l.ring(f.rng.between(3, 25))
		l.talk("outbound", f.talkTime(l, 95))
		l.setStatus("completed", "answered")
	case 1:
		l.ring(f.rng.between(20, 30))
		l.setStatus("no-answer", "")
	case 2:
		l.setStatus("busy", "")
	case 3:
		l.setStatus("failed", "")
	default:
		l.ring(f.rng.between(2, 15))
		l.setStatus("canceled", "")
	}
}

// emergency calls for help. Such a call is neither recorded nor transcribed.
func (f *callFlow) emergency(l *leg) {
	l.call.To, l.call.ToDisplay, l.call.IsEmergency = events.Some(f.system.exchange.emergency), events.Some("Emergency"), true
	l.ring(2)
	l.answered, l.duration = l.end, int64(f.talkTime(l, 150))
	l.end += events.Time(l.duration) * second
	l.setStatus("completed", "answered")
}

func (f *callFlow) internal() {
	l := f.addLeg("internal")
	from, to := f.system.randomExtension(&f.rng, l.begin), f.system.randomExtension(&f.rng, l.begin)
	if from == to {
		to = f.system.otherExtension(from)
	}
	l.call.From, l.call.FromDisplay, l.call.FromName = events.Some(from.Number), events.Some(from.Name), events.Some(from.Name)
	l.call.FromExtensionID = events.Some(from.ID)
	l.dial(to)
	l.route = from.Number + " > " + to.Number
	l.ring(f.rng.between(2, 15))
	if f.rng.chance(250) {
		l.setStatus("no-answer", "missed")
		return
	}
	l.answer(to)
	l.talk("internal", min(f.talkTime(l, 40), 600))
	l.setStatus("completed", "answered")
}
