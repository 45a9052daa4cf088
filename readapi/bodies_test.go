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

// body is one row of a table and what is answered for it, to the byte.
type body struct {
	list, detail string
	table, key   string
	columns      querytest.Row
	stored       map[string]string // columns of JSON, which keep their bytes
	row          string            // after the identifiers, up to the end of the list's row
	more         string            // what the detail adds
}

const (
	otherID = "7d9f4c1e-0000-4000-8000-00000000000a"
	created = "2026-03-01T09:30:00Z"
	changed = "2026-03-01T09:30:01.05Z"
)

// bodies are a filled and a bare row of each resource.
func bodies(system uuid.UUID) []body {
	text, _ := json.Marshal(nasty)
	name := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u2028`, "\u2028").Replace(string(text))
	reference := func(to string) string {
		return `{"type":"` + to + `","id":"` + otherID + `","phoneSystemId":"` + system.String() + `"}`
	}
	const times = `"createdAt":"2026-03-01T09:30:00.000Z","updatedAt":"2026-03-01T09:30:01.050Z"`
	const kept = `{"type" : "forward", "literal":"+1555\u00e9",  "reference":null}`
	return []body{
		{
			"listPhones", "getPhone", "phone", "id",
			querytest.Row{"name": nasty, "extension_id": otherID, "device_role": "base", "parent_phone_id": otherID, "slot": 0,
				"mac_address": "00:11", "firmware": "1.2", "status": "released"},
			map[string]string{"hardware": `{"manufacturer": "A", "model" :null,"serialNumber":null}`},
			`"name":` + name + `,"status":"released",` + times,
			`"hardware":{"manufacturer": "A", "model" :null,"serialNumber":null},"deviceRole":"base","parentPhone":` + reference("phone") +
				`,"slot":0,"macAddress":"00:11","firmware":"1.2","extension":` + reference("extension"),
		},
		{
			"listPhones", "getPhone", "phone", "id", querytest.Row{}, nil,
			`"name":"","status":"active",` + times,
			`"hardware":{"manufacturer":null,"model":null,"serialNumber":null},"deviceRole":null,"parentPhone":null,"slot":null,"macAddress":null,"firmware":null,"extension":null`,
		},
		{
			"listPhoneNumbers", "getPhoneNumber", "phone_number", "id",
			querytest.Row{"phone_number": "+15550001", "label": nasty, "origin": "carrier_hosted", "country": "US", "is_primary": true}, nil,
			`"phoneNumber":"+15550001","label":` + name + `,"status":"active",` + times,
			`"origin":"carrier_hosted","country":"US","isPrimary":true`,
		},
		{
			"listPhoneNumbers", "getPhoneNumber", "phone_number", "id", querytest.Row{"phone_number": "+15550002"}, nil,
			`"phoneNumber":"+15550002","label":null,"status":"active",` + times,
			`"origin":"managed","country":null,"isPrimary":false`,
		},
		{
			"listExtensions", "getExtension", "extension", "id", querytest.Row{"name": nasty, "number": "101"},
			map[string]string{"assigned_phones": "[" + reference("phone") + " ]", "unanswered_action": kept, "voicemail_greeting": `{"kind":"tts" ,"url":null}`},
			`"name":` + name + `,"number":"101","status":"active",` + times,
			`"assignedPhones":[` + reference("phone") + ` ],"unansweredAction":` + kept + `,"voicemailGreeting":{"kind":"tts" ,"url":null}`,
		},
		{
			"listExtensions", "getExtension", "extension", "id", querytest.Row{"number": "102"}, nil,
			`"name":"","number":"102","status":"active",` + times,
			`"assignedPhones":[],"unansweredAction":null,"voicemailGreeting":null`,
		},
		{
			"listAgentConfigs", "getAgentConfig", "agent_config", "id", querytest.Row{"name": nasty, "agent_number": 9, "status": "testing"}, nil,
			`"name":` + name + `,"agentNumber":9,"status":"testing",` + times, "",
		},
		{
			"listAgentConfigs", "getAgentConfig", "agent_config", "id", querytest.Row{}, nil,
			`"name":"","agentNumber":null,"status":"active",` + times, "",
		},
		{
			"listCallGroups", "getCallGroup", "call_group", "id", querytest.Row{"name": nasty, "number": "600", "ring_pattern": "simultaneous"},
			map[string]string{"members": "[ " + reference("extension") + "]", "unanswered_action": kept, "voicemail_greeting": `{"kind":"x","url" :"u"}`},
			`"name":` + name + `,"number":"600","status":"active",` + times,
			`"members":[ ` + reference("extension") + `],"ringPattern":"simultaneous","unansweredAction":` + kept + `,"voicemailGreeting":{"kind":"x","url" :"u"}`,
		},
		{
			"listCallGroups", "getCallGroup", "call_group", "id", querytest.Row{"number": "601"}, nil,
			`"name":"","number":"601","status":"active",` + times,
			`"members":[],"ringPattern":"","unansweredAction":null,"voicemailGreeting":null`,
		},
		{
			"listCallMenus", "getCallMenu", "call_menu", "id", querytest.Row{"name": nasty, "direct_extension_dialing": true},
			map[string]string{"prompt": `{"kind":"x", "url":null}`, "choices": `[{"digit":"*","label":null, "action":` + kept + `}]`, "no_input_action": kept},
			`"name":` + name + `,"status":"active",` + times,
			`"prompt":{"kind":"x", "url":null},"choices":[{"digit":"*","label":null, "action":` + kept + `}],"directExtensionDialing":true,"noInputAction":` + kept,
		},
		{
			"listCallMenus", "getCallMenu", "call_menu", "id", querytest.Row{}, nil, `"name":"","status":"active",` + times,
			`"prompt":null,"choices":[],"directExtensionDialing":false,"noInputAction":null`,
		},
		{
			"listCallLogs", "getCallLog", "call_log", "id", querytest.Row{"call_sid": "CA1", "parent_call_sid": "CA0", "outcome": "answered",
				"from_party": "+15550001", "from_name": nasty, "to_party": "+15550002", "start_time": changed, "end_time": "2026-03-01T09:31:00.999Z",
				"duration": 59, "recording_sid": "RE1", "recording_duration": 58}, nil,
			`"callSid":"CA1","parentCallSid":"CA0","direction":"inbound","status":"completed","outcome":"answered","from":"+15550001","fromName":` +
				name + `,"to":"+15550002","createdAt":"2026-03-01T09:30:00.000Z","startTime":"2026-03-01T09:30:01.050Z",` +
				`"endTime":"2026-03-01T09:31:00.999Z","duration":59,"recordingSid":"RE1","recordingDuration":58`,
			`"transcribedText":null,"transcriptionStatus":"unavailable"`,
		},
		{
			"listCallLogs", "getCallLog", "call_log", "id", querytest.Row{"call_sid": "CA2"}, nil,
			`"callSid":"CA2","parentCallSid":null,"direction":"inbound","status":"completed","outcome":null,"from":"","fromName":null,"to":"",` +
				`"createdAt":"2026-03-01T09:30:00.000Z","startTime":null,"endTime":null,"duration":null,"recordingSid":null,"recordingDuration":null`,
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
			"listCallAnalyses", "getCallAnalysis", "analysis", "id", querytest.Row{"call_id": otherID}, nil,
			`"callSid":"CA1","callLogId":"` + otherID + `","status":"pending","overallScore":null,` +
				`"analyzedAt":null,"coachingTips":[],"createdAt":"2026-03-01T09:30:00.000Z"`, "",
		},
		{
			"listVoicemails", "getVoicemail", "voicemail", "id", querytest.Row{"from_party": "+15550001", "from_name": nasty, "duration": 12,
				"extension_id": otherID, "call_group_id": otherID, "listened": true, "archived": true, "recording_sid": "RE2"}, nil,
			`"callSid":"CA1","from":"+15550001","fromName":` + name + `,"duration":12,"extensionId":"` + otherID + `","callGroupId":"` + otherID +
				`","listened":true,"archived":true,"recordingSid":"RE2","createdAt":"2026-03-01T09:30:00.000Z"`,
			`"transcribedText":null,"transcriptionStatus":"unavailable"`,
		},
		{
			"listVoicemails", "getVoicemail", "voicemail", "id", querytest.Row{}, nil,
			`"callSid":"CA1","from":"","fromName":null,"duration":0,"extensionId":null,"callGroupId":null,"listened":false,"archived":false,` +
				`"recordingSid":"RE1","createdAt":"2026-03-01T09:30:00.000Z"`,
			`"transcribedText":null,"transcriptionStatus":"unavailable"`,
		},
		{
			"listCallRecordings", "getCallRecording", "recording", "recording_sid",
			querytest.Row{"owner_id": otherID, "call_sid": "CA1", "duration": 58}, nil,
			`"callLogId":"` + otherID + `","callSid":"CA1","status":"ready","durationSeconds":58,"createdAt":"2026-03-01T09:30:00.000Z"`, "",
		},
		{
			"listCallRecordings", "getCallRecording", "recording", "recording_sid",
			querytest.Row{"owner_id": otherID, "call_sid": "CA2", "status": "processing"}, nil,
			`"callLogId":"` + otherID + `","callSid":"CA2","status":"processing","durationSeconds":null,"createdAt":"2026-03-01T09:30:00.000Z"`, "",
		},
	}
}

