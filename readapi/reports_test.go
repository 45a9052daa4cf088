package readapi

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// The window that the tests' rows lie in. It ends before the watermark.
const (
	windowFrom = "2026-03-01T00:00:00Z"
	windowTo   = "2026-03-02T00:00:00Z"
)

// The identifiers that the full report row refers to.
const (
	groupID          = "a0000000-0000-4000-8000-000000000001"
	answeredID       = "e0000000-0000-4000-8000-000000000001"
	fromID           = "e0000000-0000-4000-8000-000000000002"
	representativeID = "c0000000-0000-4000-8000-000000000001"
)

// What is stored as JSON is served to the byte.
const (
	storedTags  = `[ {"id" : "d0000000-0000-4000-8000-000000000001", "name":"VIP \u0041", "group":"g", "color":"#F00", "source":"rule", "confidence":1.0} ]`
	storedTurns = `[ {"text":"Hi","speaker":{"kind":"numbered","ordinal":1},"startSeconds":null, "endSeconds":1.50,"confidence":null} ]`
)

// reportQuery is a window's query with more parameters: name, value, name, value.
func reportQuery(more ...string) string {
	values := url.Values{"dateFrom": {windowFrom}, "dateTo": {windowTo}}
	for i := 0; i < len(more); i += 2 {
		values.Set(more[i], more[i+1])
	}
	return values.Encode()
}

func reportPath(system uuid.UUID, query string) string {
	return "/customer/phone-systems/" + system.String() + "/call-log-reports?" + query
}

// reportPage is a page of report rows as its clients see it.
type reportPage struct {
	Data []struct {
		ID                  uuid.UUID       `json:"id"`
		TranscriptionStatus string          `json:"transcriptionStatus"`
		Transcript          json.RawMessage `json:"transcript"`
	} `json:"data"`
	NextCursor *string `json:"nextCursor"`
	HasMore    bool    `json:"hasMore"`
}

// named adds what the full report row refers to.
func (h *harness) named(system uuid.UUID) {
	h.Helper()
	h.exec(`insert into projection.call_group (system_id, id, version, name, number, status, created_at, updated_at, members, ring_pattern)
		values ($1, '`+groupID+`', 1, 'Sales', '600', 'active', now(), '2026-01-01', '[]', 'all')`, system)
	h.exec(`insert into projection.extension (system_id, id, version, number, name, status, created_at, updated_at, assigned_phones)
		values ($1, '`+answeredID+`', 1, '101', 'Zoë "Z" \ Ångström', 'active', now(), '2026-01-02', '[]'),
		  ($1, '`+fromID+`', 1, '102', 'Kitchen', 'inactive', now(), '2026-01-03', '[]')`, system)
	h.exec(`insert into projection.representative (system_id, id, version, name, status, updated_at)
		values ($1, '`+representativeID+`', 1, 'Ann', 'active', '2026-01-04')`, system)
}

// define adds a definition of a code; the zero system's is the global one.
func (h *harness) define(system uuid.UUID, kind, code, label string, score *float64) {
	h.Helper()
	h.exec(`insert into projection.classification (system_id, kind, code, version, label, status, score, updated_at)
		values ($1, $2, $3, 1, $4, 'active', $5, '2026-01-05')`, system, kind, code, label, score)
}

// reported makes a call's report row a full one, with a value in every column.
func (h *harness) reported(id uuid.UUID) {
	h.Helper()
	h.exec(`update projection.call_log set
		  updated_at = '2026-03-01T12:00:00.999Z', parent_call_sid = 'CA0', outcome = 'answered', from_display = '(555) 000-1',
		  from_number = '+15550001', from_name = $2, to_display = '(555) 000-2', to_number = '+15550002', forwarded_from = '+15550003',
		  start_time = '2026-03-01T09:30:01.05Z', end_time = '2026-03-01T09:31:00.999Z', duration = 59, is_emergency = true,
		  is_converted = true, is_edited = true, conversion_value = '1200.50', call_outcome_code = 'sale', outcome_source = 'manual',
		  route_summary = 'Menu > Sales', tags = '`+storedTags+`',
		  recording_sid = 'RE1', recording_duration = 58, category = 'new_lead', overall_sentiment = 'very_positive',
		  overall_sentiment_score = 0.1, employee_sentiment = 'neutral', customer_sentiment = 'very_negative', sentiment_source = 'model',
		  scorecard_score = 88.5, representative_state = 'identified', representative_id = '`+representativeID+`',
		  representative_confidence = 1e-7, representative_source = 'voice', call_group_id = '`+groupID+`',
		  answered_by_extension_id = '`+answeredID+`', from_extension_id = '`+fromID+`', transcription_status = 'completed',
		  transcript_text_bytes = 2, transcript_turns_bytes = 30
		where id = $1`, id, nasty)
	h.exec(`insert into projection.transcript_text (system_id, owner, owner_id, text, turns)
		select system_id, 'call', id, 'Hi', '`+storedTurns+`' from projection.call_log where id = $1`, id)
}

