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

// extension, callGroup and representative return events of entities with the call's identifier.
func (o *ownSystem) extension(name string) events.Event {
	return events.Changed(extensionNamed(o.system, o.call, o.next(), name))
}

func (o *ownSystem) callGroup(name string) events.Event {
	return events.Changed(&events.CallGroup{
		ID: o.call, PhoneSystemID: o.system, Version: o.next(), Number: "200", Name: name, Status: "active", RingPattern: "all",
	})
}

func (o *ownSystem) representative(name string) events.Event {
	return events.Changed(&events.Representative{ID: o.call, PhoneSystemID: o.system, Version: o.next(), Name: name, Status: "active"})
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

// voicemail returns the events of a voicemail, its recording and its transcript.
func (o *ownSystem) voicemail(id uuid.UUID) []events.Event {
	audio := recording(o.system, uuid.Nil, "REvoice", o.next(), events.RecordingReady)
	text := transcript(o.system, uuid.Nil, o.next(), events.TranscriptCompleted, "Hello.")
	audio.CallID, audio.VoicemailID = events.Null[uuid.UUID]{}, events.Some(id)
	text.CallID, text.VoicemailID = audio.CallID, audio.VoicemailID
	return []events.Event{events.Changed(&events.Voicemail{
		ID: id, PhoneSystemID: o.system, Version: o.next(), CallSid: "CA1", From: events.Some("101"), Duration: 5, RecordingSid: "REvoice", CreatedAt: day(9),
	}), events.Changed(audio), events.Changed(text)}
}

// publishReferences gives the call an extension at both ends, a call group, and an analysis with a representative
// and codes. Their identifiers are the call's.
func (o *ownSystem) publishReferences() {
	o.Helper()
	o.apply(o.extension("Front"), o.callGroup("Sales"), o.representative("Ana"), o.classification("category", "fresh", "New"),
		o.classification("overall_sentiment", "calm", "Relaxed"))
	call := o.editCall(func(c *events.Call) {
		c.CallGroupID, c.AnsweredByExtensionID, c.FromExtensionID = events.Some(o.call), events.Some(o.call), events.Some(o.call)
	})
	calm := &events.Sentiment{Code: "calm"}
	o.apply(call, events.Changed(&events.Analysis{
		ID: o.call, PhoneSystemID: o.system, Version: o.next(), CallID: o.call, CallSid: o.latest.CallSid, Status: events.AnalysisCompleted,
		CreatedAt: day(5), Category: events.Some("fresh"), OverallSentiment: calm, EmployeeSentiment: calm, CustomerSentiment: calm,
		Representative: &events.RepresentativeRole{State: "identified", ID: events.Some(o.call)},
	}))
}
