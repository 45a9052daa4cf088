package scenario_test

import (
	"regexp"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// beforeArtifacts reads a call and a voicemail without artifacts, and again while the artifacts are being processed.
func beforeArtifacts(f *fixture) {
	o, message := f.ownSystem(), uuid.New()
	ended := events.Changed(&events.Voicemail{
		ID: message, PhoneSystemID: o.system, Version: 1, CallSid: o.latest.CallSid, From: events.Some("101"), Duration: 5, RecordingSid: "REvoice", CreatedAt: day(9),
	})
	o.apply(ended)
	o.checkAvailability(message, fields{"transcriptionStatus": "unavailable", "transcribedText": nil}, fields{
		"transcriptionStatus": "unavailable", "transcript": nil, "hasRecording": false, "recordingSid": nil, "recordingDurationSeconds": nil,
	})
	o.apply(o.transcript("queued", ""), o.recording(events.RecordingProcessing), o.voicemailTranscript(message, "running", ""))
	o.checkAvailability(message, fields{"transcriptionStatus": "processing", "transcribedText": nil}, fields{
		"transcriptionStatus": "processing", "transcript": nil, "hasRecording": true, "recordingSid": "REown", "recordingDurationSeconds": nil,
	})
	o.expectOutcome(o.key, o.path("/recordings/REown/url"), "409 RECORDING_NOT_READY")
	o.expectJSON(o.key, o.path("/call-logs?callSid="+o.latest.CallSid), "data.0.recordingSid", "REown")
}

// checkAvailability compares members of the details of the call and of a voicemail, and of the report row.
func (o *ownSystem) checkAvailability(voicemail uuid.UUID, detail, row fields) {
	o.Helper()
	o.equalMembers("the call", o.detail(), detail)
	o.equalMembers("the voicemail", o.mustGet(o.key, o.path("/voicemails/"+voicemail.String())), detail)
	o.equalMembers("the report row", o.row(), row)
}

// removals reads entities before and after their deletion.
func removals(f *fixture) {
	o, message := f.ownSystem(), uuid.New()
	voicemail := o.voicemail(message)
	o.apply(append(voicemail, o.recording(events.RecordingReady), o.analysis(func(*events.Analysis) {}))...)
	paths := []string{
		"/call-logs/" + o.call.String(), "/call-analyses/" + o.call.String(), "/recordings/REown", "/recordings/REown/url",
		"/voicemails/" + message.String(), "/recordings/REvoice/url",
	}
	for _, path := range paths {
		o.expectOutcome(o.key, o.path(path), "200")
	}
	o.apply(o.deletion(o.editCall(func(*events.Call) {})), o.deletion(voicemail[0]))
	for _, path := range paths {
		o.expectOutcome(o.key, o.path(path), "404 NOT_FOUND")
	}
}

// noStoreName checks that report rows don't have the phone system's name.
func noStoreName(f *fixture) {
	for _, query := range []string{"", "&includeTranscripts=true"} {
		a := f.get(f.key, f.harbourPath("/call-log-reports?"+wholeWindow+query))
		if strings.Contains(a.text, "Harbour Dental") || len(a.ids()) != 3 {
			f.Errorf("rows = %d, want 3 without the name: %s", len(a.ids()), a.text)
		}
		for _, row := range a.body["data"].([]any) {
			for _, name := range memberNames(row) {
				if strings.Contains(strings.ToLower(name), "store") || strings.Contains(name, "phoneSystem") && name != "phoneSystemId" {
					f.Errorf("a row has the member %s", name)
				}
			}
		}
	}
}

// The members that are identifiers or times, by name, and the form of identifiers.
var (
	identifierName = regexp.MustCompile(`^(id|phoneSystemId|callLogId|extensionId|callGroupId)$`)
	dateTimeName   = regexp.MustCompile(`^(\w+At|startTime|endTime)$`)
	uuidForm       = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// formed checks that members with these names are null or have a form, in the answers of all operations.
func formed(name, form *regexp.Regexp) func(*fixture) {
	return func(f *fixture) {
		seen := 0
		var walk func(path string, value any)
		walk = func(path string, value any) {
			switch v := value.(type) {
			case map[string]any:
				for member, inner := range v {
					if name.MatchString(member) && inner != nil {
						seen++
						if text, ok := inner.(string); !ok || !form.MatchString(text) {
							f.Errorf("%s: %s = %v, want %s", path, member, inner, form)
						}
					}
					walk(path, inner)
				}
			case []any:
				for _, inner := range v {
					walk(path, inner)
				}
			}
		}
		for _, o := range operations() {
			walk(o.path, f.mustGet(f.key, f.example(o)))
		}
		if seen < 60 {
			f.Errorf("checked members = %d, want at least 60", seen)
		}
	}
}

// timesAreUTC also publishes a time with more digits and another offset.
func timesAreUTC(f *fixture) {
	formed(dateTimeName, dateTimeForm)(f)
	o := f.ownSystem()
	e := o.editCall(func(c *events.Call) { c.StartTime = events.Some(day(5)) })
	o.applyEdited(e, `"startTime":"2026-03-05T09:00:00.000Z"`, `"startTime":"2026-03-05T09:00:00.1239+00:00"`)
	o.equalMembers("the call", o.detail(), fields{"startTime": "2026-03-05T09:00:00.123Z"})
}

// identifiersAreUUIDs also requests identifiers in upper case.
func identifiersAreUUIDs(f *fixture) {
	formed(identifierName, uuidForm)(f)
	upper := func(id uuid.UUID) string { return strings.ToUpper(id.String()) }
	f.expectJSON(f.key, "/"+upper(f.harbour)+"/call-logs/"+upper(f.full), "", f.mustGet(f.key, f.harbourPath("/call-logs/"+f.full.String())))
}

// nullsArePresent checks that rows with few values have the members of rows with all values.
func nullsArePresent(f *fixture) {
	callRowOfEmptyCall(f)
	reportRowOfEmptyCall(f)
	for _, pair := range [][2]string{
		{"/phones/" + f.base.String(), "/phones/" + f.handset.String()},
		{"/phone-numbers/" + f.mainNumber.String(), "/phone-numbers/" + f.releasedNumber.String()},
		{"/extensions/" + f.front.String(), "/extensions/" + f.back.String()},
		{"/agent-configs/" + f.ava.String(), "/agent-configs/" + f.spare.String()},
		{"/call-logs/" + f.full.String(), "/call-logs/" + f.bare.String()},
		{"/call-analyses/" + f.analyzed.String(), "/call-analyses/" + f.waiting.String()},
		{"/voicemails/" + f.message.String(), "/voicemails/" + f.notice.String()},
		{"/recordings/" + fullRecording, "/recordings/" + processingRecording},
	} {
		filled, bare := f.mustGet(f.key, f.harbourPath(pair[0])), f.mustGet(f.key, f.harbourPath(pair[1]))
		f.equalJSON(pair[1], memberNames(bare), memberNames(filled))
	}
}

func discoveredSystem(f *fixture) {
	body := f.mustGet(f.bothSystemsKey(), "")
	f.equalJSON("the systems", body, fields{"data": []fields{{"id": f.annex, "name": "Annex"}, {"id": f.harbour, "name": "Harbour Dental"}}})
	for _, id := range column(body["data"], "id") {
		f.mustGet(f.bothSystemsKey(), "/"+id.(string)+"/call-logs")
	}
}

func systemRenamed(f *fixture) {
	o := f.ownSystem()
	for _, name := range []string{"Zürich \"Süd\"", "A"} {
		o.apply(events.Changed(phoneSystem(o.system, o.next(), name)))
		o.expectJSON(o.key, "", "data", []fields{{"id": o.system, "name": name}})
	}
}

// systemsByName checks that phone systems of an organization and of a group are sorted by name, by code point, and then by id.
func systemsByName(f *fixture) {
	organization, group := uuid.New(), uuid.New()
	names := []string{"b", "Z", "é", "a", "B", "10", "a"}
	ids := make([]uuid.UUID, len(names))
	for i, name := range names {
		ids[i] = uuid.UUID{0: 0xf0 - byte(i), 15: 1}
		state := phoneSystem(ids[i], 1, name)
		state.OrganizationID = events.Some(organization)
		f.apply(events.Changed(state))
	}
	f.apply(changed(&events.Group{ID: group, Version: 1, Name: "G", PhoneSystemIDs: ids})...)
	for _, key := range []access.Key{f.grantKey(access.GrantOrganization, organization), f.grantKey(access.GrantGroup, group)} {
		data := f.mustGet(key, "")["data"]
		f.equalJSON("the names", column(data, "name"), []any{"10", "B", "Z", "a", "a", "b", "é"})
		f.equalJSON("the ids", column(data, "id"), []any{ids[5], ids[4], ids[1], ids[6], ids[3], ids[0], ids[2]})
	}
}