// fullReport is the body's row of a reported call, transcript aside, with its members in the contract's order.
func fullReport(system, id uuid.UUID) string {
	name, _ := json.Marshal(nasty)
	return strings.NewReplacer("\n", "", "\t", "", "ID!", id.String(), "SYSTEM!", system.String(), "NASTY!", string(unescapedHTML(name))).Replace(
		`{"id":"ID!","phoneSystemId":"SYSTEM!","callSid":"CA1","parentCallSid":"CA0","direction":"inbound",
		"startTime":"2026-03-01T09:30:01.050Z","endTime":"2026-03-01T09:31:00.999Z","durationSeconds":59,
		"createdAt":"2026-03-01T09:30:00.000Z","updatedAt":"2026-03-01T12:00:00.999Z",
		"from":"+15550001","fromDisplay":"(555) 000-1","fromNumber":"+15550001","fromName":NASTY!,
		"to":"+15550002","toDisplay":"(555) 000-2","toNumber":"+15550002","forwardedFrom":"+15550003",
		"status":"completed","outcome":"answered","callOutcomeCode":"sale","isConverted":true,"conversionValue":"1200.50",
		"outcomeSource":"manual","category":{"code":"new_lead","label":"New lead"},
		"overallSentiment":{"code":"very_positive","label":"Very positive","score":0.1},
		"employeeSentiment":{"code":"neutral","label":"Neutral","score":null},
		"customerSentiment":{"code":"very_negative","label":"Very negative","score":null},
		"sentimentSource":"model","scorecardScore":88.5,
		"representative":{"id":"` + representativeID + `","name":"Ann","state":"identified","confidence":1e-7,"source":"voice"},
		"hasRecording":true,"recordingSid":"RE1","recordingDurationSeconds":58,"transcriptionStatus":"completed",
		"callGroup":{"id":"` + groupID + `","name":"Sales","number":"600"},
		"answeredByExtension":{"id":"` + answeredID + `","name":"Zoë \"Z\" \\ Ångström","number":"101"},
		"fromExtension":{"id":"` + fromID + `","name":"Kitchen","number":"102"},"isEmergency":true,"isEdited":true,
		"tags":` + storedTags + `,"routeSummary":"Menu > Sales"}`)
}

// unescapedHTML takes back what encoding/json escapes for HTML pages and JavaScript, and writes control characters as here.
func unescapedHTML(text []byte) []byte {
	return []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028").Replace(string(text)))
}

func bareReport(system, id uuid.UUID) string {
	return strings.NewReplacer("\n", "", "\t", "", "ID!", id.String(), "SYSTEM!", system.String()).Replace(
		`{"id":"ID!","phoneSystemId":"SYSTEM!","callSid":"CA2","parentCallSid":null,"direction":"inbound",
		"startTime":null,"endTime":null,"durationSeconds":null,
		"createdAt":"2026-03-01T09:30:00.000Z","updatedAt":"2026-03-01T09:30:00.000Z",
		"from":"+15550001","fromDisplay":null,"fromNumber":null,"fromName":null,
		"to":"+15550002","toDisplay":null,"toNumber":null,"forwardedFrom":null,
		"status":"completed","outcome":null,"callOutcomeCode":null,"isConverted":false,"conversionValue":null,"outcomeSource":null,
		"category":null,"overallSentiment":null,"employeeSentiment":null,"customerSentiment":null,"sentimentSource":null,
		"scorecardScore":null,"representative":{"id":null,"name":null,"state":"not_analyzed","confidence":null,"source":null},
		"hasRecording":false,"recordingSid":null,"recordingDurationSeconds":null,"transcriptionStatus":"unavailable",
		"callGroup":null,"answeredByExtension":null,"fromExtension":null,"isEmergency":false,"isEdited":false,"tags":[],
		"routeSummary":null}`)
}

