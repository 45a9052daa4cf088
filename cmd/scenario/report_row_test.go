package scenario_test

import (
	"maps"
	"regexp"
	"slices"

	"github.com/google/uuid"

	"callboard/events"
)

var dateTimeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

// reportRow is what the world's call with everything has in its report row, save updatedAt, which is when it was published.
func (w *world) reportRow() fields {
	return fields{
		"id": w.full, "phoneSystemId": w.harbour, "callSid": fullSid, "parentCallSid": nil, "direction": "inbound",
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
		"representative": fields{"id": w.ana, "name": "Ana Ruiz", "state": "identified", "confidence": 0.875, "source": "voice"},
		"hasRecording":   true, "recordingSid": fullSound, "recordingDurationSeconds": 189, "transcriptionStatus": "completed",
		"callGroup":           fields{"id": w.desk, "name": "Reception", "number": "200"},
		"answeredByExtension": fields{"id": w.front, "name": "Front desk", "number": "101"},
		"fromExtension":       fields{"id": w.back, "name": "Back office", "number": "102"},
		"isEmergency":         true, "isEdited": true,
		"tags": []fields{{
			"id": "c0000000-0000-4000-8000-00000000007a", "name": "VIP", "group": "care", "color": "#c0ffee", "source": "manual", "confidence": 0.5,
		}},
		"routeSummary": "Welcome > Reception",
	}
}

