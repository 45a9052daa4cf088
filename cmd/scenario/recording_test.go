package scenario_test

import (
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

func recordingRows(w *world) {
	row := func(sid string, call uuid.UUID, callSid, status string, duration any) fields {
		return fields{
			"recordingSid": sid, "phoneSystemId": w.harbour, "callLogId": call, "callSid": callSid, "status": status, "durationSeconds": duration,
			"createdAt": "2026-03-02T09:33:00.000Z",
		}
	}
	rows := []fields{row(fullSound, w.full, fullSid, "ready", 189), row(bareSound, w.bare, bareSid, "processing", nil)}
	w.shows(w.key, w.home("/recordings"), "data", rows)
	for _, r := range rows {
		w.shows(w.key, w.home("/recordings/"+r["recordingSid"].(string)), "", r)
	}
}

func recordingStatuses(w *world) {
	o := w.office()
	list, detail := o.path("/recordings"), o.path("/recordings/REoffice")
	for _, status := range []string{events.RecordingProcessing, events.RecordingReady} {
		o.happen(o.recorded(status))
		o.shows(o.key, detail, "status", status)
		o.shows(o.key, list, "data.0.status", status)
	}
	o.happen(o.recorded(events.RecordingUnavailable))
	o.shows(o.key, list, "data", []any{})
	o.alike(detail, o.get(o.key, detail), o.get(o.key, o.path("/recordings/REnone")))
}

// A recording is found by its sid to the letter.
func bySid(w *world) {
	for _, sid := range []string{fullSound, bareSound} {
		w.shows(w.key, w.home("/recordings/"+sid), "recordingSid", sid)
	}
	for _, sid := range []string{strings.ToUpper(fullSound), fullSound + "0", lostSound} {
		w.is(sid, w.get(w.key, w.home("/recordings/"+sid)).status, http.StatusNotFound)
	}
	w.is("the call's id", w.get(w.key, w.home("/recordings/"+w.full.String())).status, http.StatusBadRequest)
}

// A voicemail's sound has a link, but is no recording.
func voicemailSoundIsNoRecording(w *world) {
	w.read(w.key, w.home("/recordings/"+voiceSound+"/url"))
	path := w.home("/recordings/" + voiceSound)
	w.alike(path, w.get(w.key, path), w.get(w.key, w.home("/recordings/REnone")))
	for _, sid := range column(w.read(w.key, w.home("/recordings"))["data"], "recordingSid") {
		if sid == voiceSound {
			w.t.Error("a voicemail's sound is listed")
		}
	}
}

// link is a link to a sound.
func (s *stage) link(key access.Key, system uuid.UUID, sid string) map[string]any {
	s.t.Helper()
	return s.read(key, "/"+system.String()+"/recordings/"+sid+"/url")
}

// heard is what a link leads to, for somebody who has nothing but it.
func (s *stage) heard(link map[string]any) answer {
	s.t.Helper()
	url, _ := link["url"].(string)
	return s.send(http.MethodGet, url, http.Header{})
}

func linkMembers(w *world) {
	link := w.link(w.key, w.harbour, fullSound)
	if expires, ok := link["expiresAt"].(string); !ok || !dateTimeForm.MatchString(expires) {
		w.t.Errorf("expiresAt is %v", link["expiresAt"])
	}
	if url, ok := link["url"].(string); !ok || !strings.HasPrefix(url, w.api.URL+"/") {
		w.t.Errorf("url is %v", link["url"])
	}
	w.is("the members", members(link), []string{"expiresAt", "url"})
}

// hears proves that a link leads to a sound, for somebody who has no key.
func hears(sid, sound string) func(*world) {
	return func(w *world) {
		a := w.heard(w.link(w.key, w.harbour, sid))
		w.is("the answer", []any{a.status, a.header.Get("Content-Type"), a.text}, []any{200, "audio/wav", sound})
	}
}

// Whoever has the link hears the sound, whatever has become of the key; whoever has it nearly hears nothing.
func bearerAccess(w *world) {
	issued := w.issue(time.Time{})
	link := w.link(issued.Key, w.harbour, fullSound)
	w.revoke(issued.ID)
	w.is("what is heard", w.heard(link).text, fullAudio)
	url := link["url"].(string)
	middle := len(url) - 20
	other := "A"
	if url[middle:middle+1] == other {
		other = "B"
	}
	link["url"] = url[:middle] + other + url[middle+1:]
	w.is("an altered link", w.heard(link).status, http.StatusNotFound)
}

// The link expires fifteen minutes from when it was asked for, to the second that it names.
func fifteenMinutes(w *world) {
	before := time.Now()
	link := w.link(w.key, w.harbour, fullSound)
	after := time.Now()
	expires, err := time.Parse(time.RFC3339, link["expiresAt"].(string))
	if err != nil {
		w.t.Fatal(err)
	}
	if issued := expires.Add(-15 * time.Minute); issued.Before(before.Truncate(time.Second)) || issued.After(after) {
		w.t.Errorf("%s is not 15 minutes from between %s and %s", expires, before, after)
	}
}

// Neither handing a link out nor listening leaves it in the log.
func linkNotLogged(w *world) {
	link := w.link(w.key, w.harbour, fullSound)
	a := w.heard(link)
	w.is("the answer", a.status, http.StatusOK)
	request := a.header.Get("X-Request-Id")
	for end := time.Now().Add(time.Minute); !w.log.has(request); <-time.After(time.Millisecond) {
		if request == "" || time.Now().After(end) {
			w.t.Fatalf("no line about %q", request)
		}
	}
	url := link["url"].(string)
	if w.log.has(url[strings.LastIndexByte(url, '/')+1:]) {
		w.t.Error("a link is in the log")
	}
}

func audioLands(w *world) {
	o := w.office()
	path := o.path("/recordings/REoffice/url")
	o.happen(o.recorded(events.RecordingProcessing))
	o.judged(o.key, path, "409 RECORDING_NOT_READY")
	o.happen(o.recorded(events.RecordingReady))
	o.shows(o.key, o.path("/recordings/REoffice"), "status", "ready")
	o.is("what is heard", o.heard(o.link(o.key, o.system, "REoffice")).text, fullAudio)
}

func notReadyYet(w *world) {
	a := w.get(w.key, w.home("/recordings/"+bareSound+"/url"))
	w.judge("while processing", a, "409 RECORDING_NOT_READY")
	w.holds("the problem", a.body, fields{"status": 409, "code": "RECORDING_NOT_READY", "retryable": true})
	w.shows(w.key, w.home("/recordings/"+bareSound), "status", "processing")
}
