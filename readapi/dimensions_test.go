package readapi

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

func dimensionsPath(system uuid.UUID) string {
	return systemPath(system, "/call-log-reports/dimensions")
}

// refers makes retained calls refer to the keys of a family.
func (h *harness) refers(system uuid.UUID, family string, keys ...string) {
	h.Helper()
	for _, key := range keys {
		h.exec("insert into projection.row_count (system_id, list, subset, day, count) values ($1, 'reference/' || $2, $3, '1970-01-01', 1)",
			system, family, key)
	}
}

const emptyDimensions = `,"callGroups":[],"extensions":[],"handlerEntries":[],"categories":[],"overallSentiments":[],"employeeSentiments":[],"customerSentiments":[]}`

// snapshot is the body from the member after generatedAt.
func (h *harness) snapshot(path string, headers ...header) string {
	h.Helper()
	w := h.get(path, headers...)
	generated, rest, _ := strings.Cut(strings.TrimPrefix(w.Body.String(), `{"generatedAt":"`), `"`)
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", generated); err != nil || w.Code != 200 {
		h.Fatalf("snapshot = %d %s, want a 200 with generatedAt", w.Code, w.Body)
	}
	return rest
}

// The snapshot has everything that retained calls refer to and nothing else, in the contract's form and order.
func TestGetCallLogReportDimensions_Body(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system, other := h.system("one"), h.system("two")
	key := h.key(system)
	if got := h.snapshot(dimensionsPath(system), withKey(key)); got != emptyDimensions {
		t.Errorf("snapshot without references = %s, want %s", got, emptyDimensions)
	}
	h.directory(system)
	h.directory(other)
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
		{system, "overall_sentiment", "c_d", "Of another kind", nil},
		{system, "category", "unused", "Unused", nil},
		{system, "overall_sentiment", "blank_label", " ", &score},
		{uuid.Nil, "overall_sentiment", "blank_label", "Global", nil},
		{uuid.Nil, "customer_sentiment", "good", "Good", &score},
	} {
		h.classify(d.system, d.kind, d.code, d.label, d.score)
	}
	h.refers(system, "call_group", groupID, uuid.NewString())
	h.refers(system, "extension", fromID, answeredID, uuid.NewString())
	h.refers(system, "representative", representativeID)
	h.refers(system, "category", "b", "a", "c_d", "Z")
	h.refers(system, "overall_sentiment", "blank_label")
	h.refers(system, "employee_sentiment", "good")
	h.refers(system, "customer_sentiment", "good", "--")
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
		t.Errorf("snapshot = %s\nwant\n%s", got, want)
	}
}

// While only generatedAt differs, the response is a 304. A rename changes the ETag at once, and the first name
// brings it back.
func TestGetCallLogReportDimensions_ETag(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key, path := h.key(system), dimensionsPath(system)
	h.directory(system)
	h.refers(system, "call_group", groupID)
	first := h.get(path, withKey(key))
	h.expectHeaders("first", first, map[string]string{"Data-Complete-Through": watermark, "Cache-Control": "private, no-cache"})
	tag := first.Header().Get("ETag")
	h.expectNotModified(path, key, tag)
	later := h.get(path, withKey(key))
	h.expectHeaders("later", later, map[string]string{"ETag": tag})
	if later.Body.String() == first.Body.String() {
		t.Errorf("later body = %s, want another generatedAt", later.Body)
	}
	h.exec("update projection.topology set name = 'Verkauf' where kind = 'call-group'")
	w := h.get(path, withKey(key), with("If-None-Match", tag))
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"name":"Verkauf"`) || w.Header().Get("ETag") == tag {
		t.Errorf("renamed: response = %d %s with ETag %s, want the new name and another ETag", w.Code, w.Body, w.Header().Get("ETag"))
	}
	h.exec("update projection.topology set name = 'Sales' where kind = 'call-group'")
	h.expectNotModified(path, key, tag)
}

func TestGetCallLogReportDimensions_Timeout(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(c *Config) { c.DimensionsTimeout = 100 * time.Millisecond })
	system := h.system("one")
	key := h.key(system)
	defer h.lock("row_count")()
	w := h.get(dimensionsPath(system), withKey(key))
	h.expectCode("locked", w, externalServiceTimeout)
	if !problemIn(t, w).Retryable {
		t.Errorf("retryable = false, want true")
	}
	h.expectLogged(map[string]any{"level": "warn", "cause": "any"})
}

// A snapshot above the size limit is refused, never truncated.
func TestGetCallLogReportDimensions_Size(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key, path := h.key(system), dimensionsPath(system)
	h.directory(system)
	h.refers(system, "call_group", groupID)
	h.exec("update projection.topology set name = '' where kind = 'call-group'")
	rest := maxBody - h.get(path, withKey(key)).Body.Len()
	h.exec("update projection.topology set name = repeat('\"', $1) || repeat('x', $2) where kind = 'call-group'", rest/2, rest%2)
	w := h.get(path, withKey(key))
	h.expectCode("at the limit", w, "")
	if got := w.Body.Len(); got != maxBody {
		t.Errorf("body = %d bytes, want %d", got, maxBody)
	}
	h.exec("update projection.topology set name = name || 'x' where kind = 'call-group'")
	h.expectTooLarge(h.get(path, withKey(key)), map[string]any{"actualBytes": maxBody + 1.0, "maxBytes": maxBody + 0.0})
}

func (h *harness) expectNotModified(path string, key access.IssuedKey, tag string) {
	h.Helper()
	if w := h.get(path, withKey(key), with("If-None-Match", tag)); tag == "" || w.Code != 304 || w.Body.Len() > 0 {
		h.Errorf("%s with ETag %q: response = %d %s, want 304 without a body", path, tag, w.Code, w.Body)
	}
}
