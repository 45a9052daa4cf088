package readapi

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// tooLargeIn is what a 413 says.
func tooLargeIn(tb testing.TB, w *httptest.ResponseRecorder) map[string]any {
	tb.Helper()
	var body struct{ Params map[string]any }
	decode(tb, w, &body)
	if problem := problemIn(tb, w); w.Code != 413 || problem.Code != "EXPORT_TOO_LARGE" || problem.Retryable {
		tb.Fatalf("%d %+v", w.Code, problem)
	}
	return body.Params
}

// spoken gives a call a transcript of a character many times, with the sizes that the projector keeps.
func (r *reader) spoken(id uuid.UUID, character string, count int) {
	r.Helper()
	r.exec("delete from projection.transcript_text where owner_id = $1", id)
	r.exec(`insert into projection.transcript_text (system_id, owner, owner_id, text, turns)
		select system_id, 'call', id, repeat($2, $3), '[]' from projection.call_log where id = $1`, id, character, count)
	r.exec(`update projection.call_log c set transcription_status = 'completed', transcript_text_bytes = octet_length(t.text), transcript_turns_bytes = 2
		from projection.transcript_text t where c.id = $1 and t.owner_id = c.id`, id)
}

func (r *reader) spokenCalls(count int) (system uuid.UUID, key access.IssuedKey) {
	r.Helper()
	system = r.system("one")
	for i := range count {
		r.calls(system, call{id: nth(i), sid: "CA1", createdAt: at(windowFrom)})
	}
	return system, r.key(system)
}

// A body may have 5,500,000 bytes as it is sent, escaping counted, and not one more.
func TestListCallLogReports_BodySize(t *testing.T) {
	r := newReader(t)
	system, key := r.spokenCalls(1)
	path := reportPath(system, reportQuery("includeTranscripts", "true"))
	for character, escaped := range map[string]int{"\x01": 6, "\"": 2, "a": 1, "é": 2} {
		r.spoken(nth(0), character, 0)
		r.exec("update projection.call_log set route_summary = null")
		rest := maxReportBody - r.get(path, withKey(key)).Body.Len()
		r.spoken(nth(0), character, rest/escaped)
		under := r.get(path, withKey(key))
		if under.Code != 200 || under.Body.Len() < maxReportBody-escaped {
			t.Fatalf("%q: %d, %d bytes", character, under.Code, under.Body.Len())
		}
		padding := maxReportBody - under.Body.Len() + len("null") - len(`""`)
		r.exec("update projection.call_log set route_summary = repeat('x', $1)", padding)
		if w := r.get(path, withKey(key)); w.Code != 200 || w.Body.Len() != maxReportBody {
			t.Errorf("%q: %d, %d bytes", character, w.Code, w.Body.Len())
		}
		r.exec("update projection.call_log set route_summary = repeat('x', $1)", padding+1)
		params := tooLargeIn(t, r.get(path, withKey(key)))
		if len(params) != 2 || params["actualBytes"] != float64(maxReportBody+1) || params["maxBytes"] != float64(maxReportBody) {
			t.Errorf("%q: %v", character, params)
		}
		if w := r.get(reportPath(system, reportQuery()), withKey(key)); w.Code != 200 {
			t.Errorf("%q, without transcripts: %d", character, w.Code)
		}
	}
}

// A page may have 8,000,000 bytes of stored transcripts. Beyond that no text is read; what a page does not show does not count.
func TestListCallLogReports_StoredSize(t *testing.T) {
	r := newReader(t)
	system, key := r.spokenCalls(3)
	path := reportPath(system, reportQuery("includeTranscripts", "true"))
	for i := range 3 {
		r.spoken(nth(i), "a", 8)
	}
	stored := func(bytes ...int) {
		for i, n := range bytes {
			r.exec("update projection.call_log set transcript_text_bytes = $2, transcript_turns_bytes = $3 where id = $1", nth(i), n/3, n-n/3)
		}
	}
	stored(4_000_000, 3_999_999, 1)
	if w := r.get(path, withKey(key)); w.Code != 200 || strings.Count(w.Body.String(), `"aaaaaaaa"`) != 3 {
		t.Errorf("at the limit: %d %s", w.Code, w.Body)
	}
	stored(4_000_000, 3_999_999, 2)
	params := tooLargeIn(t, r.get(path, withKey(key)))
	if len(params) != 4 || params["guard"] != "stored_transcripts" || params["storedBytes"] != 8_000_001.0 || params["limitBytes"] != 8_000_000.0 || params["rowCount"] != 3.0 {
		t.Errorf("above the limit: %v", params)
	}
	if w := r.get(path+"&limit=2", withKey(key)); w.Code != 200 || strings.Count(w.Body.String(), `"aaaaaaaa"`) != 2 {
		t.Errorf("with a smaller limit: %d %s", w.Code, w.Body)
	}
	if w := r.get(reportPath(system, reportQuery()), withKey(key)); w.Code != 200 {
		t.Errorf("without transcripts: %d", w.Code)
	}
	stored(2_000_000_000, 2_000_000_000, 2_000_000_000)
	if params := tooLargeIn(t, r.get(path, withKey(key))); params["storedBytes"] != 6e9 {
		t.Errorf("far above the limit: %v", params)
	}
}

// A refused cursor is replayed without transcripts: the guard is no dead end.
func TestListCallLogReports_Recovery(t *testing.T) {
	r := newReader(t)
	system, key := r.spokenCalls(3)
	r.spoken(nth(1), "a", 8_000_000)
	path := reportPath(system, reportQuery("limit", "1"))
	first := r.cursorOf(path, key)
	if params := tooLargeIn(t, r.get(path+"&includeTranscripts=true&cursor="+first, withKey(key))); params["rowCount"] != 1.0 {
		t.Errorf("%v", params)
	}
	rows, second := r.seen(path+"&cursor="+first, key)
	if rows != "1+" {
		t.Errorf("without transcripts: %s", rows)
	}
	if rows, _ = r.seen(path+"&includeTranscripts=true&cursor="+second, key); rows != "2" {
		t.Errorf("with transcripts again: %s", rows)
	}
}
