package readapi

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// headerText is all headers, without what is left of the budget: each request leaves less.
func headerText(h http.Header) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := strings.Join(h[name], ", ")
		if name == "Ratelimit" {
			value = "#"
		}
		lines = append(lines, name+": "+value)
	}
	return strings.Join(lines, "; ")
}

func TestRequestID(t *testing.T) {
	h := newHarness(t)
	for inbound, kept := range map[string]bool{
		"abc.DEF_1-2":            true,
		strings.Repeat("a", 128): true,
		strings.Repeat("a", 129): false,
		"":                       false,
		"sk_phones_x":            false,
		"task_1":                 true,
		"a b":                    false,
		"a\"b":                   false,
		"ä":                      false,
	} {
		w := h.get("/nothing", with("X-Request-Id", inbound))
		id := w.Header().Get("X-Request-Id")
		if (id == inbound) != kept {
			t.Errorf("%q became %q", inbound, id)
		}
		if _, err := uuid.Parse(id); !kept && err != nil {
			t.Errorf("%q was replaced with %q", inbound, id)
		}
		problemIn(t, w)
	}
}

// The same answer is sent to GET and HEAD, save the body.
func TestHead(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	c := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark)}
	h.calls(system, c)
	key := h.key(system)
	for _, path := range []string{
		"/customer/phone-systems",
		"/customer/phone-systems/" + system.String() + "/call-logs",
		"/customer/phone-systems/" + system.String() + "/call-logs/" + c.id.String(),
		"/customer/phone-systems/" + system.String() + "/call-logs/" + uuid.NewString(),
		"/customer/phone-systems/" + system.String() + "/phones",
		"/customer/phone-systems/x/phones",
		"/nothing",
	} {
		get, head := h.get(path, withKey(key), with("X-Request-Id", "same")), h.do("HEAD", path, withKey(key), with("X-Request-Id", "same"))
		if get.Code != head.Code || headerText(get.Header()) != headerText(head.Header()) || head.Body.Len() != 0 {
			t.Errorf("%s: GET %d %s, HEAD %d %s", path, get.Code, headerText(get.Header()), head.Code, headerText(head.Header()))
		}
		if length := get.Header().Get("Content-Length"); length != strconv.Itoa(get.Body.Len()) {
			t.Errorf("%s: Content-Length %s of %d", path, length, get.Body.Len())
		}
	}
}

func TestHeaders(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	unplaced := h.system("of a partition without a position")
	h.exec("update projection.phone_system set partition = 9 where id = $1", unplaced)
	key := h.key(system)
	list := h.get("/customer/phone-systems/"+system.String()+"/call-logs", withKey(key)).Header()
	for name, want := range map[string]string{
		"Content-Type":           "application/json",
		"Cache-Control":          "private, no-cache",
		"Vary":                   "X-API-Key, Authorization",
		"X-Content-Type-Options": "nosniff",
		"Data-Complete-Through":  watermark,
		"ETag":                   "",
		"Link":                   "",
	} {
		if got := list.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	w := h.get("/customer/phone-systems/"+unplaced.String()+"/call-logs", withKey(h.key(unplaced)))
	if got := w.Header().Get("Data-Complete-Through"); got != "1970-01-01T00:00:00.000Z" {
		t.Errorf("without a position: %q", got)
	}
}

func TestETag(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	c := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark)}
	h.calls(system, c)
	key := h.key(system)
	for _, path := range []string{"/customer/phone-systems", "/customer/phone-systems/" + system.String() + "/call-logs/" + c.id.String()} {
		fresh := h.get(path, withKey(key))
		tag := fresh.Header().Get("ETag")
		if !strings.HasPrefix(tag, `"`) {
			t.Fatalf("%s: tag %q", path, tag)
		}
		for value, want := range map[string]int{
			tag:                     304,
			"W/" + tag:              304,
			`"a,b", W/"c" , ` + tag: 304,
			"*":                     304,
			`"other"`:               200,
			strings.Trim(tag, `"`):  200,
			`"unclosed`:             200,
			"":                      200,
		} {
			w := h.get(path, withKey(key), with("If-None-Match", value))
			if w.Code != want {
				t.Errorf("%s, If-None-Match %s: %d, want %d", path, value, w.Code, want)
			}
			if want == 304 && (w.Body.Len() > 0 || w.Header().Get("ETag") != tag || w.Header().Get("Content-Type") != "" ||
				w.Header().Get("Cache-Control") != fresh.Header().Get("Cache-Control") || w.Header().Get("Content-Length") != "") {
				t.Errorf("%s: 304 with %q %v", path, w.Body, w.Header())
			}
		}
	}
	h.exec("update projection.phone_system set name = 'renamed'")
	stale := h.get("/customer/phone-systems", withKey(key)).Header().Get("ETag")
	h.exec("update projection.phone_system set name = 'again'")
	if w := h.get("/customer/phone-systems", withKey(key), with("If-None-Match", stale)); w.Code != 200 {
		t.Errorf("after a rename: %d", w.Code)
	}
	if w := h.get("/nothing", with("If-None-Match", "*")); w.Code != 404 {
		t.Errorf("a problem with If-None-Match: %d", w.Code)
	}
}