// The row has every field of the contract, in its order, and the transcript exactly where it was asked for.
func TestListCallLogReports_Row(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	full, bare := call{id: nth(1), sid: "CA1", createdAt: at("2026-03-01T09:30:00Z")}, call{id: nth(2), sid: "CA2", createdAt: at("2026-03-01T09:30:00Z")}
	h.calls(system, full, bare)
	h.named(system)
	h.reported(full.id)
	key := h.key(system)
	row := fullReport(system, full.id)
	for query, want := range map[string]string{
		reportQuery(): row + "," + bareReport(system, bare.id),
		reportQuery("includeTranscripts", "false"): row + "," + bareReport(system, bare.id),
		reportQuery("includeTranscripts", "true"): strings.TrimSuffix(row, "}") + `,"transcript":{"text":"Hi","turns":` + storedTurns + `}},` +
			strings.TrimSuffix(bareReport(system, bare.id), "}") + `,"transcript":null}`,
	} {
		w := h.get(reportPath(system, query), withKey(key))
		got, rest, _ := strings.Cut(w.Body.String(), `],"nextCursor":"`)
		if w.Code != 200 || got != `{"data":[`+want || !strings.HasSuffix(rest, `","hasMore":false}`) {
			t.Errorf("%s: %d\n%s\nwant\n%s", query, w.Code, w.Body, want)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/json", "Cache-Control": "no-store", "Data-Complete-Through": watermark, "ETag": "", "Link": "",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

// nth is the n-th of identifiers in ascending order.
func nth(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) }

// What a member of the full row becomes after a change: references and labels are resolved when the row is read.
func TestListCallLogReports_Resolved(t *testing.T) {
	h := newHarness(t)
	system, other := h.system("one"), h.system("two")
	c := call{id: nth(1), sid: "CA1", createdAt: at("2026-03-01T09:30:00Z")}
	h.calls(system, c)
	h.named(system)
	h.named(other)
	h.reported(c.id)
	h.define(other, "category", "new_lead", "Another's", nil)
	key := h.key(system)
	for _, c := range []struct{ change, member, want string }{
		{"update call_group set name = 'Verkauf', number = '601'", "callGroup", `{"id":"` + groupID + `","name":"Verkauf","number":"601"}`},
		{"delete from call_group where system_id = $1", "callGroup", "null"},
		{"update extension set name = 'Moved'", "fromExtension", `{"id":"` + fromID + `","name":"Moved","number":"102"}`},
		{"update extension set status = 'deleted-looking'", "answeredByExtension", `{"id":"` + answeredID + `","name":"Moved","number":"101"}`},
		{"delete from extension where system_id = $1 and number = '101'", "answeredByExtension", "null"},
		{"select $1::uuid", "fromExtension", `{"id":"` + fromID + `","name":"Moved","number":"102"}`},
		{"delete from extension where system_id = $1", "fromExtension", "null"},
		{"update call_log set call_group_id = null", "callGroup", "null"},

		{"update representative set name = 'Anna'", "representative", `{"id":"` + representativeID + `","name":"Anna","state":"identified","confidence":1e-7,"source":"voice"}`},
		{"delete from representative where system_id = $1", "representative", "null"},
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
		if len(page.Data) != 1 || string(page.Data[0][c.member]) != c.want {
			t.Errorf("after %s: %s, want %s", c.change, page.Data[0][c.member], c.want)
		}
	}
}

// change runs a statement on the projection; $1 is the system, if it is named, and zero() the owner of global definitions.
func (h *harness) change(sql string, system uuid.UUID) {
	h.Helper()
	sql = strings.NewReplacer("zero()", "'"+uuid.Nil.String()+"'", "$1", "'"+system.String()+"'").Replace(sql)
	h.exec("begin; set local search_path to projection; " + sql + "; commit")
}

// Text is served exactly where the status is completed, and that is said exactly where text is stored.
func TestListCallLogReports_Transcript(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	c := call{id: nth(1), sid: "CA1", createdAt: at("2026-03-01T09:30:00Z")}
	h.calls(system, c)
	h.reported(c.id)
	key := h.key(system)
	const hi = `{"text":"Hi","turns":` + storedTurns + `}`
	for _, c := range []struct{ change, status, transcript string }{
		{"select 1", "completed", hi},
		{"insert into transcript_text select system_id, 'voicemail', owner_id, 'of a voicemail', '[]' from transcript_text", "completed", hi},
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
				t.Errorf("after %s, includeTranscripts=%s: %s %s, want %s %s", c.change, include, row.TranscriptionStatus, row.Transcript, c.status, want)
			}
		}
	}
}

