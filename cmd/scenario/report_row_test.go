package scenario_test

import (
	"maps"
	"regexp"
	"slices"

	"github.com/google/uuid"

	"callboard/events"
)

var dateTimeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

// reportRow returns the report row of the full call without updatedAt.
func (f *fixture) reportRow() fields {
	return fields{
		"id": f.full, "phoneSystemId": f.harbour, "callSid": fullSid, "parentCallSid": nil, "direction": "inbound",
		"startTime": "2026-03-05T09:00:01.500Z", "endTime": "2026-03-05T09:03:11.500Z", "durationSeconds": 190, "createdAt": day(5),
		"from": "+14155550123", "fromDisplay": "(415) 555-0123", "fromNumber": "+14155550123", "fromName": "Zoë Marsh",
		"to": "+14155550100", "toDisplay": "Main line", "toNumber": "+14155550100", "forwardedFrom": "+14155550144",
		"status": "completed", "outcome": "answered", "callOutcomeCode": "booked",
		"isConverted": true, "conversionValue": "0120.50", "outcomeSource": "agent",
		"category":          fields{"code": "new_patient", "label": "New patient"},
		"overallSentiment":  fields{"code": "positive", "label": "Positive", "score": 0.5},
		"employeeSentiment": fields{"code": "very_calm", "label": "Very calm", "score": 0.25},
		"customerSentiment": fields{"code": "positive", "label": "Positive", "score": -0.125},
		"sentimentSource":   "model", "scorecardScore": 71.5,
		"representative": fields{"id": f.ana, "name": "Ana Ruiz", "state": "identified", "confidence": 0.875, "source": "voice"},
		"hasRecording":   true, "recordingSid": fullRecording, "recordingDurationSeconds": 189, "transcriptionStatus": "completed",
		"callGroup":           fields{"id": f.desk, "name": "Reception", "number": "200"},
		"answeredByExtension": fields{"id": f.front, "name": "Front desk", "number": "101"},
		"fromExtension":       fields{"id": f.back, "name": "Back office", "number": "102"},
		"isEmergency":         true, "isEdited": true,
		"tags": []fields{{
			"id": "c0000000-0000-4000-8000-00000000007a", "name": "VIP", "group": "care", "color": "#c0ffee", "source": "manual", "confidence": 0.5,
		}},
		"routeSummary": "Welcome > Reception",
	}
}

// emptyReportRow returns the report row of the system's call without updatedAt.
func (o *ownSystem) emptyReportRow() fields {
	row := fields{
		"id": o.call, "phoneSystemId": o.system, "callSid": o.latest.CallSid, "direction": "internal", "createdAt": day(4),
		"from": "101", "to": "102", "status": "no-answer", "isConverted": false, "isEmergency": false, "isEdited": false, "tags": []any{},
		"representative": fields{"id": nil, "name": nil, "state": "not_analyzed", "confidence": nil, "source": nil},
		"hasRecording":   false, "transcriptionStatus": "unavailable",
	}
	for _, name := range []string{
		"parentCallSid", "startTime", "endTime", "durationSeconds", "fromDisplay", "fromNumber", "fromName", "toDisplay", "toNumber",
		"forwardedFrom", "outcome", "callOutcomeCode", "conversionValue", "outcomeSource", "category", "overallSentiment",
		"employeeSentiment", "customerSentiment", "sentimentSource", "scorecardScore", "recordingSid", "recordingDurationSeconds",
		"callGroup", "answeredByExtension", "fromExtension", "routeSummary",
	} {
		row[name] = nil
	}
	return row
}

// equalReportRow compares a report row without updatedAt, which must be a time.
func (h *harness) equalReportRow(row map[string]any, want fields) {
	h.Helper()
	row = maps.Clone(row)
	if text, ok := row["updatedAt"].(string); !ok || !dateTimeForm.MatchString(text) {
		h.Errorf("updatedAt = %v, want a time", row["updatedAt"])
	}
	delete(row, "updatedAt")
	h.equalJSON("the row", row, want)
}

