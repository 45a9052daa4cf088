package scenario_test

import (
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

func (w *world) messageRow() fields {
	return fields{
		"id": w.message, "phoneSystemId": w.harbour, "callSid": bareSid, "from": "+14155550123", "fromName": "Zoë Marsh", "duration": 21,
		"extensionId": w.front, "callGroupId": nil, "listened": true, "archived": false, "recordingSid": voiceSound, "createdAt": day(7),
	}
}

func (w *world) noticeRow() fields {
	return fields{
		"id": w.notice, "phoneSystemId": w.harbour, "callSid": bareSid, "from": "+14155550124", "fromName": nil, "duration": 3,
		"extensionId": nil, "callGroupId": w.desk, "listened": false, "archived": true, "recordingSid": "REnotice", "createdAt": day(8),
	}
}

func voicemailRows(w *world) {
	w.shows(w.key, w.home("/voicemails"), "data", []fields{w.noticeRow(), w.messageRow()})
}

func voicemailDetails(w *world) {
	w.shows(w.key, w.home("/voicemails/"+w.message.String()), "",
		w.messageRow().and(fields{"transcribedText": "Please call back.", "transcriptionStatus": "completed"}))
	w.shows(w.key, w.home("/voicemails/"+w.notice.String()), "",
		w.noticeRow().and(fields{"transcribedText": nil, "transcriptionStatus": "unavailable"}))
}

func addressees(w *world) {
	rows := w.read(w.key, w.home("/voicemails"))["data"]
	w.is("the extensions", column(rows, "extensionId"), []any{nil, w.front})
	w.is("the call groups", column(rows, "callGroupId"), []any{w.desk, nil})
}

func voicemailsNewestFirst(w *world) {
	rows := w.read(w.key, w.home("/voicemails"))["data"]
	w.is("the order", column(rows, "id"), []any{w.notice, w.message})
	w.is("its key", column(rows, "createdAt"), []any{day(8), day(7)})
}

// voicemail is one of an office, with its sound and its words.
func (o *office) voicemail(id uuid.UUID) []events.Event {
	sound := recording(o.system, uuid.Nil, "REvoice", o.next(), events.RecordingReady)
	sound.CallID, sound.VoicemailID = events.Null[uuid.UUID]{}, events.Some(id)
	return []events.Event{events.Changed(&events.Voicemail{
		ID: id, PhoneSystemID: o.system, Version: o.next(), CallSid: "CA1", From: "101", Duration: 5, RecordingSid: "REvoice", CreatedAt: day(9),
	}), events.Changed(sound), o.voiced(id, events.TranscriptCompleted, "Hello.")}
}

func (o *office) voiced(voicemail uuid.UUID, status, text string) events.Event {
	t := transcript(o.system, voicemail, o.next(), status, text)
	t.CallID, t.VoicemailID = events.Null[uuid.UUID]{}, events.Some(voicemail)
	return events.Changed(t)
}

// No answer has a voicemail's audio in it, nor where the audio lies.
func noAudio(w *world) {
	for _, path := range []string{"/voicemails", "/voicemails/" + w.message.String(), "/voicemails/" + w.notice.String()} {
		text := w.get(w.key, w.home(path)).text
		for _, audio := range []string{messageAudio, "message.wav", "audio/wav", "http"} {
			if strings.Contains(text, audio) {
				w.t.Errorf("%s: %q is in %s", path, audio, text)
			}
		}
	}
}

func voicemailDeleted(w *world) {
	o, id, kept := w.office(), uuid.New(), uuid.New()
	other := o.voicemail(kept)[0]
	list := o.voicemail(id)
	o.happen(append(list, other)...)
	detail, sound := o.path("/voicemails/"+id.String()), o.path("/recordings/REvoice/url")
	o.shows(o.key, o.path("/voicemails"), "total", 2)
	o.shows(o.key, detail, "transcribedText", "Hello.")
	o.read(o.key, sound)
	o.happen(o.gone(list[0]))
	rows := o.read(o.key, o.path("/voicemails"))
	o.is("what is left", column(rows["data"], "id"), []any{kept})
	o.is("how many", rows["total"], 1)
	never := o.get(o.key, o.path("/voicemails/"+uuid.NewString()))
	for _, path := range []string{detail, sound} {
		o.alike(path, o.get(o.key, path), never)
	}
}