// nothingToReport is the report row of an office's call.
func (o *office) nothingToReport() fields {
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

// isReport compares a report row, of whose updatedAt only the form is expected.
func (s *stage) isReport(row map[string]any, want fields) {
	s.t.Helper()
	row = maps.Clone(row)
	if text, ok := row["updatedAt"].(string); !ok || !dateTimeForm.MatchString(text) {
		s.t.Errorf("updatedAt is %v", row["updatedAt"])
	}
	delete(row, "updatedAt")
	s.is("the row", row, want)
}

// reportMembers proves some members of the world's full report row.
func reportMembers(names ...string) func(*world) {
	return func(w *world) {
		want := w.reportRow()
		maps.DeleteFunc(want, func(name string, _ any) bool { return !slices.Contains(names, name) })
		w.holds("the row", w.report(w.key, w.harbour, w.full), want)
		o := w.office()
		none := o.nothingToReport()
		maps.DeleteFunc(none, func(name string, _ any) bool { return !slices.Contains(names, name) })
		o.holds("the row of nothing", o.report(o.key, o.system, o.call), none)
	}
}

func reportRowInFull(w *world) {
	w.isReport(w.report(w.key, w.harbour, w.full), w.reportRow())
}

func reportRowOfNothing(w *world) {
	o := w.office()
	o.isReport(o.report(o.key, o.system, o.call), o.nothingToReport())
}

// The digits are those that were published, whatever a number would make of them.
func conversionValues(w *world) {
	o := w.office()
	for _, value := range []string{"0120.50", "10", "0.1000", "12345678901234567890.123456789"} {
		o.happen(o.edited(func(c *events.Call) { c.ConversionValue = events.Some(value) }))
		o.holds("the row", o.row(), fields{"conversionValue": value})
	}
	o.happen(o.edited(func(c *events.Call) { c.ConversionValue = events.Null[string]{} }))
	o.holds("the row", o.row(), fields{"conversionValue": nil})
}

func legsInReports(w *world) {
	rows := w.read(w.key, w.home("/call-log-reports?"+march))["data"]
	w.is("the rows", column(rows, "id"), []any{w.bare, w.full, w.leg})
	w.is("their calls", column(rows, "callSid"), []any{bareSid, fullSid, fullSid})
	w.is("their parents", column(rows, "parentCallSid"), []any{nil, nil, bareSid})
}

func recordingInReport(w *world) {
	o := w.office()
	for _, c := range []struct {
		status string
		want   fields
	}{
		{events.RecordingProcessing, fields{"hasRecording": true, "recordingSid": "REoffice", "recordingDurationSeconds": nil}},
		{events.RecordingReady, fields{"hasRecording": true, "recordingSid": "REoffice", "recordingDurationSeconds": 189}},
		{events.RecordingUnavailable, fields{"hasRecording": false, "recordingSid": nil, "recordingDurationSeconds": nil}},
	} {
		o.happen(o.recorded(c.status))
		o.holds(c.status, o.row(), c.want)
	}
}

// involved lets the office's call have an extension on both ends, a call group and findings that name somebody and codes. All of
// them go by the call's own identifier.
func (o *office) involved() {
	o.t.Helper()
	o.happen(o.extension(o.call, "Front", "active"), o.callGroup(o.call, "Sales", "active"), o.representative(o.call, "Ana", "active"),
		o.classification("category", "fresh", "New"), o.classification("overall_sentiment", "calm", "Relaxed"),
		o.classification("employee_sentiment", "calm", "Patient"), o.classification("customer_sentiment", "calm", "Content"))
	o.happen(o.engaged(), o.assessed())
}

// engaged is the call with its references.
func (o *office) engaged() events.Event {
	return o.edited(func(c *events.Call) {
		c.CallGroupID, c.AnsweredByExtensionID, c.FromExtensionID = events.Some(o.call), events.Some(o.call), events.Some(o.call)
	})
}

// assessed is an analysis with a category, sentiments and a representative.
func (o *office) assessed() events.Event {
	return o.findings(func(a *events.Analysis) {
		a.Category, a.ScorecardScore = events.Some("fresh"), events.Some(10.0)
		a.OverallSentiment, a.EmployeeSentiment, a.CustomerSentiment = &events.Sentiment{Code: "calm"}, &events.Sentiment{Code: "calm"}, &events.Sentiment{Code: "calm"}
		a.Representative = &events.RepresentativeRole{State: "identified", ID: events.Some(o.call)}
	})
}

func (o *office) names(extension, group, representative, category, overall, employee, customer string) fields {
	sentiment := func(label string) fields { return fields{"code": "calm", "label": label, "score": nil} }
	numbered := func(name, number string) fields { return fields{"id": o.call, "name": name, "number": number} }
	return fields{
		"answeredByExtension": numbered(extension, "101"), "fromExtension": numbered(extension, "101"), "callGroup": numbered(group, "200"),
		"representative":   fields{"id": o.call, "name": representative, "state": "identified", "confidence": nil, "source": nil},
		"category":         fields{"code": "fresh", "label": category},
		"overallSentiment": sentiment(overall), "employeeSentiment": sentiment(employee), "customerSentiment": sentiment(customer),
	}
}

// renamed are new names for all that an involved call refers to.
func (o *office) renamed() []events.Event {
	return []events.Event{
		o.extension(o.call, "Back", "active"), o.callGroup(o.call, "Support", "active"), o.representative(o.call, "Bea", "active"),
		o.classification("category", "fresh", "Fresh"), o.classification("overall_sentiment", "calm", "A"),
		o.classification("employee_sentiment", "calm", "B"), o.classification("customer_sentiment", "calm", "C"),
	}
}

func renamesReachRows(w *world) {
	o := w.office()
	o.involved()
	o.holds("before", o.row(), o.names("Front", "Sales", "Ana", "New", "Relaxed", "Patient", "Content"))
	o.happen(o.renamed()...)
	o.holds("after", o.row(), o.names("Back", "Support", "Bea", "Fresh", "A", "B", "C"))
}

// Whatever becomes of what a call refers to, short of its deletion, and of the codes' definitions, the identifiers stay.
func identifiersStay(w *world) {
	o := w.office()
	o.involved()
	o.happen(o.extension(o.call, "Front", "inactive"), o.callGroup(o.call, "Sales", "archived"), o.representative(o.call, "Ana", "inactive"))
	for _, kind := range []string{"category", "overall_sentiment", "employee_sentiment", "customer_sentiment"} {
		o.happen(o.gone(o.classification(kind, map[bool]string{true: "fresh", false: "calm"}[kind == "category"], "")))
	}
	tag := uuid.New()
	o.happen(o.edited(func(c *events.Call) {
		c.Tags = []events.Tag{{ID: tag, Name: "A", Group: "g", Color: "#000", Source: "rule"}}
	}))
	row := o.row()
	o.holds("the row", row, o.names("Front", "Sales", "Ana", "Fresh", "Calm", "Calm", "Calm"))
	o.is("the tag's id", at(row, "tags.0.id"), tag)
}

func tagsAreSnapshots(w *world) {
	o, other := w.office(), uuid.New()
	tag := events.Tag{ID: uuid.New(), Name: "VIP", Group: "care", Color: "#111111", Source: "manual", Confidence: events.Some(1.0)}
	o.happen(o.edited(func(c *events.Call) { c.Tags = []events.Tag{tag} }))
	before := o.row()["tags"]
	o.is("the tags", before, []fields{{"id": tag.ID, "name": "VIP", "group": "care", "color": "#111111", "source": "manual", "confidence": 1}})

	later := tag
	later.Name, later.Group, later.Color, later.Confidence = "Very important", "rank", "#222222", events.Null[float64]{}
	next := o.latest
	next.ID, next.Version, next.Tags = other, o.next(), []events.Tag{later}
	o.happen(events.Changed(&next))
	o.is("the tags of the call before", o.row()["tags"], before)
	o.is("the tags of the call after", o.report(o.key, o.system, other)["tags"],
		[]fields{{"id": tag.ID, "name": "Very important", "group": "rank", "color": "#222222", "source": "manual", "confidence": nil}})
}

func noTombstone(w *world) {
	o := w.office()
	if o.row() == nil {
		w.t.Fatal("the call has no report row")
	}
	o.happen(o.gone(o.edited(func(*events.Call) {})))
	for _, window := range []string{march, march + "&includeTranscripts=true", "timeField=updatedAt&dateFrom=2026-01-01T00:00:00Z&dateTo=2036-01-01T00:00:00Z"} {
		o.shows(o.key, o.path("/call-log-reports?"+window), "data", []any{})
	}
	w.is("the detail", o.get(o.key, o.path("/call-logs/"+o.call.String())).status, 404)
}
