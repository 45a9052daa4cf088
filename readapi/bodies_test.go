package readapi

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/uuid"
)

const nasty = "Zoë \"q\" \\ \n\t\x01\x7f </script> \u2028 \U0001F4DE"

const (
	otherID = "7d9f4c1e-0000-4000-8000-00000000000a"
	created = "2026-03-01T09:30:00Z"
	changed = "2026-03-01T09:30:01.05Z"
)

// fullRows adds a row with every value of each resource, and returns its key by the operation of its detail.
func (h *harness) fullRows(system uuid.UUID) (keys map[string]string) {
	h.Helper()
	keys = make(map[string]string)
	for _, r := range []struct {
		detail, table string
		values        columns
	}{
		{"getPhone", "phone", nil},
		{"getPhoneNumber", "phone_number", nil},
		{"getExtension", "extension", nil},
		{"getAgentConfig", "agent_config", nil},
		{"getCallGroup", "call_group", nil},
		{"getCallMenu", "call_menu", nil},
		{"getCallAnalysis", "analysis", columns{"overall_score": 100, "analyzed_at": changed, "coaching_tips": []any{"a"}}},
		{"getVoicemail", "voicemail", columns{"from_name": nasty, "extension_id": otherID, "call_group_id": otherID}},
		{"getCallRecording", "recording", columns{"recording_sid": "REone", "duration": 58}},
	} {
		values := columns{"system_id": system, "id": uuid.New(), "name": nasty, "created_at": created, "updated_at": changed}
		maps.Copy(values, r.values)
		insertRows(h, h.pool, r.table, values)
		keys[r.detail] = fmt.Sprint(values["id"])
		if r.table == "recording" {
			keys[r.detail] = "REone"
		}
	}
	return keys
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
		row               columns
		want              code
	}{
		{"listed analysis", "analysis", analysis, columns{}, ""},
		{"unlisted analysis", "analysis", analysis, columns{"listed": false}, notFound},
		{"recording that is being processed", "recording", recording, columns{"status": "processing"}, ""},
		{"unavailable recording", "recording", recording, columns{"status": "unavailable"}, notFound},
		{"voicemail's recording", "recording", recording, columns{"owner": "voicemail", "call_sid": nil}, notFound},
	} {
		h.exec("truncate projection." + c.table)
		maps.Copy(c.row, columns{"system_id": system, "id": id})
		insertRows(t, h.pool, c.table, c.row)
		h.expectCode(c.name, h.get(c.path, withKey(key)), c.want)
	}
}

// A transcript's text is returned if the status is completed, for calls and for voicemails, and never that of
// another owner row with the same id.
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
			row, table, path := columns{"system_id": system, "id": id}, "voicemail", systemPath(system, "/voicemails/"+id.String())
			if owner == "call" {
				table, path = "call_log", systemPath(system, "/call-logs/"+id.String())
				if c.stored != "" {
					row["transcription_status"] = c.stored
				}
			}
			insertRows(t, h.pool, table, row)
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
	insertRows(h, h.pool, "transcript", columns{"system_id": system, "owner": owner, "owner_id": id, "status": status})
	if text != nil {
		insertRows(h, h.pool, "transcript_text",
			columns{"system_id": system, "owner": owner, "owner_id": id, "text": *text, "turns": []any{}})
	}
}

// A narrowed key reads the details of its extension's calls and of their analyses and, once the extension is deleted,
// nothing. TestLists_Pages is about its lists.
func TestBodies_Narrowed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	extension, other := h.extension(system), h.extension(system)
	key := h.key(system, narrowedTo(extension))
	answered := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), answeredBy: &extension}
	placed := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), from: &extension, answeredBy: &other}
	foreign := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), from: &other}
	h.calls(system, answered, placed, foreign)
	for _, c := range []call{answered, placed, foreign} { // an analysis with the call's id
		insertRows(t, h.pool, "analysis", columns{"system_id": system, "id": c.id, "call_id": c.id, "created_at": watermark})
	}
	countRows(t, h.pool)
	for _, step := range []struct {
		name, change string
		total        int
		own          code // of its own calls
	}{
		{"live extension", "select $1::uuid, $2::text", 2, ""},
		{"unknown extension", "delete from projection.topology where id = $1 and $2 <> ''", 2, ""},
		{"deleted extension", "insert into projection.tombstone (system_id, entity, key, version, owner, owner_id) select id, 'extension', $2, 2, '', $1 from projection.phone_system", 0, notFound},
	} {
		h.exec(step.change, extension, extension.String())
		for _, list := range []string{"/call-logs", "/call-analyses"} {
			for id, want := range map[uuid.UUID]code{answered.id: step.own, placed.id: step.own, foreign.id: notFound} {
				h.expectCode(step.name+", "+list, h.get(systemPath(system, list+"/"+id.String()), withKey(key)), want)
			}
			var got listing
			if decode(t, h.get(systemPath(system, list), withKey(key)), &got); got.Total != step.total || len(got.Data) != step.total {
				t.Errorf("%s: total of %s = %d, rows = %d, want %d", step.name, list, got.Total, len(got.Data), step.total)
			}
		}
	}
}
