package scenario_test

import (
	"github.com/google/uuid"

	"callboard/events"
)

func (f *fixture) callRow() fields {
	return fields{
		"id": f.full, "phoneSystemId": f.harbour, "callSid": fullSid, "parentCallSid": nil, "direction": "inbound", "status": "completed",
		"outcome": "answered", "from": "+14155550123", "fromName": "Zoë Marsh", "to": "+14155550100", "createdAt": day(5),
		"startTime": "2026-03-05T09:00:01.500Z", "endTime": "2026-03-05T09:03:11.500Z", "duration": 190,
		"recordingSid": fullRecording, "recordingDuration": 189,
	}
}

func callRowInFull(f *fixture) {
	f.expectJSON(f.key, f.harbourPath("/call-logs?callSid="+fullSid), "data.1", f.callRow())
}

func callRowOfEmptyCall(f *fixture) {
	o := f.ownSystem()
	want := fields{
		"id": o.call, "phoneSystemId": o.system, "callSid": o.latest.CallSid, "parentCallSid": nil, "direction": "internal", "status": "no-answer",
		"outcome": nil, "from": "101", "fromName": nil, "to": "102", "createdAt": day(4), "startTime": nil, "endTime": nil, "duration": nil,
		"recordingSid": nil, "recordingDuration": nil,
	}
	o.expectJSON(o.key, o.path("/call-logs"), "data", []fields{want})
	o.equalJSON("the detail", o.detail(), want.and(fields{"transcribedText": nil, "transcriptionStatus": "unavailable"}))

	o.apply(o.editCall(withheld))
	o.expectJSON(o.key, o.path("/call-logs"), "data", []fields{want.and(fields{"from": "", "to": ""})})
	o.equalMembers("the detail", o.detail(), fields{"from": "", "to": ""})
}

// withheld makes a call one whose numbers are withheld.
func withheld(c *events.Call) { c.From, c.To = events.Null[string]{}, events.Null[string]{} }

func legsOfOneCall(f *fixture) {
	rows := f.mustGet(f.key, f.harbourPath("/call-logs?callSid="+fullSid))["data"]
	f.equalJSON("the legs", column(rows, "id"), []any{f.leg, f.full})
	f.equalJSON("their parents", column(rows, "parentCallSid"), []any{bareSid, nil})
}

func recordingOnItsCall(f *fixture) {
	o := f.ownSystem()
	for _, c := range []struct {
		status        string
		sid, duration any
	}{
		{events.RecordingProcessing, "REown", nil},
		{events.RecordingReady, "REown", 189},
		{events.RecordingUnavailable, nil, nil},
	} {
		o.apply(o.recording(c.status))
		o.equalMembers(c.status, o.mustGet(o.key, o.path("/call-logs"))["data"].([]any)[0], fields{"recordingSid": c.sid, "recordingDuration": c.duration})
	}
}

func callsNewestFirst(f *fixture) {
	rows := f.mustGet(f.key, f.harbourPath("/call-logs"))["data"]
	f.equalJSON("the order", column(rows, "id"), []any{f.leg, f.full, f.bare})
	f.equalJSON("its key", column(rows, "createdAt"), []any{day(6), day(5), day(4)})
}

func callDetailInFull(f *fixture) {
	f.expectJSON(f.key, f.harbourPath("/call-logs/"+f.full.String()), "", f.callRow().and(fields{
		"transcribedText": "Good morning. \"Hi\", two\nlines.", "transcriptionStatus": "completed",
	}))
}

// callMember checks that a member of calls takes values, and that an event with a refused value changes nothing.
func callMember(member string, set func(*events.Call, string), refused string, values ...string) func(*fixture) {
	return func(f *fixture) {
		o := f.ownSystem()
		with := func(value string) events.Event { return o.editCall(func(c *events.Call) { set(c, value) }) }
		for _, value := range values {
			o.apply(with(value))
			o.equalMembers("the detail", o.detail(), fields{member: value})
			o.expectJSON(o.key, o.path("/call-logs"), "data.0."+member, value)
		}
		if refused != "" {
			o.applyEdited(with(values[0]), `"`+member+`":"`+values[0], `"`+member+`":"`+refused)
			o.equalMembers("the detail", o.detail(), fields{member: values[len(values)-1]})
		}
	}
}

func callDirections() func(*fixture) {
	return callMember("direction", func(c *events.Call, value string) { c.Direction = value }, "sideways", "inbound", "outbound", "internal")
}

func callStatuses() func(*fixture) {
	return callMember("status", func(c *events.Call, value string) { c.Status = value }, "", "completed", "no-answer", "busy", "failed", "canceled")
}

func callOutcomes() func(*fixture) {
	return callMember("outcome", func(c *events.Call, value string) { c.Outcome = events.Some(value) }, "",
		"answered", "missed", "abandoned", "voicemail", "transferred")
}

