package readapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// The window of the tests' rows. It ends before the watermark.
const (
	windowFrom = "2026-03-01T00:00:00Z"
	windowTo   = "2026-03-02T00:00:00Z"
)

// The references of the full report row.
const (
	groupID          = "a0000000-0000-4000-8000-000000000001"
	answeredID       = "e0000000-0000-4000-8000-000000000001"
	fromID           = "e0000000-0000-4000-8000-000000000002"
	representativeID = "c0000000-0000-4000-8000-000000000001"
)

// Stored JSON, which is returned byte for byte.
const (
	storedTags  = `[ {"id" : "d0000000-0000-4000-8000-000000000001", "name":"VIP \u0041", "group":"g", "color":"#F00", "source":"rule", "confidence":1.0} ]`
	storedTurns = `[ {"text":"Hi","speaker":{"kind":"numbered","ordinal":1},"startSeconds":null, "endSeconds":1.50,"confidence":null} ]`
)

// reportQuery is the query string of a window. The other parameters are given as name, value, name, value.
func reportQuery(more ...string) string {
	values := url.Values{"dateFrom": {windowFrom}, "dateTo": {windowTo}}
	for i := 0; i < len(more); i += 2 {
		values.Set(more[i], more[i+1])
	}
	return values.Encode()
}

func reportPath(system uuid.UUID, query string) string {
	return systemPath(system, "/call-log-reports?"+query)
}

// reportPage is the body of a report page.
type reportPage struct {
	Data []struct {
		ID                  uuid.UUID       `json:"id"`
		TranscriptionStatus string          `json:"transcriptionStatus"`
		Transcript          json.RawMessage `json:"transcript"`
	} `json:"data"`
	NextCursor *string `json:"nextCursor"`
	HasMore    bool    `json:"hasMore"`
}

// directory adds the references of the full report row.
func (h *harness) directory(system uuid.UUID) {
	h.Helper()
	insertRows(h, h.pool, "call_group",
		columns{"system_id": system, "id": groupID, "name": "Sales", "number": "600", "updated_at": "2026-01-01T00:00:00Z"})
	insertRows(h, h.pool, "extension",
		columns{"system_id": system, "id": answeredID, "number": "101", "name": `Zoë "Z" \ Ångström`, "updated_at": "2026-01-02T00:00:00Z"},
		columns{"system_id": system, "id": fromID, "number": "102", "name": "Kitchen", "status": "inactive", "updated_at": "2026-01-03T00:00:00Z"})
	h.exec(`insert into projection.representative (system_id, id, version, name, status, updated_at)
		values ($1, '`+representativeID+`', 1, 'Ann', 'active', '2026-01-04')`, system)
}

// classify adds the classification of a code. That of the zero system is global.
func (h *harness) classify(system uuid.UUID, kind, code, label string, score *float64) {
	h.Helper()
	h.exec(`insert into projection.classification (system_id, kind, code, version, label, status, score, updated_at)
		values ($1, $2, $3, 1, $4, 'active', $5, '2026-01-05')`, system, kind, code, label, score)
}

// fullReport gives a call a value in every column of its report row but that of employeeSentiment's score.
func (h *harness) fullReport(id uuid.UUID) {
	h.Helper()
	h.exec(`update projection.call_log set
		  updated_at = '2026-03-01T12:00:00.999Z', parent_call_sid = 'CA0', outcome = 'answered', from_display = '(555) 000-1',
		  from_number = '+15550001', from_name = $2, to_display = '(555) 000-2', to_number = '+15550002', forwarded_from = '+15550003',
		  start_time = '2026-03-01T09:30:01.05Z', end_time = '2026-03-01T09:31:00.999Z', duration = 59, is_emergency = true,
		  is_converted = true, is_edited = false, conversion_value = '1200.50', call_outcome_code = 'sale', outcome_source = 'manual',
		  route_summary = 'Menu > Sales', tags = '`+storedTags+`',
		  recording_sid = 'RE1', recording_duration = 58, category = 'new_lead', overall_sentiment = 'very_positive',
		  overall_sentiment_score = 0.1, employee_sentiment = 'neutral', customer_sentiment = 'very_negative', customer_sentiment_score = -0.3, sentiment_source = 'model',
		  scorecard_score = 88.5, representative_state = 'identified', representative_id = '`+representativeID+`',
		  representative_confidence = 1e-7, representative_source = 'voice', call_group_id = '`+groupID+`',
		  answered_by_extension_id = '`+answeredID+`', from_extension_id = '`+fromID+`', transcription_status = 'completed',
		  transcript_text_bytes = 2, transcript_turns_bytes = 30
		where id = $1`, id, nasty)
	h.exec(`insert into projection.transcript_text (system_id, owner, owner_id, text, turns)
		select system_id, 'call', id, 'Hi', '`+storedTurns+`' from projection.call_log where id = $1`, id)
}

