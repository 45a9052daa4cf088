package sample

import (
	"slices"
	"strconv"

	"callboard/events"
)

// leg is one leg of a call, with all that is published about it. The entities are as they were published last; version 0 is
// not published yet.
type leg struct {
	sys                  *system
	rng                  random
	begin, answered, end events.Time // answered is 0 if nobody answered
	deadline             events.Time // of the publication of the call
	route                string

	duration       int64 // of the conversation, in seconds
	script         string
	topic          *topic // nil if nobody talks
	agent          string // the name that the agent uses
	other          person
	representative *representative // nil if the call is not attributed

	call       events.Call
	transcript events.Transcript
	recording  events.Recording
	analysis   events.Analysis
	voicemail  events.Voicemail // has an ID if a message is left
}

func (l *leg) ring(seconds int) {
	l.end += events.Time(seconds)*second + events.Time(l.rng.below(1000))
}

func (l *leg) dial(x *extension) {
	l.call.To, l.call.ToDisplay = events.Some(x.Number), events.Some(x.Name+" ("+x.Number+")")
}

func (l *leg) dialNumber(n number) {
	l.call.To, l.call.ToNumber, l.call.ToDisplay = events.Some(n.e164), events.Some(n.e164), events.Some(n.display)
}

func (l *leg) answer(x *extension) {
	l.call.AnsweredByExtensionID = events.Some(x.ID)
	l.agent, l.representative = x.person.first, l.sys.representativeOf(x, l.begin)
	l.route += " > " + x.Name
}

// briefCall is the length, in seconds, below which a call has a topic for short calls.
const briefCall = 35

func (l *leg) talk(script string, seconds int) {
	if script == "inbound" && seconds < briefCall {
		script = "brief"
	}
	l.script, l.topic = script, pick(&l.rng, l.sys.trade.topics[script])
	l.answered, l.duration = l.end, int64(seconds)
	l.end += events.Time(seconds)*second + events.Time(l.rng.below(1000))
}

// leaveMessage records a message for an extension, or for a call group if x is nil.
func (l *leg) leaveMessage(seconds int, x *extension, g *callGroup) {
	seconds = max(seconds, 3)
	l.talk("message", seconds)
	l.voicemail = events.Voicemail{ID: l.rng.uuid(), PhoneSystemID: l.sys.id, Duration: int64(seconds), RecordingSid: l.rng.sid("RE")}
	if x != nil {
		l.voicemail.ExtensionID = events.Some(x.ID)
	} else {
		l.voicemail.CallGroupID = events.Some(g.ID)
	}
	l.setStatus("completed", "voicemail")
}

func (l *leg) setStatus(status, outcome string) {
	l.call.Status, l.call.Outcome = status, present(outcome)
}

// shift moves the leg in time.
func (l *leg) shift(by events.Time) {
	l.begin, l.end, l.deadline = l.begin+by, l.end+by, l.deadline+by
	if l.answered != 0 {
		l.answered += by
	}
}

// publishNext publishes the next version of an entity. The event has a copy of the state.
func publishNext[T any, P interface {
	*T
	events.State
}](state P, version *int64, at events.Time) events.Event {
	*version++
	published := *state
	return envelope(events.Changed(P(&published)), at)
}

func publishDeleted(state events.State, version *int64, at events.Time) events.Event {
	*version++
	return envelope(events.Deleted(state.Identity()), at)
}

func (l *leg) publishCall(at events.Time) events.Event {
	return publishNext(&l.call, &l.call.Version, at)
}

// publishFirst publishes the call for the first time.
func (l *leg) publishFirst(at events.Time) events.Event {
	c := &l.call
	c.CreatedAt, c.EndTime, c.RouteSummary = l.begin, events.Some(l.end), present(l.route)
	switch {
	case l.answered != 0:
		c.StartTime, c.Duration = events.Some(l.answered), events.Some(l.duration)
	case c.Status == "no-answer":
		c.Duration = events.Some[int64](0)
	}
	if l.answered != 0 && l.rng.chance(180) {
		l.addTag("rule")
	}
	return l.publishCall(at)
}

func (l *leg) deleteCall(at events.Time) events.Event {
	return publishDeleted(&l.call, &l.call.Version, at)
}

// addTag adds a random tag unless the call has it. Published events keep their list.
func (l *leg) addTag(source string) {
	t := pick(&l.rng, l.sys.tags)
	if slices.ContainsFunc(l.call.Tags, func(has events.Tag) bool { return has.ID == t.ID }) {
		return
	}
	if t.Source = source; source != "manual" {
		t.Confidence = l.rng.hundredths(55, 99)
	}
	l.call.Tags = append(slices.Clip(l.call.Tags), t)
}

// changeTags adds or removes a tag by hand.
func (l *leg) changeTags(at events.Time) events.Event {
	if n := len(l.call.Tags); n > 0 && l.rng.chance(250) {
		l.call.Tags = l.call.Tags[: n-1 : n-1]
	} else {
		l.addTag("manual")
	}
	return l.publishCall(at)
}

// copyOutcome takes the business outcome over from the analysis, unless it was edited by hand.
func (l *leg) copyOutcome(at events.Time) events.Event {
	if l.call.IsEdited {
		return events.Event{}
	}
	l.setOutcome(l.topic.outcome, "analysis")
	return l.publishCall(at)
}

