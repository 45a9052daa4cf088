package readapi

import (
	"testing"

	"github.com/google/uuid"

	"callboard/readapi/access"
	"callboard/readapi/query/querytest"
)

// full is a call with a value in every column that is answered.
func (r *reader) full(system, id uuid.UUID) {
	r.Helper()
	querytest.Insert(r, r.pool, "call_log", querytest.Row{
		"system_id": system, "id": id, "parent_call_sid": "CA0", "outcome": "answered", "from_party": "+15550001", "from_name": nasty,
		"to_party": "+15550002", "start_time": created, "end_time": changed, "duration": 1, "recording_sid": "RE1", "recording_duration": 1,
	})
}

// A narrowed key sees its extension's calls and their analyses and, once that is gone, nothing.
func TestCallLogs_Narrowed(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	extension, other := r.extension(system), r.extension(system)
	answered := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), answeredBy: &extension}
	placed := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), from: &extension, answeredBy: &other}
	foreign := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark), from: &other}
	calls := []call{answered, placed, foreign}
	r.calls(system, calls...)
	for _, c := range calls { // an analysis with the call's own id
		querytest.Insert(t, r.pool, "analysis", querytest.Row{"system_id": system, "id": c.id, "call_id": c.id, "created_at": watermark})
	}
	querytest.Count(t, r.pool)
	key := r.key(system, narrowedTo(extension))
	expect := func(when string, want map[uuid.UUID]int) {
		for _, list := range []string{"/call-logs", "/call-analyses"} {
			got := r.narrowed("/customer/phone-systems/"+system.String()+list, key, calls)
			for id, status := range want {
				if got[id] != status {
					t.Errorf("%s, %s: %v, want %v", when, list, got, want)
				}
			}
		}
	}
	expect("alive", map[uuid.UUID]int{answered.id: 203, placed.id: 203, foreign.id: 404})
	for _, c := range calls {
		w := r.get("/customer/phone-systems/"+system.String()+"/call-analyses?callLogId="+c.id.String()+"&callSid=CA1", withKey(key))
		var list listing
		if decode(t, w, &list); list.Total != len(list.Data) || (list.Total == 1) != (c.id != foreign.id) {
			t.Errorf("analyses of a call: %d %s", w.Code, w.Body)
		}
	}
	r.exec("delete from projection.extension where id = $1", extension)
	expect("gone", map[uuid.UUID]int{answered.id: 404, placed.id: 404, foreign.id: 404})
}

// narrowed is for each call the status of the detail and the number of lists that it is in.
func (r *reader) narrowed(path string, key access.IssuedKey, calls []call) map[uuid.UUID]int {
	r.Helper()
	seen := make(map[uuid.UUID]int)
	for _, c := range calls {
		seen[c.id] = r.get(path+"/"+c.id.String(), withKey(key)).Code
	}
	for _, query := range []string{"", "?callSid=CA1", "?dateFrom=2026-01-01T00:00:00Z"} {
		w := r.get(path+query, withKey(key))
		var list listing
		decode(r, w, &list)
		if list.Total != len(list.Data) || w.Header().Get("Data-Complete-Through") != watermark {
			r.Errorf("%s: %d of %d, %v", query, len(list.Data), list.Total, w.Header())
		}
		for _, id := range list.keys() {
			seen[uuid.MustParse(id)]++
		}
	}
	return seen
}