// nth is the n-th of a sequence of ascending identifiers.
func nth(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) }

// References and labels are resolved when the row is read. Each case changes the tables and expects a member of the
// full row.
func TestListCallLogReports_Resolved(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system, other := h.system("one"), h.system("two")
	c := call{id: nth(1), sid: "CA1", createdAt: at("2026-03-01T09:30:00Z")}
	h.calls(system, c)
	h.directory(system)
	h.directory(other)
	h.fullReport(c.id)
	h.classify(other, "category", "new_lead", "Another's", nil)
	key := h.key(system)
	for _, c := range []struct{ change, member, want string }{
		{"update topology set name = 'Verkauf', number = '601' where kind = 'call-group'", "callGroup", `{"id":"` + groupID + `","name":"Verkauf","number":"601"}`},
		{"delete from topology where kind = 'call-group' and system_id = $1", "callGroup", `{"id":"` + groupID + `","name":"Call group a0000000","number":""}`},
		{buried("call-group", groupID), "callGroup", "null"},
		{"delete from tombstone where system_id = $1", "callGroup", `{"id":"` + groupID + `","name":"Call group a0000000","number":""}`},
		{"update topology set name = 'Moved' where kind = 'extension'", "fromExtension", `{"id":"` + fromID + `","name":"Moved","number":"102"}`},
		{"update topology set status = 'deleted-looking' where kind = 'extension'", "answeredByExtension", `{"id":"` + answeredID + `","name":"Moved","number":"101"}`},
		{"delete from topology where kind = 'extension' and system_id = $1 and number = '101'", "answeredByExtension", `{"id":"` + answeredID + `","name":"Extension e0000000","number":""}`},
		{"select $1::uuid", "fromExtension", `{"id":"` + fromID + `","name":"Moved","number":"102"}`},
		{"delete from topology where kind = 'extension' and system_id = $1; " + buried("extension", fromID), "fromExtension", "null"},
		{"select $1::uuid", "answeredByExtension", `{"id":"` + answeredID + `","name":"Extension e0000000","number":""}`},
		{"update call_log set call_group_id = null", "callGroup", "null"},

		{"update representative set name = 'Anna'", "representative", `{"id":"` + representativeID + `","name":"Anna","state":"identified","confidence":1e-7,"source":"voice"}`},
		{"delete from representative where system_id = $1", "representative", `{"id":"` + representativeID + `","name":"Representative c0000000","state":"identified","confidence":1e-7,"source":"voice"}`},
		{buried("representative", representativeID), "representative", "null"},
		{"update call_log set representative_id = null", "representative", "null"},
		{"update call_log set representative_state = 'unknown'", "representative", `{"id":null,"name":null,"state":"unknown","confidence":1e-7,"source":"voice"}`},
		{"update call_log set representative_state = 'not_analyzed', representative_confidence = null, representative_source = null", "representative", `{"id":null,"name":null,"state":"not_analyzed","confidence":null,"source":null}`},

		{"insert into classification values (zero(), 'category', 'new_lead', 1, 'Lead', 'active', null, now())", "category", `{"code":"new_lead","label":"Lead"}`},
		{"insert into classification values ($1, 'category', 'new_lead', 1, 'Our lead', 'inactive', null, now())", "category", `{"code":"new_lead","label":"Our lead"}`},
		{"update classification set label = E'\\u2003 \\t' where system_id = $1", "category", `{"code":"new_lead","label":"New lead"}`},
		{"update call_log set category = '___'", "category", `{"code":"___","label":"___"}`},
		{"insert into classification values (zero(), 'overall_sentiment', 'very_positive', 1, 'Great', 'active', 0.75, now())", "overallSentiment", `{"code":"very_positive","label":"Great","score":0.1}`},
		{"update call_log set overall_sentiment_score = null", "overallSentiment", `{"code":"very_positive","label":"Great","score":0.75}`},
		{"insert into classification values ($1, 'overall_sentiment', 'very_positive', 1, '', 'active', null, now())", "overallSentiment", `{"code":"very_positive","label":"Very positive","score":null}`},
		{"insert into classification values (zero(), 'overall_sentiment', 'neutral', 1, 'Of another kind', 'active', 1, now())", "employeeSentiment", `{"code":"neutral","label":"Neutral","score":null}`},
		{"update call_log set customer_sentiment_score = -0.0000001", "customerSentiment", `{"code":"very_negative","label":"Very negative","score":-1e-7}`},
		{"update call_log set customer_sentiment = null", "customerSentiment", "null"},
		{"update call_log set recording_sid = null", "hasRecording", "false"},
	} {
		h.change(c.change, system)
		var page struct{ Data []map[string]json.RawMessage }
		decode(t, h.get(reportPath(system, reportQuery()), withKey(key)), &page)
		if len(page.Data) != 1 {
			t.Fatalf("after %s: rows = %d, want 1", c.change, len(page.Data))
		}
		if got := string(page.Data[0][c.member]); got != c.want {
			t.Errorf("after %s: %s = %s, want %s", c.change, c.member, got, c.want)
		}
	}
}

