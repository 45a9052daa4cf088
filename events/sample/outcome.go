package sample

import "callboard/events"

// missed: nobody answers.
func (o *occasion) missed() {
	l := o.arrive()
	l.ring(o.dice.between(20, 30))
	l.finish("no-answer", "missed")
}

// abandoned: the caller hangs up first.
func (o *occasion) abandoned() {
	l := o.arrive()
	l.ring(o.dice.between(1, 25))
	l.finish("canceled", "abandoned")
}

func (o *occasion) busy() {
	o.arrive().finish("busy", "")
}

func (o *occasion) failed() {
	o.arrive().finish("failed", "")
}

// voicemail: the caller leaves a message, for the call group or for one person.
func (o *occasion) voicemail() {
	l := o.arrive()
	l.ring(o.dice.between(15, 30))
	if o.dice.chance(400) {
		x := o.system.colleague(&o.dice, l.begin)
		l.route += " > " + x.Name
		l.leaveMessage(min(o.dice.spread(22), 120), x, nil)
		return
	}
	l.leaveMessage(min(o.dice.spread(22), 120), nil, o.group)
}

// assistant: the Call Assistant deals with it.
func (o *occasion) assistant() {
	l := o.arrive()
	l.route += " > " + o.system.agents[0].Name
	l.agent = o.system.assistant
	l.ring(1)
	l.speak("inbound", o.length(l, 75))
	l.finish("completed", "answered")
}

// handedOver: the Call Assistant deals with it until somebody takes over.
func (o *occasion) handedOver() {
	o.assistant()
	if o.room >= 2 {
		o.legs[0].finish("completed", "transferred")
		o.handOn()
	}
}

func (o *occasion) outbound() {
	l := o.add("outbound")
	x := o.system.colleague(&o.dice, l.begin)
	own := o.system.numbers[o.number]
	l.call.From, l.call.FromNumber = own.PhoneNumber, events.Some(own.PhoneNumber)
	l.call.FromDisplay = events.Some(x.Name + " (" + x.Number + ")")
	l.call.FromExtensionID = events.Some(x.ID)
	l.agent, l.handler = x.person.first, o.system.represents(x, l.begin)
	l.route = x.Name + " > " + own.Label.Value
	if o.dice.below(400) == 0 {
		o.emergency(l)
		return
	}
	if o.caller.number == (number{}) {
		o.caller = o.system.contact(1) // a number that was withheld can't be called back
		l.other = o.caller.person
	}
	l.call.To, l.call.ToNumber, l.call.ToDisplay = o.caller.number.e164, events.Some(o.caller.number.e164), events.Some(o.caller.number.display)
	switch o.dice.weighted(70, 19, 6, 2, 3) {
	case 0:
		l.ring(o.dice.between(3, 25))
		l.speak("outbound", o.length(l, 95))
		l.finish("completed", "answered")
	case 1:
		l.ring(o.dice.between(20, 30))
		l.finish("no-answer", "")
	case 2:
		l.finish("busy", "")
	case 3:
		l.finish("failed", "")
	default:
		l.ring(o.dice.between(2, 15))
		l.finish("canceled", "")
	}
}

// emergency: somebody calls for help. Such a call is neither recorded nor transcribed.
func (o *occasion) emergency(l *leg) {
	l.call.To, l.call.ToDisplay, l.call.IsEmergency = o.system.exchange.emergency(), events.Some("Emergency"), true
	l.ring(2)
	l.answered, l.talk = l.end, int64(o.length(l, 150))
	l.end += events.Time(l.talk) * second
	l.finish("completed", "answered")
}

func (o *occasion) internal() {
	l := o.add("internal")
	from, to := o.system.colleague(&o.dice, l.begin), o.system.colleague(&o.dice, l.begin)
	if from == to {
		to = o.system.other(from)
	}
	l.call.From, l.call.FromDisplay, l.call.FromName = from.Number, events.Some(from.Name), events.Some(from.Name)
	l.call.FromExtensionID = events.Some(from.ID)
	l.dialExtension(to)
	l.route = from.Number + " > " + to.Number
	l.ring(o.dice.between(2, 15))
	if o.dice.chance(250) {
		l.finish("no-answer", "missed")
		return
	}
	l.answer(to)
	l.speak("internal", min(o.length(l, 40), 600))
	l.finish("completed", "answered")
}