// A key narrowed to one person's calls is refused before any reporting data is read.
func TestReports_Narrowed(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system, narrowedTo(h.extension(system)))
	defer h.held("call_log", "reference_count", "position")()
	for _, path := range []string{reportPath(system, reportQuery()), dimensionsPath(system)} {
		if w := h.get(path, withKey(key)); w.Code != 403 || problemIn(t, w).Code != "INSUFFICIENT_SCOPE" {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

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
func (h *harness) spoken(id uuid.UUID, character string, count int) {
	h.Helper()
	h.exec("delete from projection.transcript_text where owner_id = $1", id)
	h.exec(`insert into projection.transcript_text (system_id, owner, owner_id, text, turns)
		select system_id, 'call', id, repeat($2, $3), '[]' from projection.call_log where id = $1`, id, character, count)
	h.exec(`update projection.call_log c set transcription_status = 'completed', transcript_text_bytes = octet_length(t.text), transcript_turns_bytes = 2
		from projection.transcript_text t where c.id = $1 and t.owner_id = c.id`, id)
}

func (h *harness) spokenCalls(count int) (system uuid.UUID, key access.IssuedKey) {
	h.Helper()
	system = h.system("one")
	for i := range count {
		h.calls(system, call{id: nth(i), sid: "CA1", createdAt: at(windowFrom)})
	}
	return system, h.key(system)
}

// A body may have 5,500,000 bytes as it is sent, escaping counted, and not one more.
func TestListCallLogReports_BodySize(t *testing.T) {
	h := newHarness(t)
	system, key := h.spokenCalls(1)
	path := reportPath(system, reportQuery("includeTranscripts", "true"))
	for character, escaped := range map[string]int{"\x01": 6, "\"": 2, "a": 1, "é": 2} {
		h.spoken(nth(0), character, 0)
		h.exec("update projection.call_log set route_summary = null")
		rest := maxReportBody - h.get(path, withKey(key)).Body.Len()
		h.spoken(nth(0), character, rest/escaped)
		under := h.get(path, withKey(key))
		if under.Code != 200 || under.Body.Len() < maxReportBody-escaped {
			t.Fatalf("%q: %d, %d bytes", character, under.Code, under.Body.Len())
		}
		padding := maxReportBody - under.Body.Len() + len("null") - len(`""`)
		h.exec("update projection.call_log set route_summary = repeat('x', $1)", padding)
		if w := h.get(path, withKey(key)); w.Code != 200 || w.Body.Len() != maxReportBody {
			t.Errorf("%q: %d, %d bytes", character, w.Code, w.Body.Len())
		}
		h.exec("update projection.call_log set route_summary = repeat('x', $1)", padding+1)
		params := tooLargeIn(t, h.get(path, withKey(key)))
		if len(params) != 2 || params["actualBytes"] != float64(maxReportBody+1) || params["maxBytes"] != float64(maxReportBody) {
			t.Errorf("%q: %v", character, params)
		}
		if w := h.get(reportPath(system, reportQuery()), withKey(key)); w.Code != 200 {
			t.Errorf("%q, without transcripts: %d", character, w.Code)
		}
	}
}

// A page may have 8,000,000 bytes of stored transcripts. Beyond that no text is read; what a page does not show does not count.
func TestListCallLogReports_StoredSize(t *testing.T) {
	h := newHarness(t)
	system, key := h.spokenCalls(3)
	path := reportPath(system, reportQuery("includeTranscripts", "true"))
	for i := range 3 {
		h.spoken(nth(i), "a", 8)
	}
	stored := func(bytes ...int) {
		for i, n := range bytes {
			h.exec("update projection.call_log set transcript_text_bytes = $2, transcript_turns_bytes = $3 where id = $1", nth(i), n/3, n-n/3)
		}
	}
	stored(4_000_000, 3_999_999, 1)
	if w := h.get(path, withKey(key)); w.Code != 200 || strings.Count(w.Body.String(), `"aaaaaaaa"`) != 3 {
		t.Errorf("at the limit: %d %s", w.Code, w.Body)
	}
	stored(4_000_000, 3_999_999, 2)
	params := tooLargeIn(t, h.get(path, withKey(key)))
	if len(params) != 4 || params["guard"] != "stored_transcripts" || params["storedBytes"] != 8_000_001.0 || params["limitBytes"] != 8_000_000.0 || params["rowCount"] != 3.0 {
		t.Errorf("above the limit: %v", params)
	}
	if w := h.get(path+"&limit=2", withKey(key)); w.Code != 200 || strings.Count(w.Body.String(), `"aaaaaaaa"`) != 2 {
		t.Errorf("with a smaller limit: %d %s", w.Code, w.Body)
	}
	if w := h.get(reportPath(system, reportQuery()), withKey(key)); w.Code != 200 {
		t.Errorf("without transcripts: %d", w.Code)
	}
	stored(2_000_000_000, 2_000_000_000, 2_000_000_000)
	if params := tooLargeIn(t, h.get(path, withKey(key))); params["storedBytes"] != 6e9 {
		t.Errorf("far above the limit: %v", params)
	}
}

// A refused cursor is replayed without transcripts: the guard is no dead end.
func TestListCallLogReports_Recovery(t *testing.T) {
	h := newHarness(t)
	system, key := h.spokenCalls(3)
	h.spoken(nth(1), "a", 8_000_000)
	path := reportPath(system, reportQuery("limit", "1"))
	first := h.cursorOf(path, key)
	if params := tooLargeIn(t, h.get(path+"&includeTranscripts=true&cursor="+first, withKey(key))); params["rowCount"] != 1.0 {
		t.Errorf("%v", params)
	}
	rows, second := h.seen(path+"&cursor="+first, key)
	if rows != "1+" {
		t.Errorf("without transcripts: %s", rows)
	}
	if rows, _ = h.seen(path+"&includeTranscripts=true&cursor="+second, key); rows != "2" {
		t.Errorf("with transcripts again: %s", rows)
	}
}

// The rules of the report list's parameters, as the problems that they make: pointer and code, in order.
func TestListCallLogReports_Parameters(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	window := "dateFrom=" + windowFrom + "&dateTo=" + windowTo
	for query, want := range map[string]string{
		"":                                            "/dateFrom REQUIRED, /dateTo REQUIRED",
		"dateFrom=" + windowFrom:                      "/dateTo REQUIRED",
		"dateTo=" + windowTo:                          "/dateFrom REQUIRED",
		"dateFrom=&dateTo=" + windowTo:                "/dateFrom INVALID_FORMAT",
		"dateFrom=x&dateTo=y":                         "/dateFrom INVALID_FORMAT, /dateTo INVALID_FORMAT",
		window:                                        "",
		window + "&dateTo=" + windowTo:                "/dateTo REPEATED",
		window + "&pageSize=10":                       "/pageSize UNKNOWN_PARAMETER",
		window + "&page=1":                            "/page UNKNOWN_PARAMETER",
		window + "&timeField=createdAt":               "",
		window + "&timeField=updatedAt":               "",
		window + "&timeField=startTime":               "/timeField NOT_ALLOWED",
		window + "&timeField=CreatedAt":               "/timeField NOT_ALLOWED",
		window + "&timeField=":                        "/timeField INVALID_FORMAT",
		window + "&limit=1":                           "",
		window + "&limit=100":                         "",
		window + "&limit=0":                           "/limit TOO_SMALL",
		window + "&limit=101":                         "/limit TOO_LARGE",
		window + "&limit=x":                           "/limit INVALID_FORMAT",
		window + "&limit=1&limit=1":                   "/limit REPEATED",
		window + "&includeTranscripts=":               "/includeTranscripts INVALID_FORMAT",
		window + "&includeTranscripts=1":              "/includeTranscripts INVALID_FORMAT",
		window + "&includeTranscripts=TRUE":           "/includeTranscripts INVALID_FORMAT",
		window + "&includeTranscripts=true&limit=25":  "",
		window + "&includeTranscripts=true&limit=26":  "/limit TOO_LARGE",
		window + "&includeTranscripts=false&limit=26": "",
		window + "&cursor=":                           "/cursor INVALID_FORMAT",
		window + "&cursor=x":                          "/cursor CURSOR_INVALID",
		"cursor=x":                                    "/dateFrom REQUIRED, /dateTo REQUIRED, /cursor CURSOR_INVALID",
		"dateFrom=2026-03-01T00:00:00Z&dateTo=2026-03-01T00:00:00%2B00:00":                "",
		"dateFrom=2026-03-01T00:00:00Z&dateTo=2026-03-01T01:00:00%2B01:00":                "/dateTo INVALID_FORMAT",
		"dateFrom=2026-03-01T00:00:00.001Z&dateTo=2026-03-01T00:00:00Z":                   "/dateTo TOO_SMALL",
		"dateFrom=2026-03-01T00:00:00.0000000002Z&dateTo=2026-03-01T00:00:00.0000000001Z": "/dateTo TOO_SMALL",
		"dateFrom=0000-01-01T00:00:00Z&dateTo=9999-12-31T23:59:59.9999Z":                  "",
	} {
		w := h.get(reportPath(system, query), withKey(key))
		if want == "" {
			if w.Code != 200 {
				t.Errorf("%s: %d %s", query, w.Code, w.Body)
			}
			continue
		}
		if problem := problemIn(t, w); w.Code != 400 || problem.Code != "VALIDATION_FAILED" || summary(problem.Errors) != want {
			t.Errorf("%s: %d %s, want %s", query, w.Code, summary(problem.Errors), want)
		}
	}
}

// The window is half open, to any fraction of a second.
func TestListCallLogReports_Window(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	var calls []call
	for i, created := range []string{"09:29:59.999", "09:30:00", "09:30:00.001", "09:30:00.002"} {
		calls = append(calls, call{id: nth(i), sid: "CA1", createdAt: at("2026-03-01T" + created + "Z")})
	}
	h.calls(system, calls...)
	h.exec("update projection.call_log set updated_at = created_at + interval '1 hour'")
	key := h.key(system)
	for window, want := range map[string]string{
		"09:30:00 09:30:00.002":          "12",
		"09:30:00 09:30:00":              "",
		"09:30:00 09:30:00.0000001":      "1",
		"09:30:00.0000001 09:30:00.001":  "",
		"09:30:00.0000001 09:30:00.0011": "2",
		"09:29:59.999 09:30:00.00200":    "012",
		"09:29:59.9989 09:30:00.002001":  "0123",
	} {
		from, to, _ := strings.Cut(window, " ")
		for field, hour := range map[string]string{"createdAt": "09", "updatedAt": "10"} {
			moved := strings.NewReplacer("09:", hour+":")
			query := reportQuery("timeField", field, "dateFrom", "2026-03-01T"+moved.Replace(from)+"Z", "dateTo", "2026-03-01T"+moved.Replace(to)+"Z")
			var page reportPage
			decode(t, h.get(reportPath(system, query), withKey(key)), &page)
			var got strings.Builder
			for _, row := range page.Data {
				got.WriteByte(row.ID.String()[35])
			}
			if got.String() != want || page.HasMore {
				t.Errorf("%s: rows %q, want %q", query, &got, want)
			}
		}
	}
}

// A system outside the grant is not there.
func TestListCallLogReports_NotFound(t *testing.T) {
	h := newHarness(t)
	key := h.key(h.system("one"))
	if w := h.get(reportPath(uuid.New(), reportQuery()), withKey(key)); w.Code != 404 || problemIn(t, w).Code != "NOT_FOUND" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