// buried inserts the tombstone of an entity of the system.
func buried(entity, id string) string {
	return fmt.Sprintf("insert into tombstone (system_id, entity, key, version, owner, owner_id) values ($1, '%s', '%s', 9, '', zero())", entity, id)
}

// change runs a statement on the projection, as a commit that changes names. $1 is the system, and zero() that of
// global classifications.
func (h *harness) change(sql string, system uuid.UUID) {
	h.Helper()
	sql = strings.NewReplacer("zero()", "'"+uuid.Nil.String()+"'", "$1", "'"+system.String()+"'").Replace(sql)
	h.exec("begin; set local search_path to projection; " + sql + `;
		update phone_system set directory = directory + 1 where id = '` + system.String() + `'; commit`)
}

// A transcript is returned if the status is completed, and the status is completed only if text is stored.
func TestListCallLogReports_Transcript(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	c := call{id: nth(1), sid: "CA1", createdAt: at("2026-03-01T09:30:00Z")}
	h.calls(system, c)
	h.fullReport(c.id)
	key := h.key(system)
	const hi = `{"text":"Hi","turns":` + storedTurns + `}`
	for _, c := range []struct{ change, status, transcript string }{
		{"select 1", "completed", hi},
		{"insert into transcript_text (system_id, owner, owner_id, text, turns) select system_id, 'voicemail', owner_id, 'of a voicemail', '[]' from transcript_text", "completed", hi},
		{"update call_log set transcription_status = 'processing'", "processing", "null"},
		{"update call_log set transcription_status = 'failed'", "failed", "null"},
		{"update call_log set transcription_status = 'unavailable'", "unavailable", "null"},
		{"update call_log set transcription_status = 'completed'; update transcript_text set text = '', turns = '[]'", "completed", `{"text":"","turns":[]}`},
		{"update call_log set transcript_text_bytes = null; delete from transcript_text where owner = 'call'", "unavailable", "null"},
	} {
		h.change(c.change, system)
		for _, include := range []string{"false", "true"} {
			var page reportPage
			decode(t, h.get(reportPath(system, reportQuery("includeTranscripts", include)), withKey(key)), &page)
			want := ""
			if include == "true" {
				want = c.transcript
			}
			if row := page.Data[0]; row.TranscriptionStatus != c.status || string(row.Transcript) != want {
				t.Errorf("after %s, includeTranscripts=%s: status, transcript = %s, %s, want %s, %s", c.change, include, row.TranscriptionStatus, row.Transcript, c.status, want)
			}
		}
	}
}