// transcriptStep is a transcript that is published, and the status and text that are shown then.
type transcriptStep struct {
	status, text string
	wantStatus   string
	wantText     any
}

// transcribes publishes transcripts of a call, and checks the call's detail and its report row after each.
func transcribes(steps ...transcriptStep) func(*fixture) {
	return func(f *fixture) {
		f.Helper()
		o := f.ownSystem()
		for _, s := range steps {
			o.apply(o.transcript(s.status, s.text))
			o.equalMembers(s.status+" in the detail", o.detail(), fields{"transcriptionStatus": s.wantStatus, "transcribedText": s.wantText})
			row := o.row()
			o.equalMembers(s.status+" in the row", row, fields{"transcriptionStatus": s.wantStatus})
			o.equalJSON(s.status+" in the row", jsonAt(row, "transcript.text"), s.wantText)
		}
	}
}

// each combines provers.
func each(proofs ...func(*fixture)) func(*fixture) {
	return func(f *fixture) {
		f.Helper()
		for _, prove := range proofs {
			prove(f)
		}
	}
}

func textIsStored() func(*fixture) {
	return each(
		transcribes(transcriptStep{"queued", "", "processing", nil}, transcriptStep{"running", "", "processing", nil}, transcriptStep{"completed", "One.", "completed", "One."}),
		transcribes(transcriptStep{"completed", "", "completed", ""}),
		transcribes(transcriptStep{"running", "early", "processing", nil}, transcriptStep{"completed", "", "completed", ""}),
	)
}

// Both a transcript with status removed and the deletion of the transcript delete the text.
func transcriptRemoved(f *fixture) {
	transcribes(transcriptStep{"completed", "One.", "completed", "One."}, transcriptStep{"removed", "", "unavailable", nil})(f)
	o := f.ownSystem()
	o.apply(o.transcript("completed", "Sesame."))
	o.apply(o.deletion(o.transcript("completed", "Sesame.")))
	o.equalMembers("the detail", o.detail(), fields{"transcriptionStatus": "unavailable", "transcribedText": nil})
	o.equalMembers("the row", o.row(), fields{"transcriptionStatus": "unavailable", "transcript": nil})
	var stored int
	if err := f.Pool.QueryRow(f.Context(), "select count(*) from projection.transcript_text where system_id = $1", o.system).Scan(&stored); err != nil || stored != 0 {
		f.Errorf("stored texts = %d, want 0: %v", stored, err)
	}
}

func unavailableStatus() func(*fixture) {
	return each(
		transcribes(transcriptStep{"skipped", "", "unavailable", nil}),
		transcribes(transcriptStep{"completed", "One.", "completed", "One."}, transcriptStep{"removed", "", "unavailable", nil}),
		callRowOfEmptyCall,
	)
}

func voicemailTranscribed(f *fixture) {
	for _, steps := range [][]transcriptStep{
		{{"queued", "", "processing", nil}, {"running", "", "processing", nil}, {"completed", "One.", "completed", "One."}, {"failed", "", "completed", "One."}, {"removed", "", "unavailable", nil}},
		{{"failed", "", "failed", nil}, {"running", "", "failed", nil}, {"completed", "", "completed", ""}},
		{{"skipped", "", "unavailable", nil}},
	} {
		o, id := f.ownSystem(), uuid.New()
		path := o.path("/voicemails/" + id.String())
		o.apply(o.voicemail(id)[0])
		o.equalMembers("never attempted", o.mustGet(o.key, path), fields{"transcriptionStatus": "unavailable", "transcribedText": nil})
		for _, s := range steps {
			o.apply(o.voicemailTranscript(id, s.status, s.text))
			o.equalMembers(s.status, o.mustGet(o.key, path), fields{"transcriptionStatus": s.wantStatus, "transcribedText": s.wantText})
		}
		o.equalMembers("the call", o.detail(), fields{"transcriptionStatus": "unavailable", "transcribedText": nil})
	}
}

// An inactive tag stays in the call's event, so it stays in the row through other changes.
func tagStays(f *fixture) {
	o := f.ownSystem()
	tag := events.Tag{ID: uuid.New(), Name: "VIP", Group: "care", Color: "#111111", Source: "manual"}
	o.apply(o.editCall(func(c *events.Call) { c.Tags = []events.Tag{tag} }))
	want := []fields{{"id": tag.ID, "name": "VIP", "group": "care", "color": "#111111", "source": "manual", "confidence": nil}}
	o.apply(o.editCall(func(c *events.Call) { c.Outcome = events.Some("answered") }), o.analysisWithReferences(), o.transcript("completed", "One."), o.recording("ready"))
	o.equalMembers("the row", o.row(), fields{"tags": want, "outcome": "answered"})
}