// Walking the links sees every call that was there at the first page exactly once, whatever arrives meanwhile.
func TestLink_Walk(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	var calls []call
	for i := range 95 {
		calls = append(calls, call{id: uuid.New(), sid: "CA same&sid", createdAt: at("2026-03-01T23:59:00Z").Add(time.Duration(i) * time.Second)})
	}
	h.calls(system, calls...)
	for query, skipped := range map[string]int{
		"pageSize=10":                                      0,
		"pageSize=10&callSid=CA+same%26sid":                0,
		"pageSize=7&dateFrom=2026-03-01T23:59:10.5Z":       0,
		"pageSize=50&dateTo=2026-03-02T00:00:00%2B00:00":   0,
		"page=2&pageSize=30":                               30,
		"dateFrom=2026-03-01T00:00:00Z&pageSize=20&page=1": 0,
	} {
		path := "/customer/phone-systems/" + strings.ToUpper(system.String()) + "/call-logs?" + query
		seen, total := h.walk(path, key, func() { arriving(h, system) })
		slices.Sort(seen)
		if distinct := slices.Compact(slices.Clone(seen)); len(distinct) != len(seen) || len(seen) != total-skipped {
			t.Errorf("%s: saw %d, %d distinct, of %d", query, len(seen), len(distinct), total)
		}
	}
}

// arriving adds a call that is newer than all others.
func arriving(h *harness, system uuid.UUID) {
	h.calls(system, call{id: uuid.New(), sid: "CA same&sid", createdAt: time.Now().Truncate(time.Millisecond)})
}

// walk follows the links from a path on, and returns what it saw and the first page's total.
func (h *harness) walk(path string, key access.IssuedKey, between func()) ([]string, int) {
	h.Helper()
	var seen []string
	total := -1
	for path != "" {
		w := h.get(path, withKey(key))
		if w.Code != 200 {
			h.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		var page listing
		decode(h, w, &page)
		if total < 0 {
			total = page.Total
		}
		if page.Total != total {
			h.Errorf("%s: total %d, at first %d", path, page.Total, total)
		}
		seen = append(seen, page.keys()...)
		path = nextOf(h, w.Header())
		between()
	}
	return seen, total
}

func nextOf(tb testing.TB, h http.Header) string {
	tb.Helper()
	link := h.Get("Link")
	if link == "" {
		return ""
	}
	target, ok := strings.CutSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
	if _, err := url.Parse(target); err != nil || !ok || !strings.HasPrefix(target, baseURL+"/customer/phone-systems/") {
		tb.Fatalf("link %q", link)
	}
	return target
}
