package scenario_test

import (
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// beforeTheArtifacts reads a call and a voicemail that have ended a moment ago: nothing is there of them but themselves, then
// their artifacts are being made.
func beforeTheArtifacts(w *world) {
	o, message := w.office(), uuid.New()
	ended := events.Changed(&events.Voicemail{
		ID: message, PhoneSystemID: o.system, Version: 1, CallSid: o.latest.CallSid, From: "101", Duration: 5, RecordingSid: "REvoice", CreatedAt: day(9),
	})
	o.happen(ended)
	o.shown(message, fields{"transcriptionStatus": "unavailable", "transcribedText": nil}, fields{
		"transcriptionStatus": "unavailable", "transcript": nil, "hasRecording": false, "recordingSid": nil, "recordingDurationSeconds": nil,
	})
	o.happen(o.transcribed("queued", ""), o.recorded(events.RecordingProcessing), o.voiced(message, "running", ""))
	o.shown(message, fields{"transcriptionStatus": "processing", "transcribedText": nil}, fields{
		"transcriptionStatus": "processing", "transcript": nil, "hasRecording": true, "recordingSid": "REoffice", "recordingDurationSeconds": nil,
	})
	o.judged(o.key, o.path("/recordings/REoffice/url"), "409 RECORDING_NOT_READY")
	o.shows(o.key, o.path("/call-logs?callSid="+o.latest.CallSid), "data.0.recordingSid", "REoffice")
}

// shown holds the details of the call and of a voicemail, and the call's report row.
func (o *office) shown(voicemail uuid.UUID, detail, row fields) {
	o.t.Helper()
	o.holds("the call", o.detail(), detail)
	o.holds("the voicemail", o.read(o.key, o.path("/voicemails/"+voicemail.String())), detail)
	o.holds("the report row", o.row(), row)
}

// removals reads what was there, then removes it.
func removals(w *world) {
	o, message := w.office(), uuid.New()
	left := o.voicemail(message)
	finding := o.findings(func(*events.Analysis) {})
	o.happen(append(left, o.recorded(events.RecordingReady), finding)...)
	paths := []string{
		"/call-logs/" + o.call.String(), "/call-analyses/" + o.call.String(), "/recordings/REoffice", "/recordings/REoffice/url",
		"/voicemails/" + message.String(), "/recordings/REvoice/url",
	}
	for _, path := range paths {
		o.judged(o.key, o.path(path), "200")
	}
	o.happen(o.gone(o.edited(func(*events.Call) {})), o.gone(left[0]))
	for _, path := range paths {
		o.judged(o.key, o.path(path), "404 NOT_FOUND")
	}
}

// retrievableNow holds the status against attempts that ended otherwise than the text: failed over text that is there, and
// completed for text that is gone.
func retrievableNow(w *world) {
	transcribes(
		transcriptStep{"completed", "One.", "completed", "One."},
		transcriptStep{"failed", "", "completed", "One."},
		transcriptStep{"removed", "", "unavailable", nil},
	)(w)
}

// noStoreName holds report rows, which would have it, against what the phone system is called.
func noStoreName(w *world) {
	for _, query := range []string{"", "&includeTranscripts=true"} {
		a := w.get(w.key, w.home("/call-log-reports?"+march+query))
		if strings.Contains(a.text, "Harbour Dental") || len(a.ids()) != 3 {
			w.t.Errorf("%d rows: %s", len(a.ids()), a.text)
		}
		for _, row := range a.body["data"].([]any) {
			for _, name := range members(row) {
				if strings.Contains(strings.ToLower(name), "store") || strings.Contains(name, "phoneSystem") && name != "phoneSystemId" {
					w.t.Errorf("a row has a %s", name)
				}
			}
		}
	}
}
