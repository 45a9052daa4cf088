package readapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
)

const nasty = "Zoë \"q\" \\ \n\t\x01\x7f </script> \u2028 \U0001F4DE"

// full is a call with a value in every column.
func (r *reader) full(system, id uuid.UUID) {
	r.Helper()
	r.exec(`insert into projection.call_log (
		  system_id, id, version, updated_at, call_sid, parent_call_sid, direction, status, outcome, from_party, from_name, to_party,
		  created_at, start_time, end_time, duration, is_emergency, is_converted, is_edited, tags, transcription_status,
		  recording_sid, recording_duration)
		values ($1, $2, 1, now(), 'CA1', 'CA0', 'inbound', 'completed', 'answered', '+15550001', $3, '+15550002',
		  '2026-03-01T09:30:00Z', '2026-03-01T09:30:01.05Z', '2026-03-01T09:31:00.999Z', 59, false, false, false, '[]', 'unavailable',
		  'RE1', 58)`, system, id, nasty)
}

func TestGetCallLog_Fields(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	filled, bare := uuid.New(), call{id: uuid.New(), sid: "CA2", createdAt: at("2026-03-01T00:00:00.007Z")}
	r.full(system, filled)
	r.calls(system, bare)
	key := r.key(system)
	text, _ := json.Marshal(nasty)
	for id, want := range map[uuid.UUID]string{
		filled: fmt.Sprintf(`{"id":"%s","phoneSystemId":"%s","callSid":"CA1","parentCallSid":"CA0","direction":"inbound",
			"status":"completed","outcome":"answered","from":"+15550001","fromName":%s,"to":"+15550002",
			"createdAt":"2026-03-01T09:30:00.000Z","startTime":"2026-03-01T09:30:01.050Z","endTime":"2026-03-01T09:31:00.999Z",
			"duration":59,"recordingSid":"RE1","recordingDuration":58,"transcribedText":null,"transcriptionStatus":"unavailable"}`, filled, system, text),
		bare.id: fmt.Sprintf(`{"id":"%s","phoneSystemId":"%s","callSid":"CA2","parentCallSid":null,"direction":"inbound",
			"status":"completed","outcome":null,"from":"+15550001","fromName":null,"to":"+15550002",
			"createdAt":"2026-03-01T00:00:00.007Z","startTime":null,"endTime":null,
			"duration":null,"recordingSid":null,"recordingDuration":null,"transcribedText":null,"transcriptionStatus":"unavailable"}`, bare.id, system),
	} {
		w := r.get("/customer/phone-systems/"+system.String()+"/call-logs/"+strings.ToUpper(id.String()), withKey(key))
		if w.Code != 200 || normal(t, w.Body.String()) != normal(t, want) {
			t.Errorf("%d %s\nwant %s", w.Code, w.Body, want)
		}
		if got := w.Header().Get("Data-Complete-Through"); got != watermark {
			t.Errorf("complete through %q", got)
		}
		var list struct{ Data []json.RawMessage }
		decode(t, r.get("/customer/phone-systems/"+system.String()+"/call-logs?callSid="+sidOf(id, filled), withKey(key)), &list)
		row := want[:strings.Index(want, `,"transcribedText"`)] + "}"
		if len(list.Data) != 1 || normal(t, string(list.Data[0])) != normal(t, row) {
			t.Errorf("list row %s\nwant %s", list.Data, row)
		}
	}
}

func sidOf(id, filled uuid.UUID) string {
	if id == filled {
		return "CA1"
	}
	return "CA2"
}

// normal is JSON in one form.
func normal(tb testing.TB, text string) string {
	tb.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	sorted, _ := json.Marshal(value)
	return string(sorted)
}

// Text is served exactly where the status is completed.
func TestGetCallLog_Transcript(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	key := r.key(system)
	text := nasty
	empty := ""
	for _, c := range []struct {
		stored string
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
	} {
		id := uuid.New()
		r.full(system, id)
		r.exec("update projection.call_log set transcription_status = $2 where id = $1", id, c.stored)
		if c.text != nil {
			r.exec("insert into projection.transcript_text (system_id, owner, owner_id, text, turns) values ($1, 'call', $2, $3, '[]')", system, id, *c.text)
		}
		r.exec("insert into projection.transcript_text (system_id, owner, owner_id, text, turns) values ($1, 'voicemail', $2, 'of a voicemail', '[]')", system, id)
		var got struct {
			TranscribedText     *string
			TranscriptionStatus string
		}
		decode(t, r.get("/customer/phone-systems/"+system.String()+"/call-logs/"+id.String(), withKey(key)), &got)
		if got.TranscriptionStatus != c.status || (got.TranscribedText == nil) != (c.want == nil) || c.want != nil && *got.TranscribedText != *c.want {
			t.Errorf("%s with text %v: %+v", c.stored, c.text, got)
		}
	}
}

// A narrowed key sees its extension's calls and, once that is gone, nothing.
func TestCallLogs_Narrowed(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	extension, other := r.extension(system), r.extension(system)
	answered := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), answeredBy: &extension}
	placed := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), from: &extension, answeredBy: &other}
	foreign := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), from: &other}
	r.calls(system, answered, placed, foreign)
	key := r.key(system, narrowedTo(extension))
	seen := func() map[uuid.UUID]int {
		statuses := make(map[uuid.UUID]int)
		for _, c := range []call{answered, placed, foreign} {
			statuses[c.id] = r.get("/customer/phone-systems/"+system.String()+"/call-logs/"+c.id.String(), withKey(key)).Code
		}
		for _, query := range []string{"", "?callSid=CA1", "?dateFrom=2026-01-01T00:00:00Z"} {
			w := r.get("/customer/phone-systems/"+system.String()+"/call-logs"+query, withKey(key))
			var list listing
			decode(t, w, &list)
			if list.Total != len(list.Data) || w.Header().Get("Data-Complete-Through") != watermark {
				t.Errorf("%s: %d of %d, %v", query, len(list.Data), list.Total, w.Header())
			}
			for _, id := range list.ids() {
				statuses[id]++
			}
		}
		return statuses
	}
	if got := seen(); got[answered.id] != 203 || got[placed.id] != 203 || got[foreign.id] != 404 {
		t.Errorf("alive: %v", got)
	}
	r.exec("delete from projection.extension where id = $1", extension)
	if got := seen(); got[answered.id] != 404 || got[placed.id] != 404 || got[foreign.id] != 404 {
		t.Errorf("gone: %v", got)
	}
}