// put makes the row the only one of its table, and returns its key.
func (h *harness) put(system uuid.UUID, b body) string {
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

// Every field of every resource, filled and bare, in lists and details.
func TestBodies(t *testing.T) {
	h := newHarness(t)
	system, other := h.system("one"), h.system("two")
	mine, theirs := h.key(system), h.key(other)
	for _, b := range bodies(system) {
		id := h.put(system, b)
		name := "id"
		if b.key == "recording_sid" {
			name = "recordingSid"
		}
		row := fmt.Sprintf(`{"%s":"%s","phoneSystemId":"%s",%s`, name, id, system, b.row)
		list := h.get(operationNamed(t, b.list).examplePath(system.String()), withKey(mine))
		if want := `{"data":[` + row + `}],"total":1,"page":1,"pageSize":25,"totalPages":1}`; list.Code != 200 || list.Body.String() != want {
			t.Errorf("%s: %d %s\nwant %s", b.list, list.Code, list.Body, want)
		}
		if b.more != "" {
			row += "," + b.more
		}
		path := func(system uuid.UUID, id string) string {
			return operationNamed(t, b.list).examplePath(system.String()) + "/" + id
		}
		detail := h.get(path(system, id), withKey(mine))
		if detail.Code != 200 || detail.Body.String() != row+"}" || detail.Header().Get("ETag") == "" ||
			detail.Header().Get("Data-Complete-Through") != watermark {
			t.Errorf("%s: %d %s\nwant %s\n%v", b.detail, detail.Code, detail.Body, row, detail.Header())
		}
		tag := detail.Header().Get("ETag")
		if again := h.get(path(system, id), withKey(mine), with("If-None-Match", tag)); again.Code != 304 || again.Body.Len() > 0 {
			t.Errorf("%s with its tag: %d %s", b.detail, again.Code, again.Body)
		}
		absent := "REtwo"
		if b.key == "id" {
			absent = uuid.NewString()
			if upper := h.get(path(system, strings.ToUpper(id)), withKey(mine)); upper.Body.String() != detail.Body.String() {
				t.Errorf("%s in upper case: %d %s", b.detail, upper.Code, upper.Body)
			}
		}
		if w := h.get(path(system, absent), withKey(mine)); w.Code != 404 {
			t.Errorf("%s of what is absent: %d", b.detail, w.Code)
		}
		if w := h.get(path(other, id), withKey(theirs)); w.Code != 404 {
			t.Errorf("%s under another system: %d", b.detail, w.Code)
		}
		if w := h.get(path(system, id), withKey(theirs)); w.Code != 404 {
			t.Errorf("%s with another system's key: %d", b.detail, w.Code)
		}
	}
}

// What is not in a list is not found by its key either.
func TestBodies_Hidden(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	id := uuid.New()
	for i, c := range []struct {
		operation, table string
		row              querytest.Row
		status           int
	}{
		{"listCallAnalyses", "analysis", querytest.Row{}, 200},
		{"listCallAnalyses", "analysis", querytest.Row{"listed": false}, 404},
		{"listCallRecordings", "recording", querytest.Row{"status": "processing"}, 200},
		{"listCallRecordings", "recording", querytest.Row{"status": "unavailable"}, 404},
		{"listCallRecordings", "recording", querytest.Row{"owner": "voicemail", "call_sid": nil}, 404},
	} {
		h.exec("truncate projection." + c.table)
		maps.Copy(c.row, querytest.Row{"system_id": system, "id": id})
		querytest.Insert(t, h.pool, c.table, c.row)
		path := operationNamed(t, c.operation).examplePath(system.String()) + "/"
		if c.table == "recording" {
			path += "RE1"
		} else {
			path += id.String()
		}
		if w := h.get(path, withKey(key)); w.Code != c.status {
			t.Errorf("%d, %s: %d %s", i, c.table, w.Code, w.Body)
		}
	}
}

// An unchanged list of topology is not sent again, a changed one is.
func TestBodies_ListTag(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	for _, b := range bodies(system) {
		h.put(system, b)
		path := operationNamed(t, b.list).examplePath(system.String())
		tag := h.get(path, withKey(key)).Header().Get("ETag")
		if tag == "" { // what happened has none
			continue
		}
		if w := h.get(path, withKey(key), with("If-None-Match", tag)); w.Code != 304 {
			t.Errorf("%s: %d", b.list, w.Code)
		}
		h.exec("update projection." + b.table + " set updated_at = updated_at + interval '1 second'")
		if w := h.get(path, withKey(key), with("If-None-Match", tag)); w.Code != 200 {
			t.Errorf("%s, changed: %d", b.list, w.Code)
		}
	}
}

// Text is served exactly where the status is completed, of calls and of voicemails, and never another's with the same id.
func TestBodies_Transcript(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	text, empty := nasty, ""
	for _, c := range []struct {
		stored string  // the status; empty: there is none
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
			row := querytest.Row{"system_id": system, "id": id}
			path := "/customer/phone-systems/" + system.String() + "/voicemails/" + id.String()
			if owner == "voicemail" {
				querytest.Insert(t, h.pool, "voicemail", row)
			} else {
				if path = "/customer/phone-systems/" + system.String() + "/call-logs/" + id.String(); c.stored != "" {
					row["transcription_status"] = c.stored
				}
				querytest.Insert(t, h.pool, "call_log", row)
			}
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
				t.Errorf("%s, %q with text %v: %+v", owner, c.stored, c.text, got)
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

// full is a call with a value in every column that is answered.
func (h *harness) full(system, id uuid.UUID) {
	h.Helper()
	querytest.Insert(h, h.pool, "call_log", querytest.Row{
		"system_id": system, "id": id, "parent_call_sid": "CA0", "outcome": "answered", "from_party": "+15550001", "from_name": nasty,
		"to_party": "+15550002", "start_time": created, "end_time": changed, "duration": 1, "recording_sid": "RE1", "recording_duration": 1,
	})
}

// A narrowed key sees its extension's calls and their analyses and, once that is gone, nothing.
func TestCallLogs_Narrowed(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	extension, other := h.extension(system), h.extension(system)
	answered := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), answeredBy: &extension}
	placed := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), from: &extension, answeredBy: &other}
	foreign := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), from: &other}
	calls := []call{answered, placed, foreign}
	h.calls(system, calls...)
	for _, c := range calls { // an analysis with the call's own id
		querytest.Insert(t, h.pool, "analysis", querytest.Row{"system_id": system, "id": c.id, "call_id": c.id, "created_at": watermark})
	}
	querytest.Count(t, h.pool)
	key := h.key(system, narrowedTo(extension))
	expect := func(when string, want map[uuid.UUID]int) {
		for _, list := range []string{"/call-logs", "/call-analyses"} {
			got := h.narrowed("/customer/phone-systems/"+system.String()+list, key, calls)
			for id, status := range want {
				if got[id] != status {
					t.Errorf("%s, %s: %v, want %v", when, list, got, want)
				}
			}
		}
	}
	expect("alive", map[uuid.UUID]int{answered.id: 203, placed.id: 203, foreign.id: 404})
	for _, c := range calls {
		w := h.get("/customer/phone-systems/"+system.String()+"/call-analyses?callLogId="+c.id.String()+"&callSid=CA1", withKey(key))
		var list listing
		if decode(t, w, &list); list.Total != len(list.Data) || (list.Total == 1) != (c.id != foreign.id) {
			t.Errorf("analyses of a call: %d %s", w.Code, w.Body)
		}
	}
	h.exec("delete from projection.extension where id = $1", extension)
	expect("gone", map[uuid.UUID]int{answered.id: 404, placed.id: 404, foreign.id: 404})
}

// narrowed is for each call the status of the detail and the number of lists that it is in.
func (h *harness) narrowed(path string, key access.IssuedKey, calls []call) map[uuid.UUID]int {
	h.Helper()
	seen := make(map[uuid.UUID]int)
	for _, c := range calls {
		seen[c.id] = h.get(path+"/"+c.id.String(), withKey(key)).Code
	}
	for _, query := range []string{"", "?callSid=CA1", "?dateFrom=2026-01-01T00:00:00Z"} {
		w := h.get(path+query, withKey(key))
		var list listing
		decode(h, w, &list)
		if list.Total != len(list.Data) || w.Header().Get("Data-Complete-Through") != watermark {
			h.Errorf("%s: %d of %d, %v", query, len(list.Data), list.Total, w.Header())
		}
		for _, id := range list.keys() {
			seen[uuid.MustParse(id)]++
		}
	}
	return seen
}
