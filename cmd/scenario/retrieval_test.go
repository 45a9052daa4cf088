package scenario_test

import (
	"github.com/google/uuid"

	"callboard/events"
)

// unreachable proves that there is neither a recording nor a link to its audio.
func (w *world) unreachable(what string, o *office, sid string) {
	w.t.Helper()
	w.judge(what, o.get(o.key, o.path("/recordings/"+sid)), "404 NOT_FOUND")
	w.judge(what+": its audio", o.get(o.key, o.path("/recordings/"+sid+"/url")), "404 NOT_FOUND")
}

func absentRecording(w *world) {
	o := w.office()
	w.unreachable("never announced", o, "REnever")
	o.happen(events.Changed(recording(o.system, uuid.New(), "REearly", 1, events.RecordingReady)))
	w.unreachable("of a call that is not there", o, "REearly")
	w.judged(w.key, w.home("/recordings/REnotice/url"), "404 NOT_FOUND") // a voicemail names it, and nothing else
}

// deletedRecording deletes it on its own, with its call and with its voicemail.
func deletedRecording(w *world) {
	o := w.office()
	o.happen(o.recorded(events.RecordingReady))
	o.judged(o.key, o.path("/recordings/REoffice/url"), "200")
	o.happen(o.gone(o.recorded(events.RecordingReady)))
	w.unreachable("deleted", o, "REoffice")

	o, message := w.office(), uuid.New()
	left := o.voicemail(message)
	o.happen(append(left, o.recorded(events.RecordingReady))...)
	o.judged(o.key, o.path("/recordings/REvoice/url"), "200")
	o.happen(o.gone(o.edited(func(*events.Call) {})), o.gone(left[0]))
	w.unreachable("with its call", o, "REoffice")
	w.unreachable("with its voicemail", o, "REvoice")
}

func unavailableRecording(w *world) {
	w.judged(w.key, w.home("/recordings/"+lostSound), "404 NOT_FOUND")
	w.judged(w.key, w.home("/recordings/"+lostSound+"/url"), "404 NOT_FOUND")
	o := w.office()
	o.happen(o.recorded(events.RecordingReady))
	o.judged(o.key, o.path("/recordings/REoffice/url"), "200")
	o.happen(o.recorded(events.RecordingUnavailable))
	w.unreachable("no longer available", o, "REoffice")
}

func foreignRecording(w *world) {
	key := w.systemKey(w.annex)
	w.judged(key, w.home("/recordings/"+fullSound+"/url"), "404 NOT_FOUND")
	w.judged(key, "/"+w.annex.String()+"/recordings/"+fullSound+"/url", "404 NOT_FOUND")
	w.judged(w.both(), "/"+w.annex.String()+"/recordings/"+fullSound+"/url", "404 NOT_FOUND")
}

func byCallSid(w *world) {
	w.picks("/call-logs?callSid="+fullSid, w.leg, w.full)
	w.picks("/call-analyses?callSid="+fullSid, w.analyzed)
}

func byCallLogID(w *world) {
	w.shows(w.key, w.home("/call-logs/"+w.full.String()), "id", w.full)
	w.picks("/call-analyses?callLogId="+w.full.String(), w.analyzed)
}

func byVoicemailID(w *world) {
	w.shows(w.key, w.home("/voicemails/"+w.message.String()), "id", w.message)
	w.judged(w.key, w.home("/call-logs/"+w.message.String()), "404 NOT_FOUND")
}

func byRecordingSid(w *world) {
	w.shows(w.key, w.home("/recordings/"+fullSound), "recordingSid", fullSound)
	w.is("what is heard", w.heard(w.link(w.key, w.harbour, fullSound)).text, fullAudio)
}
