package readapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/readapi/access"
	"callboard/readapi/query/querytest"
)

const nasty = "Zoë \"q\" \\ \n\t\x01\x7f </script> \u2028 \U0001F4DE"

// body is a row of a table and the JSON that is returned for it.
type body struct {
	list, detail string
	table, key   string
	columns      querytest.Row
	stored       map[string]string // JSON columns, which are returned byte for byte
	row          string            // the list's row after its identifiers
	more         string            // the members that the detail adds
}

const (
	otherID = "7d9f4c1e-0000-4000-8000-00000000000a"
	thirdID = "7d9f4c1e-0000-4000-8000-00000000000b"
	created = "2026-03-01T09:30:00Z"
	changed = "2026-03-01T09:30:01.05Z"
)

// bodies are a row with every value of each resource. Columns of a type differ, so that each member shows from which column it is written.
// Rows with few values are those of package scenario.
func bodies(system uuid.UUID) []body {
	text, _ := json.Marshal(nasty)
	name := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u2028`, "\u2028").Replace(string(text))
	referenceTo := func(to, id string) string {
		return `{"type":"` + to + `","id":"` + id + `","phoneSystemId":"` + system.String() + `"}`
	}
	reference := func(to string) string { return referenceTo(to, otherID) }
	const times = `"createdAt":"2026-03-01T09:30:00.000Z","updatedAt":"2026-03-01T09:30:01.050Z"`
	const action = `{"type" : "forward", "literal":"+1555\u00e9",  "reference":null}`
	return []body{
		{
			"listPhones", "getPhone", "phone", "id",
			querytest.Row{"name": nasty, "extension_id": otherID, "device_role": "base", "parent_phone_id": thirdID, "slot": 0,
				"mac_address": "00:11", "firmware": "1.2", "status": "released"},
			map[string]string{"hardware": `{"manufacturer": "A", "model" :null,"serialNumber":null}`},
			`"name":` + name + `,"status":"released",` + times,
			`"hardware":{"manufacturer": "A", "model" :null,"serialNumber":null},"deviceRole":"base","parentPhone":` + referenceTo("phone", thirdID) +
				`,"slot":0,"macAddress":"00:11","firmware":"1.2","extension":` + reference("extension"),
		},
		{
			"listPhoneNumbers", "getPhoneNumber", "phone_number", "id",
			querytest.Row{"phone_number": "+15550001", "label": nasty, "origin": "carrier_hosted", "country": "US", "is_primary": true}, nil,
			`"phoneNumber":"+15550001","label":` + name + `,"status":"active",` + times,
			`"origin":"carrier_hosted","country":"US","isPrimary":true`,
		},
		{
			"listExtensions", "getExtension", "extension", "id", querytest.Row{"name": nasty, "number": "101"},
			map[string]string{"assigned_phones": "[" + reference("phone") + " ]", "unanswered_action": action, "voicemail_greeting": `{"kind":"tts" ,"url":null}`},
			`"name":` + name + `,"number":"101","status":"active",` + times,
			`"assignedPhones":[` + reference("phone") + ` ],"unansweredAction":` + action + `,"voicemailGreeting":{"kind":"tts" ,"url":null}`,
		},
		{
			"listAgentConfigs", "getAgentConfig", "agent_config", "id", querytest.Row{"name": nasty, "agent_number": 9, "status": "testing"}, nil,
			`"name":` + name + `,"agentNumber":9,"status":"testing",` + times, "",
		},
		{
			"listCallGroups", "getCallGroup", "call_group", "id", querytest.Row{"name": nasty, "number": "600", "ring_pattern": "simultaneous"},
			map[string]string{"members": "[ " + reference("extension") + "]", "unanswered_action": action, "voicemail_greeting": `{"kind":"x","url" :"u"}`},
			`"name":` + name + `,"number":"600","status":"active",` + times,
			`"members":[ ` + reference("extension") + `],"ringPattern":"simultaneous","unansweredAction":` + action + `,"voicemailGreeting":{"kind":"x","url" :"u"}`,
		},
		{
			"listCallMenus", "getCallMenu", "call_menu", "id", querytest.Row{"name": nasty, "direct_extension_dialing": true},
			map[string]string{"prompt": `{"kind":"x", "url":null}`, "choices": `[{"digit":"*","label":null, "action":` + action + `}]`, "no_input_action": action},
			`"name":` + name + `,"status":"active",` + times,
			`"prompt":{"kind":"x", "url":null},"choices":[{"digit":"*","label":null, "action":` + action + `}],"directExtensionDialing":true,"noInputAction":` + action,
		},
		{
			"listCallLogs", "getCallLog", "call_log", "id", querytest.Row{"call_sid": "CA1", "parent_call_sid": "CA0", "outcome": "answered",
				"from_party": "+15550001", "from_name": nasty, "to_party": "+15550002", "start_time": "2026-03-01T09:30:02.05Z", "end_time": "2026-03-01T09:31:00.999Z",
				"duration": 59, "recording_sid": "RE1", "recording_duration": 58}, nil,
			`"callSid":"CA1","parentCallSid":"CA0","direction":"inbound","status":"completed","outcome":"answered","from":"+15550001","fromName":` +
				name + `,"to":"+15550002","createdAt":"2026-03-01T09:30:00.000Z","startTime":"2026-03-01T09:30:02.050Z",` +
				`"endTime":"2026-03-01T09:31:00.999Z","duration":59,"recordingSid":"RE1","recordingDuration":58`,
			`"transcribedText":null,"transcriptionStatus":"unavailable"`,
		},
		{
			"listCallAnalyses", "getCallAnalysis", "analysis", "id",
			querytest.Row{"call_sid": "CA1", "call_id": otherID, "status": "completed", "overall_score": 100, "analyzed_at": changed},
			map[string]string{"coaching_tips": `["a",  "b"]`},
			`"callSid":"CA1","callLogId":"` + otherID + `","status":"completed","overallScore":100,` +
				`"analyzedAt":"2026-03-01T09:30:01.050Z","coachingTips":["a",  "b"],"createdAt":"2026-03-01T09:30:00.000Z"`, "",
		},
		{
			"listVoicemails", "getVoicemail", "voicemail", "id", querytest.Row{"from_party": "+15550001", "from_name": nasty, "duration": 12,
				"extension_id": otherID, "call_group_id": thirdID, "listened": true, "archived": false, "recording_sid": "RE2"}, nil,
			`"callSid":"CA1","from":"+15550001","fromName":` + name + `,"duration":12,"extensionId":"` + otherID + `","callGroupId":"` + thirdID +
				`","listened":true,"archived":false,"recordingSid":"RE2","createdAt":"2026-03-01T09:30:00.000Z"`,
			`"transcribedText":null,"transcriptionStatus":"unavailable"`,
		},
		{
			"listCallRecordings", "getCallRecording", "recording", "recording_sid",
			querytest.Row{"owner_id": otherID, "call_sid": "CA1", "duration": 58}, nil,
			`"callLogId":"` + otherID + `","callSid":"CA1","status":"ready","durationSeconds":58,"createdAt":"2026-03-01T09:30:00.000Z"`, "",
		},
	}
}