// reportMembers compares members of the full call's report row and of an empty one.
func reportMembers(names ...string) func(*fixture) {
	return func(f *fixture) {
		want := f.reportRow()
		maps.DeleteFunc(want, func(name string, _ any) bool { return !slices.Contains(names, name) })
		f.equalMembers("the row", f.reportRowOf(f.key, f.harbour, f.full), want)
		o := f.ownSystem()
		none := o.emptyReportRow()
		maps.DeleteFunc(none, func(name string, _ any) bool { return !slices.Contains(names, name) })
		o.equalMembers("the empty row", o.reportRowOf(o.key, o.system, o.call), none)
	}
}

func reportRowInFull(f *fixture) {
	f.equalReportRow(f.reportRowOf(f.key, f.harbour, f.full), f.reportRow())
}

func reportRowOfEmptyCall(f *fixture) {
	o := f.ownSystem()
	o.equalReportRow(o.reportRowOf(o.key, o.system, o.call), o.emptyReportRow())

	o.apply(o.editCall(withheld))
	for _, row := range []map[string]any{o.reportRowOf(o.key, o.system, o.call), o.row()} {
		o.equalMembers("the row of withheld numbers", row, fields{"from": nil, "to": nil})
	}
}

// conversionValues checks that the digits equal the published ones.
func conversionValues(f *fixture) {
	o := f.ownSystem()
	for _, value := range []string{"0120.50", "10", "0.1000", "12345678901234567890.123456789"} {
		o.apply(o.editCall(func(c *events.Call) { c.ConversionValue = events.Some(value) }))
		o.equalMembers("the row", o.row(), fields{"conversionValue": value})
	}
	o.apply(o.editCall(func(c *events.Call) { c.ConversionValue = events.Null[string]{} }))
	o.equalMembers("the row", o.row(), fields{"conversionValue": nil})
}

func legsInReports(f *fixture) {
	rows := f.mustGet(f.key, f.harbourPath("/call-log-reports?"+wholeWindow))["data"]
	f.equalJSON("the rows", column(rows, "id"), []any{f.bare, f.full, f.leg})
	f.equalJSON("their calls", column(rows, "callSid"), []any{bareSid, fullSid, fullSid})
	f.equalJSON("their parents", column(rows, "parentCallSid"), []any{nil, nil, bareSid})
}

func recordingInReport(f *fixture) {
	o := f.ownSystem()
	for _, c := range []struct {
		status string
		want   fields
	}{
		{events.RecordingProcessing, fields{"hasRecording": true, "recordingSid": "REown", "recordingDurationSeconds": nil}},
		{events.RecordingReady, fields{"hasRecording": true, "recordingSid": "REown", "recordingDurationSeconds": 189}},
		{events.RecordingUnavailable, fields{"hasRecording": false, "recordingSid": nil, "recordingDurationSeconds": nil}},
	} {
		o.apply(o.recording(c.status))
		o.equalMembers(c.status, o.row(), c.want)
	}
}

func (o *ownSystem) names(extension, group, representative, category, overall, employee, customer string) fields {
	sentiment := func(label string) fields { return fields{"code": "calm", "label": label, "score": nil} }
	numbered := func(name, number string) fields { return fields{"id": o.call, "name": name, "number": number} }
	return fields{
		"answeredByExtension": numbered(extension, "101"), "fromExtension": numbered(extension, "101"), "callGroup": numbered(group, "200"),
		"representative":   fields{"id": o.call, "name": representative, "state": "identified", "confidence": nil, "source": nil},
		"category":         fields{"code": "fresh", "label": category},
		"overallSentiment": sentiment(overall), "employeeSentiment": sentiment(employee), "customerSentiment": sentiment(customer),
	}
}

// renames returns renames of everything that the call refers to.
func (o *ownSystem) renames() []events.Event {
	return []events.Event{
		o.extension(o.call, "Back", "active"), o.callGroup(o.call, "Support", "active"), o.representative(o.call, "Bea", "active"),
		o.classification("category", "fresh", "Fresh"), o.classification("overall_sentiment", "calm", "A"),
		o.classification("employee_sentiment", "calm", "B"), o.classification("customer_sentiment", "calm", "C"),
	}
}

func renamesReachRows(f *fixture) {
	o := f.ownSystem()
	o.publishReferences()
	o.equalMembers("before", o.row(), o.names("Front", "Sales", "Ana", "New", "Relaxed", "Patient", "Content"))
	o.apply(o.renames()...)
	o.equalMembers("after", o.row(), o.names("Back", "Support", "Bea", "Fresh", "A", "B", "C"))
}

