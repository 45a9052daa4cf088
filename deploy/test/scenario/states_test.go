package scenario_test

import (
	"testing"

	"github.com/google/uuid"

	"callboard/events"
)

// While a call's transcript and recording arrive, change and go, its detail, its report row and the signed URL
// agree. projector/fold decides what is shown, readapi how: the steps here are an example of each state.
func TestCall_States(t *testing.T) {
	t.Parallel()
	o := newFixture(t).ownSystem()
	for _, step := range []struct {
		name          string
		events        []events.Event
		status        string
		text          any
		sid, duration any
		url           string
	}{
		{"no attempt", nil, "unavailable", nil, nil, nil, "404 NOT_FOUND"},
		{"in process", []events.Event{o.transcript("queued", ""), o.recording(events.RecordingProcessing)}, "processing", nil, "REown", nil, "409 RECORDING_NOT_READY"},
		{"completed", []events.Event{o.transcript("completed", "One."), o.recording(events.RecordingReady)}, "completed", "One.", "REown", 189, "200"},
		{"another attempt failed", []events.Event{o.transcript("failed", "")}, "completed", "One.", "REown", 189, "200"},
		{"removed", []events.Event{o.transcript("removed", ""), o.recording(events.RecordingUnavailable)}, "unavailable", nil, nil, nil, "404 NOT_FOUND"},
	} {
		o.apply(step.events...)
		o.equalMembers(step.name+": the detail", o.mustGet(o.key, o.path("/call-logs/"+o.call.String())), fields{
			"transcriptionStatus": step.status, "transcribedText": step.text, "recordingSid": step.sid, "recordingDuration": step.duration,
		})
		row := o.row()
		o.equalMembers(step.name+": the report row", row, fields{
			"transcriptionStatus": step.status, "hasRecording": step.sid != nil, "recordingSid": step.sid, "recordingDurationSeconds": step.duration,
		})
		o.equalJSON(step.name+": the report row", jsonAt(row, "transcript.text"), step.text)
		o.expectOutcome(o.key, o.path("/recordings/REown/url"), step.url)
	}
}

// A voicemail shows its own transcript and audio, which its call does not have. Deleted rows are absent from lists,
// details, reports and dimensions.
func TestCall_Deleted(t *testing.T) {
	t.Parallel()
	o, message := newFixture(t).ownSystem(), uuid.New()
	voicemail := o.voicemail(message)
	o.publishReferences()
	o.apply(append(voicemail, o.recording(events.RecordingReady))...)
	o.expectJSON(o.key, o.path("/voicemails/"+message.String()), "transcribedText", "Hello.")
	o.expectJSON(o.key, o.path("/call-logs/"+o.call.String()), "transcribedText", nil)
	o.expectOutcome(o.key, o.path("/recordings/REvoice"), "404 NOT_FOUND")
	paths := []string{
		"/call-logs/" + o.call.String(), "/call-analyses/" + o.call.String(), "/recordings/REown", "/recordings/REown/url",
		"/voicemails/" + message.String(), "/recordings/REvoice/url",
	}
	families := []string{"callGroups", "extensions", "handlerEntries", "categories", "overallSentiments", "employeeSentiments", "customerSentiments"}
	check := func(outcome string, rows int) {
		t.Helper()
		for _, path := range paths {
			o.expectOutcome(o.key, o.path(path), outcome)
		}
		for _, list := range []string{"/call-logs", "/call-analyses", "/recordings", "/voicemails"} {
			o.expectJSON(o.key, o.path(list), "total", rows)
		}
		for _, family := range families {
			o.expectJSON(o.key, o.path(dimensionsPath), family+".#", rows)
		}
		for _, window := range []string{wholeWindow, "timeField=updatedAt&dateFrom=2026-01-01T00:00:00Z&dateTo=2100-01-01T00:00:00Z"} {
			o.expectJSON(o.key, o.path("/call-log-reports?"+window), "data.#", rows)
		}
	}
	check("200", 1)
	o.apply(o.deletion(o.editCall(func(*events.Call) {})), o.deletion(voicemail[0]))
	check("404 NOT_FOUND", 0)
}

// A rename reaches the rows that are fetched afterwards, and leaves their updatedAt as it is.
func TestReports_Renames(t *testing.T) {
	t.Parallel()
	o := newFixture(t).ownSystem()
	o.publishReferences()
	before := o.row()
	for member, rename := range map[string]events.Event{
		"answeredByExtension.name": o.extension("Renamed"), "callGroup.name": o.callGroup("Renamed"),
		"representative.name": o.representative("Renamed"), "category.label": o.classification("category", "fresh", "Renamed"),
		"overallSentiment.label": o.classification("overall_sentiment", "calm", "Renamed"),
	} {
		o.apply(rename)
		row := o.row()
		o.equalJSON(member, jsonAt(row, member), "Renamed")
		o.equalJSON(member+": updatedAt", row["updatedAt"], before["updatedAt"])
	}
}