// insert makes the row the only one of its table, and returns its key.
func (h *harness) insert(system uuid.UUID, b body) string {
	h.Helper()
	columns := querytest.Row{"system_id": system, "id": uuid.New(), "created_at": created, "updated_at": changed}
	if b.key == "recording_sid" {
		columns[b.key] = "REone"
	}
	maps.Copy(columns, b.columns)
	h.exec("truncate projection." + b.table)
	querytest.Insert(h, h.pool, b.table, columns)
	for column, text := range b.stored {
		h.exec("update projection."+b.table+" set "+column+" = $1::json", text)
	}
	querytest.Count(h, h.pool)
	return fmt.Sprint(columns[b.key])
}

// Every field of every resource in its list and in its detail, and the ETags of both.
func TestBodies(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system, other := h.system("one"), h.system("two")
	mine, theirs := h.key(system), h.key(other)
	for _, b := range bodies(system) {
		id := h.insert(system, b)
		name, absent := "id", uuid.NewString()
		if b.key == "recording_sid" {
			name, absent = "recordingSid", "REtwo"
		}
		row := fmt.Sprintf(`{"%s":"%s","phoneSystemId":"%s",%s`, name, id, system, b.row)
		path := func(system uuid.UUID) string { return operationNamed(t, b.list).examplePath(system.String()) }
		list := h.get(path(system), withKey(mine))
		if got, want := list.Body.String(), `{"data":[`+row+`}],"total":1,"page":1,"pageSize":25,"totalPages":1}`; got != want {
			t.Errorf("%s: body = %s, want %s", b.list, got, want)
		}
		if b.more != "" {
			row += "," + b.more
		}
		detail := h.get(path(system)+"/"+id, withKey(mine))
		if got, want := detail.Body.String(), row+"}"; got != want {
			t.Errorf("%s: body = %s, want %s", b.detail, got, want)
		}
		h.expectHeaders(b.detail, detail, map[string]string{"Data-Complete-Through": watermark})
		if upper := h.get(path(system)+"/"+strings.ToUpper(id), withKey(mine)); b.key == "id" && upper.Body.String() != detail.Body.String() {
			t.Errorf("%s in upper case: body = %s, want %s", b.detail, upper.Body, detail.Body)
		}
		h.expectCode(b.detail+" of a missing row", h.get(path(system)+"/"+absent, withKey(mine)), notFound)
		h.expectCode(b.detail+" of another system's row", h.get(path(other)+"/"+id, withKey(theirs)), notFound)
		h.expectCode(b.detail+" with another system's key", h.get(path(system)+"/"+id, withKey(theirs)), notFound)
		h.expectNotModified(path(system)+"/"+id, mine, detail.Header().Get("ETag"))
		if tag := list.Header().Get("ETag"); tag != "" { // dated lists have none
			h.expectNotModified(path(system), mine, tag)
			h.exec("update projection." + b.table + " set updated_at = updated_at + interval '1 second'")
			h.expectCode(b.list+", changed", h.get(path(system), withKey(mine), with("If-None-Match", tag)), "")
		}
	}
}

