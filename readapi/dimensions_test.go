package readapi

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

func dimensionsPath(system uuid.UUID) string {
	return "/customer/phone-systems/" + system.String() + "/call-log-reports/dimensions"
}

// refers adds to what retained calls refer to.
func (h *harness) refers(system uuid.UUID, family string, keys ...string) {
	h.Helper()
	for _, key := range keys {
		h.exec("insert into projection.reference_count (system_id, family, key, count) values ($1, $2, $3, 1)", system, family, key)
	}
}

// held locks tables until released, so that whoever reads them waits.
func (h *harness) held(tables ...string) (release func()) {
	h.Helper()
	tx, err := h.pool.Begin(context.Background())
	if err != nil {
		h.Fatal(err)
	}
	for _, table := range tables {
		if _, err := tx.Exec(context.Background(), "lock table projection."+table+" in access exclusive mode"); err != nil {
			h.Fatal(err)
		}
	}
	return func() { _ = tx.Rollback(context.Background()) }
}

const emptyDimensions = `,"callGroups":[],"extensions":[],"handlerEntries":[],"categories":[],"overallSentiments":[],"employeeSentiments":[],"customerSentiments":[]}`

// snapshot is the dimensions' body from the member after generatedAt on.
func (h *harness) snapshot(path string, headers ...header) string {
	h.Helper()
	w := h.get(path, headers...)
	generated, rest, _ := strings.Cut(strings.TrimPrefix(w.Body.String(), `{"generatedAt":"`), `"`)
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", generated); err != nil || w.Code != 200 {
		h.Fatalf("%d %s", w.Code, w.Body)
	}
	return rest
}

