package scenario_test

import (
	"strings"

	"github.com/google/uuid"
)

func (f *fixture) messageRow() fields {
	return fields{
		"id": f.message, "phoneSystemId": f.harbour, "callSid": bareSid, "from": "+14155550123", "fromName": "Zoë Marsh", "duration": 21,
		"extensionId": f.front, "callGroupId": nil, "listened": true, "archived": false, "recordingSid": messageRecording, "createdAt": day(7),
	}
}

func (f *fixture) noticeRow() fields {
	return fields{
		"id": f.notice, "phoneSystemId": f.harbour, "callSid": bareSid, "from": "+14155550124", "fromName": nil, "duration": 3,
		"extensionId": nil, "callGroupId": f.desk, "listened": false, "archived": true, "recordingSid": "REnotice", "createdAt": day(8),
	}
}

func voicemailRows(f *fixture) {
	f.expectJSON(f.key, f.harbourPath("/voicemails"), "data", []fields{f.noticeRow(), f.messageRow()})
}

func voicemailDetails(f *fixture) {
	f.expectJSON(f.key, f.harbourPath("/voicemails/"+f.message.String()), "",
		f.messageRow().and(fields{"transcribedText": "Please call back.", "transcriptionStatus": "completed"}))
	f.expectJSON(f.key, f.harbourPath("/voicemails/"+f.notice.String()), "",
		f.noticeRow().and(fields{"transcribedText": nil, "transcriptionStatus": "unavailable"}))
}

func addressees(f *fixture) {
	rows := f.mustGet(f.key, f.harbourPath("/voicemails"))["data"]
	f.equalJSON("the extensions", column(rows, "extensionId"), []any{nil, f.front})
	f.equalJSON("the call groups", column(rows, "callGroupId"), []any{f.desk, nil})
}

func voicemailsNewestFirst(f *fixture) {
	rows := f.mustGet(f.key, f.harbourPath("/voicemails"))["data"]
	f.equalJSON("the order", column(rows, "id"), []any{f.notice, f.message})
	f.equalJSON("its key", column(rows, "createdAt"), []any{day(8), day(7)})
}

// noAudio checks that answers hold neither a voicemail's audio nor its location.
func noAudio(f *fixture) {
	for _, path := range []string{"/voicemails", "/voicemails/" + f.message.String(), "/voicemails/" + f.notice.String()} {
		text := f.get(f.key, f.harbourPath(path)).text
		for _, audio := range []string{messageAudio, "message.wav", "audio/wav", "http"} {
			if strings.Contains(text, audio) {
				f.Errorf("%s holds %q: %s", path, audio, text)
			}
		}
	}
}

func voicemailDeleted(f *fixture) {
	o, id, otherID := f.ownSystem(), uuid.New(), uuid.New()
	other := o.voicemail(otherID)[0]
	list := o.voicemail(id)
	o.apply(append(list, other)...)
	detail, audio := o.path("/voicemails/"+id.String()), o.path("/recordings/REvoice/url")
	o.expectJSON(o.key, o.path("/voicemails"), "total", 2)
	o.expectJSON(o.key, detail, "transcribedText", "Hello.")
	o.mustGet(o.key, audio)
	o.apply(o.deletion(list[0]))
	rows := o.mustGet(o.key, o.path("/voicemails"))
	o.equalJSON("the rest", column(rows["data"], "id"), []any{otherID})
	o.equalJSON("total", rows["total"], 1)
	never := o.get(o.key, o.path("/voicemails/"+uuid.NewString()))
	for _, path := range []string{detail, audio} {
		o.equalNotFound(path, o.get(o.key, path), never)
	}
}
