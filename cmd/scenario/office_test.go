package scenario_test

import (
	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// office is a phone system of one rule's own, with one call of which nothing is known that may be unknown.
type office struct {
	*world
	system  uuid.UUID
	call    uuid.UUID
	key     access.Key
	version int64

	latest events.Call // as last published
}

func (w *world) office() *office {
	w.t.Helper()
	o := &office{world: w, system: uuid.New(), call: uuid.New()}
	o.key = w.systemKey(o.system)
	o.latest = events.Call{
		ID: o.call, PhoneSystemID: o.system, CallSid: "CA" + o.call.String(), Direction: "internal", Status: "no-answer",
		From: "101", To: "102", CreatedAt: day(4),
	}
	o.happen(events.Changed(phoneSystem(o.system, o.next(), "Office")), o.edited(func(*events.Call) {}))
	return o
}

func (o *office) path(below string) string { return "/" + o.system.String() + below }

// next is a version above all before.
func (o *office) next() int64 {
	o.version++
	return o.version
}

// edited is a change of the call, which stays as it is otherwise.
func (o *office) edited(edit func(*events.Call)) events.Event {
	edit(&o.latest)
	o.latest.Version = o.next()
	c := o.latest
	return events.Changed(&c)
}

func (o *office) transcribed(status, text string) events.Event {
	return events.Changed(transcript(o.system, o.call, o.next(), status, text))
}

func (o *office) recorded(status string) events.Event {
	return events.Changed(recording(o.system, o.call, "REoffice", o.next(), status))
}

// findings is the call's completed analysis, as far as a rule isn't about something else.
func (o *office) findings(edit func(*events.Analysis)) events.Event {
	a := &events.Analysis{
		ID: o.call, PhoneSystemID: o.system, Version: o.next(), CallID: o.call, CallSid: o.latest.CallSid,
		Status: events.AnalysisCompleted, CreatedAt: day(5),
	}
	edit(a)
	return events.Changed(a)
}

func (o *office) extension(id uuid.UUID, name, status string) events.Event {
	return events.Changed(&events.Extension{
		ID: id, PhoneSystemID: o.system, Version: o.next(), Number: "101", Name: name, Status: status, CreatedAt: day(1), UpdatedAt: day(int(o.version)),
	})
}

func (o *office) callGroup(id uuid.UUID, name, status string) events.Event {
	return events.Changed(&events.CallGroup{
		ID: id, PhoneSystemID: o.system, Version: o.next(), Number: "200", Name: name, Status: status, CreatedAt: day(1), UpdatedAt: day(int(o.version)),
		RingPattern: "all",
	})
}

func (o *office) representative(id uuid.UUID, name, status string) events.Event {
	return events.Changed(&events.Representative{
		ID: id, PhoneSystemID: o.system, Version: o.next(), Name: name, Status: status, UpdatedAt: day(int(o.version)),
	})
}

func (o *office) classification(kind, code, label string) events.Event {
	return events.Changed(&events.Classification{
		PhoneSystemID: events.Some(o.system), Version: o.next(), Kind: kind, Code: code, Label: label, Status: "active", UpdatedAt: day(int(o.version)),
	})
}

// gone is the end of what an event announced.
func (o *office) gone(e events.Event) events.Event {
	e.Version = o.next()
	return events.Deleted(e.Identity)
}

// row is the call's report row, its transcript included.
func (o *office) row() map[string]any {
	o.t.Helper()
	return o.report(o.key, o.system, o.call, "includeTranscripts=true")
}

// detail is the call log's detail.
func (o *office) detail() map[string]any {
	o.t.Helper()
	return o.read(o.key, o.path("/call-logs/"+o.call.String()))
}