func (h *harness) expectNotModified(path string, key access.IssuedKey, tag string) {
	h.Helper()
	if w := h.get(path, withKey(key), with("If-None-Match", tag)); tag == "" || w.Code != 304 || w.Body.Len() > 0 {
		h.Errorf("%s with ETag %q: response = %d %s, want 304 without a body", path, tag, w.Code, w.Body)
	}
}

// A row that is not in its list is not found by its key.
func TestBodies_Unlisted(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key, id := h.key(system), uuid.New()
	analysis, recording := systemPath(system, "/call-analyses/"+id.String()), systemPath(system, "/recordings/RE1")
	for _, c := range []struct {
		name, table, path string
		row               querytest.Row
		want              code
	}{
		{"listed analysis", "analysis", analysis, querytest.Row{}, ""},
		{"unlisted analysis", "analysis", analysis, querytest.Row{"listed": false}, notFound},
		{"recording that is being processed", "recording", recording, querytest.Row{"status": "processing"}, ""},
		{"unavailable recording", "recording", recording, querytest.Row{"status": "unavailable"}, notFound},
		{"voicemail's recording", "recording", recording, querytest.Row{"owner": "voicemail", "call_sid": nil}, notFound},
	} {
		h.exec("truncate projection." + c.table)
		maps.Copy(c.row, querytest.Row{"system_id": system, "id": id})
		querytest.Insert(t, h.pool, c.table, c.row)
		h.expectCode(c.name, h.get(c.path, withKey(key)), c.want)
	}
}

