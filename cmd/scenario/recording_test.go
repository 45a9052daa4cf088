package scenario_test

import (
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

func recordingRows(f *fixture) {
	row := func(sid string, call uuid.UUID, callSid, status string, duration any) fields {
		return fields{
			"recordingSid": sid, "phoneSystemId": f.harbour, "callLogId": call, "callSid": callSid, "status": status, "durationSeconds": duration,
			"createdAt": "2026-03-02T09:33:00.000Z",
		}
	}
	rows := []fields{row(fullRecording, f.full, fullSid, "ready", 189), row(processingRecording, f.bare, bareSid, "processing", nil)}
	f.expectJSON(f.key, f.harbourPath("/recordings"), "data", rows)
	for _, r := range rows {
		f.expectJSON(f.key, f.harbourPath("/recordings/"+r["recordingSid"].(string)), "", r)
	}
}

func recordingStatuses(f *fixture) {
	o := f.ownSystem()
	list, detail := o.path("/recordings"), o.path("/recordings/REown")
	for _, status := range []string{events.RecordingProcessing, events.RecordingReady} {
		o.apply(o.recording(status))
		o.expectJSON(o.key, detail, "status", status)
		o.expectJSON(o.key, list, "data.0.status", status)
	}
	o.apply(o.recording(events.RecordingUnavailable))
	o.expectJSON(o.key, list, "data", []any{})
	o.equalNotFound(detail, o.get(o.key, detail), o.get(o.key, o.path("/recordings/REnone")))
}

// bySid checks that recordings are found by their exact sid.
func bySid(f *fixture) {
	for _, sid := range []string{fullRecording, processingRecording} {
		f.expectJSON(f.key, f.harbourPath("/recordings/"+sid), "recordingSid", sid)
	}
	for _, sid := range []string{strings.ToUpper(fullRecording), fullRecording + "0", lostRecording} {
		f.equalJSON(sid, f.get(f.key, f.harbourPath("/recordings/"+sid)).status, http.StatusNotFound)
	}
	f.equalJSON("the call's id", f.get(f.key, f.harbourPath("/recordings/"+f.full.String())).status, http.StatusBadRequest)
}

// A voicemail's audio has a signed URL, but no recording.
func voicemailAudioIsNoRecording(f *fixture) {
	f.mustGet(f.key, f.harbourPath("/recordings/"+messageRecording+"/url"))
	path := f.harbourPath("/recordings/" + messageRecording)
	f.equalNotFound(path, f.get(f.key, path), f.get(f.key, f.harbourPath("/recordings/REnone")))
	for _, sid := range column(f.mustGet(f.key, f.harbourPath("/recordings"))["data"], "recordingSid") {
		if sid == messageRecording {
			f.Error("the list has a voicemail's recording")
		}
	}
}

// signedURL requests the signed URL of a recording.
func (h *harness) signedURL(key access.Key, system uuid.UUID, sid string) map[string]any {
	h.Helper()
	return h.mustGet(key, "/"+system.String()+"/recordings/"+sid+"/url")
}

// fetchAudio requests a signed URL without a key.
func (h *harness) fetchAudio(link map[string]any) answer {
	h.Helper()
	url, _ := link["url"].(string)
	return h.send(http.MethodGet, url, http.Header{})
}

func linkMembers(f *fixture) {
	link := f.signedURL(f.key, f.harbour, fullRecording)
	if expires, ok := link["expiresAt"].(string); !ok || !dateTimeForm.MatchString(expires) {
		f.Errorf("expiresAt = %v, want a time", link["expiresAt"])
	}
	if url, ok := link["url"].(string); !ok || !strings.HasPrefix(url, f.api.URL+"/") {
		f.Errorf("url = %v, want one of %s", link["url"], f.api.URL)
	}
	f.equalJSON("the members", memberNames(link), []string{"expiresAt", "url"})
}

// playsAudio checks the audio at a signed URL.
func playsAudio(sid, audio string) func(*fixture) {
	return func(f *fixture) {
		a := f.fetchAudio(f.signedURL(f.key, f.harbour, sid))
		f.equalJSON("the answer", []any{a.status, a.header.Get("Content-Type"), a.text}, []any{200, "audio/wav", audio})
	}
}

// A signed URL outlives its key, and an altered one answers 404.
func bearerAccess(f *fixture) {
	issued := f.issue(access.KeySpec{Grant: f.harbourGrant()})
	link := f.signedURL(issued.Key, f.harbour, fullRecording)
	f.revoke(issued.ID)
	f.equalJSON("the audio", f.fetchAudio(link).text, fullAudio)
	url := link["url"].(string)
	middle := len(url) - 20
	other := "A"
	if url[middle:middle+1] == other {
		other = "B"
	}
	link["url"] = url[:middle] + other + url[middle+1:]
	f.equalJSON("an altered URL", f.fetchAudio(link).status, http.StatusNotFound)
}

func fifteenMinutes(f *fixture) {
	before := time.Now()
	link := f.signedURL(f.key, f.harbour, fullRecording)
	after := time.Now()
	text := link["expiresAt"].(string)
	expires, err := time.Parse(time.RFC3339, text)
	if err != nil || !strings.HasSuffix(text, ".000Z") {
		f.Fatalf("expiresAt = %s, %v, want whole seconds in UTC with three decimals", text, err)
	}
	if issued := expires.Add(-15 * time.Minute); issued.Before(before.Truncate(time.Second)) || issued.After(after) {
		f.Errorf("expiresAt = %s, want 15 minutes after a time between %s and %s", expires, before, after)
	}
}

func audioLands(f *fixture) {
	o := f.ownSystem()
	path := o.path("/recordings/REown/url")
	o.apply(o.recording(events.RecordingProcessing))
	o.expectOutcome(o.key, path, "409 RECORDING_NOT_READY")
	o.apply(o.recording(events.RecordingReady))
	o.expectJSON(o.key, o.path("/recordings/REown"), "status", "ready")
	o.equalJSON("the audio", o.fetchAudio(o.signedURL(o.key, o.system, "REown")).text, fullAudio)
}

func notReadyYet(f *fixture) {
	a := f.get(f.key, f.harbourPath("/recordings/"+processingRecording+"/url"))
	f.checkOutcome("while processing", a, "409 RECORDING_NOT_READY")
	f.equalMembers("the problem", a.body, fields{"status": 409, "code": "RECORDING_NOT_READY", "retryable": true})
	f.expectJSON(f.key, f.harbourPath("/recordings/"+processingRecording), "status", "processing")
}

// expectNoRecording checks that a recording's detail and signed URL are 404.
func (o *ownSystem) expectNoRecording(what, sid string) {
	o.Helper()
	o.checkOutcome(what, o.get(o.key, o.path("/recordings/"+sid)), "404 NOT_FOUND")
	o.checkOutcome(what+": its audio", o.get(o.key, o.path("/recordings/"+sid+"/url")), "404 NOT_FOUND")
}

func absentRecording(f *fixture) {
	o := f.ownSystem()
	o.expectNoRecording("without an event", "REunknown")
	o.apply(events.Changed(recording(o.system, uuid.New(), "REearly", 1, events.RecordingReady)))
	o.expectNoRecording("without its call", "REearly")
}

// voicemailArrivesFirst publishes a voicemail, its audio, and their deletions.
func voicemailArrivesFirst(f *fixture) {
	o, id := f.ownSystem(), uuid.New()
	list, path := o.voicemail(id), o.path("/recordings/REvoice/url")
	o.expectNoRecording("without its voicemail", "REvoice")
	o.apply(list[0])
	a := o.get(o.key, path)
	o.checkOutcome("before its recording", a, "409 RECORDING_NOT_READY")
	o.equalMembers("the problem", a.body, fields{"status": 409, "code": "RECORDING_NOT_READY", "retryable": true})
	o.expectOutcome(o.key, o.path("/recordings/REvoice"), "404 NOT_FOUND")
	o.apply(list[1])
	o.equalJSON("the audio", o.fetchAudio(o.signedURL(o.key, o.system, "REvoice")).text, fullAudio)
	o.apply(o.deletion(list[1]))
	o.expectNoRecording("deleted", "REvoice")

	o = f.ownSystem()
	list = o.voicemail(id)
	o.apply(list[0], o.deletion(list[0]))
	o.expectNoRecording("after its voicemail's deletion", "REvoice")
}

// deletedRecording deletes a recording, its call, and its voicemail.
func deletedRecording(f *fixture) {
	o := f.ownSystem()
	o.apply(o.recording(events.RecordingReady))
	o.expectOutcome(o.key, o.path("/recordings/REown/url"), "200")
	o.apply(o.deletion(o.recording(events.RecordingReady)))
	o.expectNoRecording("deleted", "REown")

	o, message := f.ownSystem(), uuid.New()
	voicemail := o.voicemail(message)
	o.apply(append(voicemail, o.recording(events.RecordingReady))...)
	o.expectOutcome(o.key, o.path("/recordings/REvoice/url"), "200")
	o.apply(o.deletion(o.editCall(func(*events.Call) {})), o.deletion(voicemail[0]))
	o.expectNoRecording("deleted with its call", "REown")
	o.expectNoRecording("deleted with its voicemail", "REvoice")
}

func unavailableRecording(f *fixture) {
	f.expectOutcome(f.key, f.harbourPath("/recordings/"+lostRecording), "404 NOT_FOUND")
	f.expectOutcome(f.key, f.harbourPath("/recordings/"+lostRecording+"/url"), "404 NOT_FOUND")
	o := f.ownSystem()
	o.apply(o.recording(events.RecordingReady))
	o.expectOutcome(o.key, o.path("/recordings/REown/url"), "200")
	o.apply(o.recording(events.RecordingUnavailable))
	o.expectNoRecording("no longer available", "REown")
}

func foreignRecording(f *fixture) {
	key := f.systemKey(f.annex)
	f.expectOutcome(key, f.harbourPath("/recordings/"+fullRecording+"/url"), "404 NOT_FOUND")
	f.expectOutcome(key, "/"+f.annex.String()+"/recordings/"+fullRecording+"/url", "404 NOT_FOUND")
	f.expectOutcome(f.bothSystemsKey(), "/"+f.annex.String()+"/recordings/"+fullRecording+"/url", "404 NOT_FOUND")
}

// byCallSid also finds the legs of the call.
func byCallSid(f *fixture) {
	f.equalStrings("the calls", f.get(f.key, f.harbourPath("/call-logs?callSid="+fullSid)).ids(), []string{f.leg.String(), f.full.String()})
	f.equalStrings("the analyses", f.get(f.key, f.harbourPath("/call-analyses?callSid="+fullSid)).ids(), []string{f.analyzed.String()})
}

func byCallLogID(f *fixture) {
	f.expectJSON(f.key, f.harbourPath("/call-logs/"+f.full.String()), "id", f.full)
	f.expectJSON(f.key, f.harbourPath("/call-analyses?callLogId="+f.full.String()), "data.0.id", f.analyzed)
}

func byVoicemailID(f *fixture) {
	f.expectJSON(f.key, f.harbourPath("/voicemails/"+f.message.String()), "id", f.message)
	f.expectOutcome(f.key, f.harbourPath("/call-logs/"+f.message.String()), "404 NOT_FOUND")
}

func byRecordingSid(f *fixture) {
	f.expectJSON(f.key, f.harbourPath("/recordings/"+fullRecording), "recordingSid", fullRecording)
	f.equalJSON("the audio", f.fetchAudio(f.signedURL(f.key, f.harbour, fullRecording)).text, fullAudio)
}