// identifiersStay deactivates what a call refers to and deletes the definitions of its codes.
func identifiersStay(f *fixture) {
	o := f.ownSystem()
	o.publishReferences()
	o.apply(o.extension(o.call, "Front", "inactive"), o.callGroup(o.call, "Sales", "archived"), o.representative(o.call, "Ana", "inactive"))
	for _, kind := range []string{"category", "overall_sentiment", "employee_sentiment", "customer_sentiment"} {
		o.apply(o.deletion(o.classification(kind, map[bool]string{true: "fresh", false: "calm"}[kind == "category"], "")))
	}
	tag := uuid.New()
	o.apply(o.editCall(func(c *events.Call) {
		c.Tags = []events.Tag{{ID: tag, Name: "A", Group: "g", Color: "#000", Source: "rule"}}
	}))
	row := o.row()
	o.equalMembers("the row", row, o.names("Front", "Sales", "Ana", "Fresh", "Calm", "Calm", "Calm"))
	o.equalJSON("the tag's id", jsonAt(row, "tags.0.id"), tag)
}

func tagsAreSnapshots(f *fixture) {
	o, other := f.ownSystem(), uuid.New()
	tag := events.Tag{ID: uuid.New(), Name: "VIP", Group: "care", Color: "#111111", Source: "manual", Confidence: events.Some(1.0)}
	o.apply(o.editCall(func(c *events.Call) { c.Tags = []events.Tag{tag} }))
	before := o.row()["tags"]
	o.equalJSON("the tags", before, []fields{{"id": tag.ID, "name": "VIP", "group": "care", "color": "#111111", "source": "manual", "confidence": 1}})

	later := tag
	later.Name, later.Group, later.Color, later.Confidence = "Very important", "rank", "#222222", events.Null[float64]{}
	next := o.latest
	next.ID, next.Version, next.Tags = other, o.next(), []events.Tag{later}
	o.apply(events.Changed(&next))
	o.equalJSON("the tags of the call before", o.row()["tags"], before)
	o.equalJSON("the tags of the call after", o.reportRowOf(o.key, o.system, other)["tags"],
		[]fields{{"id": tag.ID, "name": "Very important", "group": "rank", "color": "#222222", "source": "manual", "confidence": nil}})
}

func noTombstone(f *fixture) {
	o := f.ownSystem()
	if o.row() == nil {
		f.Fatal("the call has no report row")
	}
	o.apply(o.deletion(o.editCall(func(*events.Call) {})))
	for _, window := range []string{wholeWindow, wholeWindow + "&includeTranscripts=true", "timeField=updatedAt&dateFrom=2026-01-01T00:00:00Z&dateTo=2036-01-01T00:00:00Z"} {
		o.expectJSON(o.key, o.path("/call-log-reports?"+window), "data", []any{})
	}
	f.equalJSON("the detail", o.get(o.key, o.path("/call-logs/"+o.call.String())).status, 404)
}

func rowsWithoutTranscripts(f *fixture) {
	for _, parameter := range []string{"", "includeTranscripts=false"} {
		for _, row := range f.mustGet(f.key, f.harbourPath("/call-log-reports?"+wholeWindow+"&"+parameter))["data"].([]any) {
			if _, ok := row.(map[string]any)["transcript"]; ok {
				f.Errorf("%q: the row has a transcript: %v", parameter, row)
			}
		}
	}
}

func withTranscript(f *fixture) {
	turn := func(text string, speaker fields, start, end, confidence any) fields {
		return fields{"text": text, "speaker": speaker, "startSeconds": start, "endSeconds": end, "confidence": confidence}
	}
	f.equalReportRow(f.reportRowOf(f.key, f.harbour, f.full, "includeTranscripts=true"), f.reportRow().and(fields{"transcript": fields{
		"text": "Good morning. \"Hi\", two\nlines.",
		"turns": []fields{
			turn("Good morning.", fields{"kind": "role", "role": "agent"}, 0.5, 2.25, 0.98),
			turn("\"Hi\", two", fields{"kind": "numbered", "ordinal": 2}, nil, nil, nil),
			turn("lines.", fields{"kind": "unattributed"}, nil, nil, nil),
		},
	}}))
}

