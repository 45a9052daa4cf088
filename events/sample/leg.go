package sample

import (
	"strconv"

	"callboard/events"
)

// leg is one leg of a call, with all that is going to be published about it. The entities hold what was published last;
// one with version 0 hasn't been yet.
type leg struct {
	sys                  *system
	dice                 dice
	begin, answered, end events.Time // answered is 0 where nobody was
	deadline             events.Time // by which the call itself must be published
	route                string

	talk    int64 // seconds
	script  string
	topic   *topic // nil where nothing is said
	agent   string // as the people on the phone say it
	other   person
	handler *representative

	call       events.Call
	transcript events.Transcript
	recording  events.Recording
	analysis   events.Analysis
	voicemail  events.Voicemail // with an id where a message is left
}

func (l *leg) ring(seconds int) {
	l.end += events.Time(seconds)*second + events.Time(l.dice.below(1000))
}

// answer is what an extension does.
func (l *leg) answer(x *extension) {
	l.call.AnsweredByExtensionID = events.Some(x.ID)
	l.agent, l.handler = x.person.first, l.sys.represents(x, l.begin)
	l.route += " > " + x.Name
}

// brief is what a call is that's over before anybody can tell a story.
const brief = 35

// speak has people talk for so long about something.
func (l *leg) speak(script string, seconds int) {
	if script == "inbound" && seconds < brief {
		script = "brief"
	}
	l.script, l.topic = script, pick(&l.dice, l.sys.trade.topics[script])
	l.answered, l.talk = l.end, int64(seconds)
	l.end += events.Time(seconds)*second + events.Time(l.dice.below(1000))
}

// leaveMessage has the caller talk to the voicemail of an extension or a call group.
func (l *leg) leaveMessage(seconds int, x *extension, g *callGroup) {
	seconds = max(seconds, 3)
	l.speak("message", seconds)
	l.voicemail = events.Voicemail{ID: l.dice.uuid(), PhoneSystemID: l.sys.id, Duration: int64(seconds), RecordingSid: l.dice.sid("RE")}
	if x != nil {
		l.voicemail.ExtensionID = events.Some(x.ID)
	} else {
		l.voicemail.CallGroupID = events.Some(g.ID)
	}
	l.finish("completed", "voicemail")
}

func (l *leg) dialExtension(x *extension) {
	l.call.To, l.call.ToDisplay = x.Number, events.Some(x.Name+" ("+x.Number+")")
}

// finish ends the leg as it stands. A second time it corrects the first.
func (l *leg) finish(status, outcome string) {
	l.call.Status, l.call.Outcome = status, present(outcome)
}

// shift moves the leg in time.
func (l *leg) shift(by events.Time) {
	l.begin, l.end, l.deadline = l.begin+by, l.end+by, l.deadline+by
	if l.answered != 0 {
		l.answered += by
	}
}

// reportCall publishes the call for the first time.
func (l *leg) reportCall(at events.Time) events.Event {
	c := &l.call
	c.CreatedAt, c.EndTime, c.RouteSummary = l.begin, events.Some(l.end), present(l.route)
	switch {
	case l.answered != 0:
		c.StartTime, c.Duration = events.Some(l.answered), events.Some(l.talk)
	case c.Status == "no-answer":
		c.Duration = events.Some[int64](0)
	}
	if l.answered != 0 && l.dice.chance(180) {
		l.tag("rule")
	}
	return l.publishCall(at)
}

// publishCall publishes the call's next state.
func (l *leg) publishCall(at events.Time) events.Event {
	l.call.Version++
	state := l.call
	return publish(events.Changed(&state), at)
}

// deleteCall is the end of the call and of what hangs on it.
func (l *leg) deleteCall(at events.Time) events.Event {
	l.call.Version++
	return publish(events.Deleted(l.call.Identity()), at)
}

// tag adds a tag that the call doesn't have. What was published keeps the list it has.
func (l *leg) tag(source string) {
	t := pick(&l.dice, l.sys.tags)
	for _, has := range l.call.Tags {
		if has.ID == t.ID {
			return
		}
	}
	if t.Source = source; source != "manual" {
		t.Confidence = l.dice.hundredths(55, 99)
	}
	l.call.Tags = append(l.call.Tags[:len(l.call.Tags):len(l.call.Tags)], t)
}

// applyTag is somebody tagging the call, or taking a tag away again.
func (l *leg) applyTag(at events.Time) events.Event {
	if n := len(l.call.Tags); n > 0 && l.dice.chance(250) {
		l.call.Tags = l.call.Tags[: n-1 : n-1]
	} else {
		l.tag("manual")
	}
	return l.publishCall(at)
}

// learnOutcome takes the call's business outcome over from its analysis.
func (l *leg) learnOutcome(at events.Time) events.Event {
	if l.call.IsEdited {
		return events.Event{} // somebody knew better already
	}
	l.conclude(l.topic.outcome, "analysis")
	return l.publishCall(at)
}

// edit is somebody correcting the outcome by hand.
func (l *leg) edit(at events.Time) events.Event {
	outcome := pick(&l.dice, l.sys.trade.topics["inbound"]).outcome
	l.conclude(outcome, "manual")
	l.call.IsEdited = true
	return l.publishCall(at)
}

func (l *leg) conclude(outcome, source string) {
	c := &l.call
	c.CallOutcomeCode, c.OutcomeSource = present(outcome), events.Some(source)
	c.IsConverted, c.ConversionValue = converts(outcome), events.Null[string]{}
	if c.IsConverted {
		cents := strconv.Itoa(100 + l.dice.below(20)*5)[1:]
		c.ConversionValue = events.Some(strconv.Itoa(l.sys.trade.price(&l.dice)) + "." + cents)
	}
}

// converts tells whether an outcome is business.
func converts(outcome string) bool {
	switch outcome {
	case "appointment_booked", "job_booked", "job_approved", "order_placed", "quote_accepted", "consultation_booked", "payment_taken",
		"emergency_admitted":
		return true
	}
	return false
}
