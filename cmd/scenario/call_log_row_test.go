package scenario_test

import "callboard/events"

func (w *world) callRow() fields {
	return fields{
		"id": w.full, "phoneSystemId": w.harbour, "callSid": fullSid, "parentCallSid": nil, "direction": "inbound", "status": "completed",
		"outcome": "answered", "from": "+14155550123", "fromName": "Zoë Marsh", "to": "+14155550100", "createdAt": day(5),
		"startTime": "2026-03-05T09:00:01.500Z", "endTime": "2026-03-05T09:03:11.500Z", "duration": 190,
		"recordingSid": fullSound, "recordingDuration": 189,
	}
}

func callRowInFull(w *world) {
	w.shows(w.key, w.home("/call-logs?callSid="+fullSid), "data.1", w.callRow())
}

func callRowOfNothing(w *world) {
	o := w.office()
	want := fields{
		"id": o.call, "phoneSystemId": o.system, "callSid": o.latest.CallSid, "parentCallSid": nil, "direction": "internal", "status": "no-answer",
		"outcome": nil, "from": "101", "fromName": nil, "to": "102", "createdAt": day(4), "startTime": nil, "endTime": nil, "duration": nil,
		"recordingSid": nil, "recordingDuration": nil,
	}
	o.shows(o.key, o.path("/call-logs"), "data", []fields{want})
	o.is("the detail", o.detail(), want.and(fields{"transcribedText": nil, "transcriptionStatus": "unavailable"}))
}

func legsOfOneCall(w *world) {
	rows := w.read(w.key, w.home("/call-logs?callSid="+fullSid))["data"]
	w.is("the legs", column(rows, "id"), []any{w.leg, w.full})
	w.is("their parents", column(rows, "parentCallSid"), []any{bareSid, nil})
}

func recordingOnItsCall(w *world) {
	o := w.office()
	for _, c := range []struct {
		status        string
		sid, duration any
	}{
		{events.RecordingProcessing, "REoffice", nil},
		{events.RecordingReady, "REoffice", 189},
		{events.RecordingUnavailable, nil, nil},
	} {
		o.happen(o.recorded(c.status))
		o.holds(c.status, o.read(o.key, o.path("/call-logs"))["data"].([]any)[0], fields{"recordingSid": c.sid, "recordingDuration": c.duration})
	}
}

func callsNewestFirst(w *world) {
	rows := w.read(w.key, w.home("/call-logs"))["data"]
	w.is("the order", column(rows, "id"), []any{w.leg, w.full, w.bare})
	w.is("its key", column(rows, "createdAt"), []any{day(6), day(5), day(4)})
}

func callDetailInFull(w *world) {
	w.shows(w.key, w.home("/call-logs/"+w.full.String()), "", w.callRow().and(fields{
		"transcribedText": "Good morning. \"Hi\", two\nlines.", "transcriptionStatus": "completed",
	}))
}

// callMember proves that a member of calls takes these values, and that an event with another one changes nothing.
func callMember(member string, set func(*events.Call, string), refused string, values ...string) func(*world) {
	return func(w *world) {
		o := w.office()
		with := func(value string) events.Event { return o.edited(func(c *events.Call) { set(c, value) }) }
		for _, value := range values {
			o.happen(with(value))
			o.holds("the detail", o.detail(), fields{member: value})
			o.shows(o.key, o.path("/call-logs"), "data.0."+member, value)
		}
		if refused != "" {
			o.tampered(with(values[0]), `"`+member+`":"`+values[0], `"`+member+`":"`+refused)
			o.holds("the detail", o.detail(), fields{member: values[len(values)-1]})
		}
	}
}

func callDirections() func(*world) {
	return callMember("direction", func(c *events.Call, value string) { c.Direction = value }, "sideways", "inbound", "outbound", "internal")
}

func callStatuses() func(*world) {
	return callMember("status", func(c *events.Call, value string) { c.Status = value }, "", "completed", "no-answer", "busy", "failed", "canceled")
}

func callOutcomes() func(*world) {
	return callMember("outcome", func(c *events.Call, value string) { c.Outcome = events.Some(value) }, "",
		"answered", "missed", "abandoned", "voicemail", "transferred")
}