// expectTranscript publishes a transcript and checks it in the report row.
func (o *ownSystem) expectTranscript(edit func(*events.Transcript), status string, want any) {
	o.Helper()
	state := transcript(o.system, o.call, o.next(), events.TranscriptCompleted, "Words.")
	edit(state)
	o.apply(events.Changed(state))
	o.equalMembers("the row", o.row(), fields{"transcriptionStatus": status, "transcript": want})
}

func noTextToReport(f *fixture) {
	o := f.ownSystem()
	o.equalMembers("never transcribed", o.row(), fields{"transcriptionStatus": "unavailable", "transcript": nil})
	for status, shows := range map[string]string{"queued": "processing", "running": "processing", "failed": "failed", "skipped": "unavailable"} {
		o := f.ownSystem()
		o.expectTranscript(func(t *events.Transcript) { t.Status, t.Text = status, events.Null[string]{} }, shows, nil)
	}
}

func timingsNeverRecorded(f *fixture) {
	o, voice := f.ownSystem(), events.Speaker{Kind: "unattributed"}
	unattributed := fields{"kind": "unattributed"}
	o.expectTranscript(func(t *events.Transcript) {
		t.Turns = []events.Turn{
			{Text: "Wor", Speaker: voice}, {Text: "ds.", Speaker: voice, StartSeconds: events.Some(0.0), EndSeconds: events.Some(0.0), Confidence: events.Some(0.0)},
		}
	}, "completed", fields{"text": "Words.", "turns": []fields{
		{"text": "Wor", "speaker": unattributed, "startSeconds": nil, "endSeconds": nil, "confidence": nil},
		{"text": "ds.", "speaker": unattributed, "startSeconds": 0, "endSeconds": 0, "confidence": 0},
	}})
}

func textWithoutTurns(f *fixture) {
	o := f.ownSystem()
	o.expectTranscript(func(t *events.Transcript) { t.Turns = nil }, "completed", fields{"text": "Words.", "turns": []any{}})
	o.expectTranscript(func(t *events.Transcript) { t.Text = events.Some("") }, "completed", fields{"text": "", "turns": []any{}})
	o.expectTranscript(func(t *events.Transcript) {
		t.Text = events.Null[string]{}
		t.Turns = []events.Turn{{Text: "Words.", Speaker: events.Speaker{Kind: "unattributed"}}}
	}, "completed", fields{"text": "", "turns": []any{}})
}

func speakers(f *fixture) {
	o := f.ownSystem()
	spoken := &events.Transcript{PhoneSystemID: o.system, CallID: events.Some(o.call), Version: o.next(), Status: "completed", Text: events.Some("Words.")}
	for _, s := range []events.Speaker{
		{Kind: "role", Role: "agent"}, {Kind: "role", Role: "customer"}, {Kind: "numbered", Ordinal: events.Some[int64](0)}, {Kind: "unattributed"},
	} {
		spoken.Turns = append(spoken.Turns, events.Turn{Text: "W", Speaker: s})
	}
	want := []any{
		fields{"kind": "role", "role": "agent"}, fields{"kind": "role", "role": "customer"}, fields{"kind": "numbered", "ordinal": 0},
		fields{"kind": "unattributed"},
	}
	o.apply(events.Changed(spoken))
	o.equalJSON("the speakers", column(jsonAt(o.row(), "transcript.turns"), "speaker"), want)

	spoken.Version = o.next()
	for _, other := range []string{`{"kind":"role","role":"robot"}`, `{"kind":"numbered"}`, `{"kind":"narrator"}`, `{"kind":"numbered","ordinal":1.5}`} {
		o.applyEdited(events.Changed(spoken), `{"kind":"role","role":"customer"}`, other)
		o.equalJSON("the speakers after "+other, column(jsonAt(o.row(), "transcript.turns"), "speaker"), want)
	}
}

// turnsWithoutText checks that turns without a text are not shown.
func turnsWithoutText(f *fixture) {
	for status, shows := range map[string]string{"failed": "failed", "skipped": "unavailable", "running": "processing", "removed": "unavailable"} {
		o := f.ownSystem()
		o.expectTranscript(func(t *events.Transcript) {
			t.Status, t.Text = status, events.Null[string]{}
			t.Turns = []events.Turn{{Text: "Words.", Speaker: events.Speaker{Kind: "unattributed"}}}
		}, shows, nil)
		o.equalMembers("the detail", o.detail(), fields{"transcriptionStatus": shows, "transcribedText": nil})
	}
}
