package scenario_test

import (
	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// ownSystem is a phone system of one rule, with one call that has only the required fields.
type ownSystem struct {
	*fixture
	system  uuid.UUID
	call    uuid.UUID
	key     access.Key
	version int64

	latest events.Call // the call as it was last published
}

func (f *fixture) ownSystem() *ownSystem {
	f.Helper()
	o := &ownSystem{fixture: f, system: uuid.New(), call: uuid.New()}
	o.key = f.systemKey(o.system)
	o.latest = events.Call{
		ID: o.call, PhoneSystemID: o.system, CallSid: "CA" + o.call.String(), Direction: "internal", Status: "no-answer",
		From: events.Some("101"), To: events.Some("102"), CreatedAt: day(4),
	}
	o.apply(events.Changed(phoneSystem(o.system, o.next(), "Own")), o.editCall(func(*events.Call) {}))
	return o
}

func (o *ownSystem) path(below string) string { return "/" + o.system.String() + below }

// next returns the next version.
func (o *ownSystem) next() int64 {
	o.version++
	return o.version
}

// editCall returns the event of a change of the call.
func (o *ownSystem) editCall(edit func(*events.Call)) events.Event {
	edit(&o.latest)
	o.latest.Version = o.next()
	c := o.latest
	return events.Changed(&c)
}

func (o *ownSystem) transcript(status, text string) events.Event {
	return events.Changed(transcript(o.system, o.call, o.next(), status, text))
}

func (o *ownSystem) recording(status string) events.Event {
	return events.Changed(recording(o.system, o.call, "REown", o.next(), status))
}

// analysis returns the event of the call's analysis, which is completed unless edit changes that.
func (o *ownSystem) analysis(edit func(*events.Analysis)) events.Event {
	a := &events.Analysis{
		ID: o.call, PhoneSystemID: o.system, Version: o.next(), CallID: o.call, CallSid: o.latest.CallSid,
		Status: events.AnalysisCompleted, CreatedAt: day(5),
	}
	edit(a)
	return events.Changed(a)
}

func (o *ownSystem) extension(id uuid.UUID, name, status string) events.Event {
	return events.Changed(&events.Extension{
		ID: id, PhoneSystemID: o.system, Version: o.next(), Number: "101", Name: name, Status: status, CreatedAt: day(1), UpdatedAt: day(int(o.version)),
	})
}

func (o *ownSystem) callGroup(id uuid.UUID, name, status string) events.Event {
	return events.Changed(&events.CallGroup{
		ID: id, PhoneSystemID: o.system, Version: o.next(), Number: "200", Name: name, Status: status, CreatedAt: day(1), UpdatedAt: day(int(o.version)),
		RingPattern: "all",
	})
}

func (o *ownSystem) representative(id uuid.UUID, name, status string) events.Event {
	return events.Changed(&events.Representative{
		ID: id, PhoneSystemID: o.system, Version: o.next(), Name: name, Status: status, UpdatedAt: day(int(o.version)),
	})
}

func (o *ownSystem) classification(kind, code, label string) events.Event {
	return events.Changed(&events.Classification{
		PhoneSystemID: events.Some(o.system), Version: o.next(), Kind: kind, Code: code, Label: label, Status: "active", UpdatedAt: day(int(o.version)),
	})
}

// deletion returns the deletion of an event's entity.
func (o *ownSystem) deletion(e events.Event) events.Event {
	e.Version = o.next()
	return events.Deleted(e.Identity)
}

// row returns the call's report row with its transcript.
func (o *ownSystem) row() map[string]any {
	o.Helper()
	return o.reportRowOf(o.key, o.system, o.call, "includeTranscripts=true")
}

// detail returns the call's detail.
func (o *ownSystem) detail() map[string]any {
	o.Helper()
	return o.mustGet(o.key, o.path("/call-logs/"+o.call.String()))
}

// voicemail returns the events of a voicemail, its recording and its transcript.
func (o *ownSystem) voicemail(id uuid.UUID) []events.Event {
	audio := recording(o.system, uuid.Nil, "REvoice", o.next(), events.RecordingReady)
	audio.CallID, audio.VoicemailID = events.Null[uuid.UUID]{}, events.Some(id)
	return []events.Event{events.Changed(&events.Voicemail{
		ID: id, PhoneSystemID: o.system, Version: o.next(), CallSid: "CA1", From: events.Some("101"), Duration: 5, RecordingSid: "REvoice", CreatedAt: day(9),
	}), events.Changed(audio), o.voicemailTranscript(id, events.TranscriptCompleted, "Hello.")}
}

func (o *ownSystem) voicemailTranscript(voicemail uuid.UUID, status, text string) events.Event {
	t := transcript(o.system, voicemail, o.next(), status, text)
	t.CallID, t.VoicemailID = events.Null[uuid.UUID]{}, events.Some(voicemail)
	return events.Changed(t)
}

// publishReferences gives the call an extension at both ends, a call group, and an analysis with a representative and codes. Their
// identifiers are the call's.
func (o *ownSystem) publishReferences() {
	o.Helper()
	o.apply(o.extension(o.call, "Front", "active"), o.callGroup(o.call, "Sales", "active"), o.representative(o.call, "Ana", "active"),
		o.classification("category", "fresh", "New"), o.classification("overall_sentiment", "calm", "Relaxed"),
		o.classification("employee_sentiment", "calm", "Patient"), o.classification("customer_sentiment", "calm", "Content"))
	o.apply(o.callWithReferences(), o.analysisWithReferences())
}

// callWithReferences returns the event of the call with its references.
func (o *ownSystem) callWithReferences() events.Event {
	return o.editCall(func(c *events.Call) {
		c.CallGroupID, c.AnsweredByExtensionID, c.FromExtensionID = events.Some(o.call), events.Some(o.call), events.Some(o.call)
	})
}

// analysisWithReferences returns the event of an analysis with a category, sentiments and a representative.
func (o *ownSystem) analysisWithReferences() events.Event {
	return o.analysis(func(a *events.Analysis) {
		a.Category, a.ScorecardScore = events.Some("fresh"), events.Some(10.0)
		a.OverallSentiment, a.EmployeeSentiment, a.CustomerSentiment = &events.Sentiment{Code: "calm"}, &events.Sentiment{Code: "calm"}, &events.Sentiment{Code: "calm"}
		a.Representative = &events.RepresentativeRole{State: "identified", ID: events.Some(o.call)}
	})
}

func callGroupDeletion(o *ownSystem) events.Event { return o.deletion(o.callGroup(o.call, "", "")) }

func extensionDeletion(o *ownSystem) events.Event { return o.deletion(o.extension(o.call, "", "")) }