// The snapshot has everything that is referred to and nothing else, in the contract's shape and order.
func TestGetCallLogReportDimensions_Body(t *testing.T) {
	h := newHarness(t)
	system, other := h.system("one"), h.system("two")
	key := h.key(system)
	if got := h.snapshot(dimensionsPath(system), withKey(key)); got != emptyDimensions {
		t.Errorf("of nothing: %s", got)
	}
	h.named(system)
	h.named(other)
	h.refers(other, "call_group", groupID)
	score := 0.5
	for _, d := range []struct {
		system            uuid.UUID
		kind, code, label string
		score             *float64
	}{
		{system, "category", "b", "Ours", &score},
		{uuid.Nil, "category", "b", "Global", nil},
		{uuid.Nil, "category", "a", "Global a", nil},
		{other, "category", "c_d", "Another's", nil},
		{system, "category", "unused", "Unused", nil},
		{system, "overall_sentiment", "blank_label", " ", &score},
		{uuid.Nil, "overall_sentiment", "blank_label", "Global", nil},
		{uuid.Nil, "customer_sentiment", "good", "Good", &score},
	} {
		h.define(d.system, d.kind, d.code, d.label, d.score)
	}
	h.refers(system, "call_group", groupID, uuid.NewString())
	h.refers(system, "extension", fromID, answeredID, uuid.NewString())
	h.refers(system, "representative", representativeID)
	h.refers(system, "category", "b", "a", "c_d", "Z")
	h.refers(system, "overall_sentiment", "blank_label")
	h.refers(system, "employee_sentiment", "good")
	h.refers(system, "customer_sentiment", "good", "--")
	h.exec("insert into projection.reference_count (system_id, family, key, count) values ($1, 'category', 'no longer', 0)", system)
	want := strings.NewReplacer("\n", "", "\t", "").Replace(`,
		"callGroups":[{"id":"` + groupID + `","name":"Sales","number":"600","status":"active","updatedAt":"2026-01-01T00:00:00.000Z"}],
		"extensions":[{"id":"` + answeredID + `","name":"Zoë \"Z\" \\ Ångström","number":"101","status":"active","updatedAt":"2026-01-02T00:00:00.000Z"},
		{"id":"` + fromID + `","name":"Kitchen","number":"102","status":"inactive","updatedAt":"2026-01-03T00:00:00.000Z"}],
		"handlerEntries":[{"id":"` + representativeID + `","name":"Ann","status":"active","updatedAt":"2026-01-04T00:00:00.000Z"}],
		"categories":[{"code":"Z","label":"Z","source":"fallback","status":null,"score":null,"updatedAt":null},
		{"code":"a","label":"Global a","source":"global_default","status":"active","score":null,"updatedAt":"2026-01-05T00:00:00.000Z"},
		{"code":"b","label":"Ours","source":"phone_system_override","status":"active","score":null,"updatedAt":"2026-01-05T00:00:00.000Z"},
		{"code":"c_d","label":"C d","source":"fallback","status":null,"score":null,"updatedAt":null}],
		"overallSentiments":[{"code":"blank_label","label":"Blank label","source":"phone_system_override","status":"active","score":0.5,"updatedAt":"2026-01-05T00:00:00.000Z"}],
		"employeeSentiments":[{"code":"good","label":"Good","source":"fallback","status":null,"score":null,"updatedAt":null}],
		"customerSentiments":[{"code":"--","label":"--","source":"fallback","status":null,"score":null,"updatedAt":null},
		{"code":"good","label":"Good","source":"global_default","status":"active","score":0.5,"updatedAt":"2026-01-05T00:00:00.000Z"}]}`)
	if got := h.snapshot(dimensionsPath(system), withKey(key)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Members are in the order of code points, whatever the database's collation is.
func TestGetCallLogReportDimensions_Order(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	codes := []string{"B", "Z", "_", "a", "a-b", "a_b", "ab", "b", "\u00e4", "\uffff", "\U0001F4DE"}
	for i := range codes {
		h.refers(system, "category", codes[(i*7+3)%len(codes)])
	}
	var got struct{ Categories []struct{ Code string } }
	decode(t, h.get(dimensionsPath(system), withKey(h.key(system))), &got)
	for i, c := range got.Categories {
		if c.Code != codes[i] {
			t.Errorf("%d: %q, want %q", i, c.Code, codes[i])
		}
	}
	if len(got.Categories) != len(codes) {
		t.Errorf("%d of %d", len(got.Categories), len(codes))
	}
}

// While nothing but generatedAt differs, the answer is 304; a rename shows at once.
func TestGetCallLogReportDimensions_ETag(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	h.named(system)
	h.refers(system, "call_group", groupID)
	first := h.get(dimensionsPath(system), withKey(key))
	tag := first.Header().Get("ETag")
	if tag == "" || first.Header().Get("Data-Complete-Through") != watermark || first.Header().Get("Cache-Control") != "private, no-cache" {
		t.Fatalf("%v", first.Header())
	}
	if w := h.get(dimensionsPath(system), withKey(key), with("If-None-Match", tag)); w.Code != 304 || w.Body.Len() > 0 {
		t.Errorf("unchanged: %d", w.Code)
	}
	if w := h.get(dimensionsPath(system), withKey(key)); w.Body.String() == first.Body.String() || w.Header().Get("ETag") != tag {
		t.Errorf("later: %s", w.Body)
	}
	h.exec("update projection.call_group set name = 'Verkauf'")
	w := h.get(dimensionsPath(system), withKey(key), with("If-None-Match", tag))
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"name":"Verkauf"`) || w.Header().Get("ETag") == tag {
		t.Errorf("renamed: %d %s", w.Code, w.Body)
	}
}

func TestGetCallLogReportDimensions_Parameters(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	w := h.get(dimensionsPath(system)+"?generatedAt=1&timeField=createdAt", withKey(h.key(system)))
	if got := summary(problemIn(t, w).Errors); w.Code != 400 || got != "/generatedAt UNKNOWN_PARAMETER, /timeField UNKNOWN_PARAMETER" {
		t.Errorf("%d %s", w.Code, got)
	}
}

// A snapshot that takes too long is none.
func TestGetCallLogReportDimensions_Timeout(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.dimensionsTimeout = time.Second })
	system := h.system("one")
	key := h.key(system)
	release := h.held("reference_count")
	w := h.get(dimensionsPath(system), withKey(key))
	if got := problemIn(t, w); w.Code != 503 || got.Code != "EXTERNAL_SERVICE_TIMEOUT" || !got.Retryable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if line := h.log.last(t); line["level"] != "warn" || line["cause"] == nil {
		t.Errorf("logged %v", line)
	}
	release()
	if w := h.get(dimensionsPath(system), withKey(key)); w.Code != 200 {
		t.Errorf("afterwards: %d %s", w.Code, w.Body)
	}
}

// A snapshot that is too large to be sent is refused, never cut.
func TestGetCallLogReportDimensions_Size(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	h.named(system)
	h.refers(system, "call_group", groupID)
	h.exec("update projection.call_group set name = ''")
	rest := maxReportBody - h.get(dimensionsPath(system), withKey(key)).Body.Len()
	h.exec("update projection.call_group set name = repeat('\"', $1) || repeat('x', $2)", rest/2, rest%2)
	if w := h.get(dimensionsPath(system), withKey(key)); w.Code != 200 || w.Body.Len() != maxReportBody {
		t.Errorf("at the limit: %d, %d bytes", w.Code, w.Body.Len())
	}
	h.exec("update projection.call_group set name = name || 'x'")
	params := tooLargeIn(t, h.get(dimensionsPath(system), withKey(key)))
	if len(params) != 2 || params["actualBytes"] != float64(maxReportBody+1) || params["maxBytes"] != float64(maxReportBody) {
		t.Errorf("above the limit: %v", params)
	}
}

func TestLabel(t *testing.T) {
	for given, want := range map[[2]string]string{
		{"very_positive", "Very positive"}: "Very positive",
		{"very_positive", ""}:              "Very positive",
		{"very_positive", " \t\u2003"}:     "Very positive",
		{"x", " Kept as it is "}:           " Kept as it is ",
		{"__new--lead.2__", ""}:            "New lead 2",
		{"2nd_call", ""}:                   "2nd call",
		{"VIP", ""}:                        "VIP",
		{"ärger", ""}:                      "Ärger",
		{"cafe\u0301_bar", ""}:             "Cafe\u0301 bar",
		{"___", ""}:                        "___",
		{"\u0301", ""}:                     "\u0301",
		{"\U0001F600", " "}:                "\U0001F600",
		{"\U0001F600_ok", ""}:              "Ok",
		{" ", ""}:                          `" "`,
		{"\u200b", "\u200b"}:               `"\u200b"`,
	} {
		if got := label(given[0], given[1]); got != want {
			t.Errorf("%q defined as %q: %q, want %q", given[0], given[1], got, want)
		}
	}
}