// A transcript's text is returned if the status is completed, for calls and for voicemails, and never that of another owner row
// with the same id.
func TestBodies_Transcript(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	text, empty := nasty, ""
	for _, c := range []struct {
		stored string  // status; empty: no transcript
		text   *string // stored
		status string
		want   *string
	}{
		{"completed", &text, "completed", &text},
		{"completed", &empty, "completed", &empty},
		{"processing", nil, "processing", nil},
		{"failed", nil, "failed", nil},
		{"unavailable", nil, "unavailable", nil},
		{"unavailable", &text, "unavailable", nil},
		{"completed", nil, "unavailable", nil},
		{"", nil, "unavailable", nil},
	} {
		for owner, other := range map[string]string{"call": "voicemail", "voicemail": "call"} {
			id := uuid.New()
			row, table, path := querytest.Row{"system_id": system, "id": id}, "voicemail", systemPath(system, "/voicemails/"+id.String())
			if owner == "call" {
				table, path = "call_log", systemPath(system, "/call-logs/"+id.String())
				if c.stored != "" {
					row["transcription_status"] = c.stored
				}
			}
			querytest.Insert(t, h.pool, table, row)
			h.transcript(system, id, other, "completed", &text)
			if c.stored != "" {
				h.transcript(system, id, owner, c.stored, c.text)
			}
			var got struct {
				TranscribedText     *string
				TranscriptionStatus string
			}
			decode(t, h.get(path, withKey(key)), &got)
			if got.TranscriptionStatus != c.status || (got.TranscribedText == nil) != (c.want == nil) || c.want != nil && *got.TranscribedText != *c.want {
				t.Errorf("%s's transcript, stored as %q: %+v, want %s, %v", owner, c.stored, got, c.status, c.want)
			}
		}
	}
}

func (h *harness) transcript(system, id uuid.UUID, owner, status string, text *string) {
	h.Helper()
	querytest.Insert(h, h.pool, "transcript", querytest.Row{"system_id": system, "owner": owner, "owner_id": id, "status": status})
	if text != nil {
		querytest.Insert(h, h.pool, "transcript_text",
			querytest.Row{"system_id": system, "owner": owner, "owner_id": id, "text": *text, "turns": []any{}})
	}
}

// fullCall adds a call with a value in every column of the detail.
func (h *harness) fullCall(system, id uuid.UUID) {
	h.Helper()
	querytest.Insert(h, h.pool, "call_log", querytest.Row{
		"system_id": system, "id": id, "parent_call_sid": "CA0", "outcome": "answered", "from_party": "+15550001", "from_name": nasty,
		"to_party": "+15550002", "start_time": created, "end_time": changed, "duration": 1, "recording_sid": "RE1", "recording_duration": 1,
	})
}

// A narrowed key reads the calls of its extension and their analyses and, once the extension is deleted, none.
func TestBodies_Narrowed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	extension, other := h.extension(system), h.extension(system)
	key := h.key(system, narrowedTo(extension))
	answered := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), answeredBy: &extension}
	placed := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), from: &extension, answeredBy: &other}
	foreign := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), from: &other}
	calls := []call{answered, placed, foreign}
	h.calls(system, calls...)
	for _, c := range calls { // an analysis with the call's id
		querytest.Insert(t, h.pool, "analysis", querytest.Row{"system_id": system, "id": c.id, "call_id": c.id, "created_at": watermark})
	}
	querytest.Count(t, h.pool)
	expect := func(when string, total int, want map[uuid.UUID]code) {
		t.Helper()
		for _, list := range []string{"/call-logs", "/call-analyses"} {
			for id, code := range want {
				h.expectCode(when+", "+list, h.get(systemPath(system, list+"/"+id.String()), withKey(key)), code)
			}
			for _, query := range []string{"", "?callSid=CA1", "?dateFrom=2026-01-01T00:00:00Z"} {
				var got listing
				if decode(t, h.get(systemPath(system, list+query), withKey(key)), &got); got.Total != total || len(got.Data) != total {
					t.Errorf("%s: total of %s%s = %d, rows = %d, want %d", when, list, query, got.Total, len(got.Data), total)
				}
			}
		}
	}
	expect("live extension", 2, map[uuid.UUID]code{answered.id: "", placed.id: "", foreign.id: notFound})
	h.exec("delete from projection.extension where id = $1", extension)
	expect("unknown extension", 2, map[uuid.UUID]code{answered.id: "", placed.id: "", foreign.id: notFound})
	h.exec("insert into projection.tombstone (system_id, entity, key, version, owner, owner_id) values ($1, 'extension', $2, 2, '', $1)", system, extension.String())
	expect("deleted extension", 0, map[uuid.UUID]code{answered.id: notFound, placed.id: notFound, foreign.id: notFound})
}