// editOutcome changes the business outcome by hand.
func (l *leg) editOutcome(at events.Time) events.Event {
	l.setOutcome(pick(&l.rng, l.sys.trade.topics["inbound"]).outcome, "manual")
	l.call.IsEdited = true
	return l.publishCall(at)
}

func (l *leg) setOutcome(outcome, source string) {
	c := &l.call
	c.CallOutcomeCode, c.OutcomeSource = present(outcome), events.Some(source)
	c.IsConverted, c.ConversionValue = isConversion(outcome), events.Null[string]{}
	if c.IsConverted {
		cents := strconv.Itoa(100 + l.rng.below(20)*5)[1:]
		c.ConversionValue = events.Some(strconv.Itoa(l.sys.trade.price(&l.rng)) + "." + cents)
	}
}

func isConversion(outcome string) bool {
	return slices.Contains([]string{
		"appointment_booked", "job_booked", "job_approved", "order_placed", "quote_accepted", "consultation_booked", "payment_taken",
		"emergency_admitted",
	}, outcome)
}

// recordingStatus publishes the recording with a status.
func recordingStatus(status string) action {
	return func(l *leg, at events.Time) events.Event {
		l.recording.Status = status
		return publishNext(&l.recording, &l.recording.Version, at)
	}
}

// storeRecording makes the audio available: the clip whose length is nearest to the conversation's.
func (l *leg) storeRecording(at events.Time) events.Event {
	l.recording.DurationSeconds = events.Some(l.duration)
	c := nearestClip(int(l.duration))
	l.recording.Audio = &events.Audio{Key: c.key(), ContentType: "audio/wav", Bytes: int64(c.bytes())}
	return recordingStatus(events.RecordingReady)(l, at)
}

func (l *leg) deleteRecording(at events.Time) events.Event {
	return publishDeleted(&l.recording, &l.recording.Version, at)
}

func (l *leg) publishVoicemail(at events.Time) events.Event {
	return publishNext(&l.voicemail, &l.voicemail.Version, at)
}

func (l *leg) listen(at events.Time) events.Event {
	l.voicemail.Listened = true
	return l.publishVoicemail(at)
}

func (l *leg) archive(at events.Time) events.Event {
	l.voicemail.Archived = true
	return l.publishVoicemail(at)
}

func (l *leg) deleteVoicemail(at events.Time) events.Event {
	return publishDeleted(&l.voicemail, &l.voicemail.Version, at)
}

// analysisStatus publishes the analysis with a status.
func analysisStatus(status string) action {
	return func(l *leg, at events.Time) events.Event {
		l.analysis.Status = status
		return publishNext(&l.analysis, &l.analysis.Version, at)
	}
}

func (l *leg) completeAnalysis(at events.Time) events.Event {
	a, rng := &l.analysis, &l.rng
	low, high := 55, 98
	if l.topic.tone == bad {
		low, high = 25, 85
	}
	a.OverallScore, a.AnalyzedAt = events.Some(int64(rng.between(low, high))), events.Some(at)
	a.Category = present(l.topic.category)
	l.setSentiments()
	a.SentimentSource = events.Some("model")
	if rng.chance(400) {
		a.ScorecardScore = events.Some(float64(rng.between(low*2, high*2)) / 2)
	}
	tips := l.sys.trade.lists["tip"]
	for range rng.weighted(40, 30, 20, 10) {
		a.CoachingTips = append(a.CoachingTips, pick(rng, tips))
	}
	a.Representative = l.attribution()
	return analysisStatus(events.AnalysisCompleted)(l, at)
}

// setSentiments sets the three sentiments. On most calls they follow from the topic's tone.
func (l *leg) setSentiments() {
	t := l.topic.tone
	if l.rng.chance(250) {
		t = tone(l.rng.below(3))
	}
	codes := map[tone][3][]string{
		neutral: {{"neutral", "neutral", "positive"}, {"neutral", "helpful"}, {"neutral", "satisfied"}},
		good:    {{"positive"}, {"helpful"}, {"satisfied", "delighted"}},
		bad:     {{"negative", "mixed"}, {"helpful", "neutral", "impatient"}, {"frustrated", "frustrated", "angry"}},
	}[t]
	a := &l.analysis
	a.OverallSentiment = l.sentiment(overall, pick(&l.rng, codes[0]))
	a.EmployeeSentiment = l.sentiment(employee, pick(&l.rng, codes[1]))
	a.CustomerSentiment = l.sentiment(customer, pick(&l.rng, codes[2]))
}

// sentiment returns a code with a score near that of its classification.
func (l *leg) sentiment(kind, code string) *events.Sentiment {
	for _, s := range sentiments() {
		if s.kind == kind && s.code == code {
			return &events.Sentiment{Code: code, Score: l.rng.hundredths(max(s.score-15, -100), min(s.score+15, 100))}
		}
	}
	return &events.Sentiment{Code: code}
}

// attribution is the representative of the extension, unless the analysis does not recognize the voice.
func (l *leg) attribution() *events.RepresentativeRole {
	switch {
	case l.rng.chance(30):
		return &events.RepresentativeRole{State: "not_analyzed"}
	case l.representative == nil || l.rng.chance(80):
		return &events.RepresentativeRole{State: "unknown", Confidence: l.rng.hundredths(5, 45), Source: events.Some("voice")}
	}
	return &events.RepresentativeRole{
		State: "identified", ID: events.Some(l.representative.ID), Confidence: l.rng.hundredths(70, 99),
		Source: events.Some(pick(&l.rng, []string{"extension", "voice"})),
	}
}