// expectTooLarge checks a 413 and its params.
func (h *harness) expectTooLarge(w *httptest.ResponseRecorder, params map[string]any) {
	h.Helper()
	h.expectCode("response", w, exportTooLarge)
	if got := problemIn(h, w); got.Retryable || !maps.Equal(got.Params, params) {
		h.Errorf("retryable = %t, params = %v, want false, %v", got.Retryable, got.Params, params)
	}
}

// transcribe gives a call a transcript of a repeated character, and the sizes that the projector stores.
func (h *harness) transcribe(id uuid.UUID, character string, count int) {
	h.Helper()
	h.exec("delete from projection.transcript_text where owner_id = $1", id)
	h.exec(`insert into projection.transcript_text (system_id, owner, owner_id, text, turns)
		select system_id, 'call', id, repeat($2, $3), '[]' from projection.call_log where id = $1`, id, character, count)
	h.exec(`update projection.call_log c set transcription_status = 'completed', transcript_text_bytes = octet_length(t.text), transcript_turns_bytes = 2
		from projection.transcript_text t where c.id = $1 and t.owner_id = c.id`, id)
}

// numberedCalls adds a system with calls.
func (h *harness) numberedCalls(count int) (system uuid.UUID, key access.IssuedKey) {
	h.Helper()
	system = h.system("one")
	for i := range count {
		h.calls(system, call{id: nth(i), sid: "CA1", createdAt: at(windowFrom)})
	}
	return system, h.key(system)
}

// The limit of a body is 5,500,000 bytes as sent, with escapes.
func TestListCallLogReports_BodySize(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system, key := h.numberedCalls(1)
	path := reportPath(system, reportQuery("includeTranscripts", "true"))
	h.transcribe(nth(0), "\x01", 0)
	h.exec("update projection.call_log set route_summary = ''")
	rest := maxBody - h.get(path, withKey(key)).Body.Len()
	h.transcribe(nth(0), "\x01", rest/6)
	h.exec("update projection.call_log set route_summary = repeat('x', $1)", rest%6)
	if w := h.get(path, withKey(key)); w.Code != 200 || w.Body.Len() != maxBody {
		t.Errorf("status = %d, body = %d bytes, want %d", w.Code, w.Body.Len(), maxBody)
	}
	h.exec("update projection.call_log set route_summary = repeat('x', $1)", rest%6+1)
	h.expectTooLarge(h.get(path, withKey(key)), map[string]any{"actualBytes": maxBody + 1.0, "maxBytes": maxBody + 0.0})
	h.expectCode("without transcripts", h.get(reportPath(system, reportQuery()), withKey(key)), "")
}

// The limit of a page's stored transcripts is 8,000,000 bytes. Transcripts of rows outside the page don't count.
func TestListCallLogReports_StoredSize(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system, key := h.numberedCalls(3)
	path := reportPath(system, reportQuery("includeTranscripts", "true"))
	for i := range 3 {
		h.transcribe(nth(i), "a", 8)
	}
	stored := func(bytes ...int) {
		for i, n := range bytes {
			h.exec("update projection.call_log set transcript_text_bytes = $2, transcript_turns_bytes = $3 where id = $1", nth(i), n/3, n-n/3)
		}
	}
	stored(4_000_000, 3_999_999, 1)
	if w := h.get(path, withKey(key)); w.Code != 200 || strings.Count(w.Body.String(), `"aaaaaaaa"`) != 3 {
		t.Errorf("at the limit: response = %d %s, want all 3 texts", w.Code, w.Body)
	}
	stored(4_000_000, 3_999_999, 2)
	params := map[string]any{"guard": "stored_transcripts", "storedBytes": 8_000_001.0, "limitBytes": 8_000_000.0, "rowCount": 3.0}
	h.expectTooLarge(h.get(path, withKey(key)), params)
	if w := h.get(path+"&limit=2", withKey(key)); w.Code != 200 || strings.Count(w.Body.String(), `"aaaaaaaa"`) != 2 {
		t.Errorf("with a smaller limit: response = %d %s, want 2 texts", w.Code, w.Body)
	}
	h.expectCode("without transcripts", h.get(reportPath(system, reportQuery()), withKey(key)), "")
	stored(2_000_000_000, 2_000_000_000, 2_000_000_000)
	params["storedBytes"] = 6e9
	h.expectTooLarge(h.get(path, withKey(key)), params)
}
