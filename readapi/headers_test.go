package readapi

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// headerText is all headers. The remaining quota, which every request changes, is masked.
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
	t.Parallel()
	for inbound, accepted := range map[string]bool{
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
		got := requestID(http.Header{"X-Request-Id": {inbound}})
		if _, err := uuid.Parse(got); (got == inbound) != accepted || !accepted && err != nil {
			t.Errorf("request id for %q = %q, want the same: %t, or else a UUID", inbound, got, accepted)
		}
	}
}

func TestHead_IsGetWithoutBody(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	id := h.oneCall(system)
	key, same := withKey(h.key(system)), with("X-Request-Id", "same")
	for _, path := range []string{
		"/customer/phone-systems",
		systemPath(system, "/call-logs"),
		systemPath(system, "/call-logs/"+id.String()),
		systemPath(system, "/call-logs/"+uuid.NewString()),
		systemPath(system, "/phones"),
		"/customer/phone-systems/x/phones",
		"/nothing",
	} {
		get, head := h.get(path, key, same), h.do("HEAD", path, key, same)
		if got, want := headerText(head.Header()), headerText(get.Header()); head.Code != get.Code || got != want || head.Body.Len() != 0 {
			t.Errorf("%s: HEAD = %d %s with %d bytes, want %d %s without a body", path, head.Code, got, head.Body.Len(), get.Code, want)
		}
		h.expectHeaders(path, get, map[string]string{"Content-Length": strconv.Itoa(get.Body.Len())})
	}
}

// The contract has the other headers, and those of each operation.
func TestHeaders(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	h.expectHeaders("call logs", h.get(systemPath(system, "/call-logs"), withKey(h.key(system))), map[string]string{
		"Vary": "X-API-Key, Authorization", "X-Content-Type-Options": "nosniff", "Data-Complete-Through": watermark, "Link": "",
	})
	h.exec("delete from projection.position")
	h.expectHeaders("without a position", h.get(systemPath(system, "/call-logs"), withKey(h.key(system))), map[string]string{
		"Data-Complete-Through": "1970-01-01T00:00:00.000Z",
	})
}

func TestETag(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	id := h.oneCall(system)
	key := h.key(system)
	for _, path := range []string{"/customer/phone-systems", systemPath(system, "/call-logs/"+id.String())} {
		fresh := h.get(path, withKey(key))
		tag := fresh.Header().Get("ETag")
		if !strings.HasPrefix(tag, `"`) {
			t.Fatalf("%s: ETag = %q, want a strong one", path, tag)
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
				t.Errorf("%s, If-None-Match %s: status = %d, want %d", path, value, w.Code, want)
			}
			if want == 304 {
				h.expectHeaders(path, w, map[string]string{
					"ETag": tag, "Cache-Control": fresh.Header().Get("Cache-Control"), "Content-Type": "", "Content-Length": "",
				})
				if w.Body.Len() > 0 {
					t.Errorf("%s: body of a 304 = %q, want none", path, w.Body)
				}
			}
		}
	}
	stale := h.get("/customer/phone-systems", withKey(key)).Header().Get("ETag")
	h.exec("update projection.phone_system set name = 'renamed'")
	h.expectCode("after a rename", h.get("/customer/phone-systems", withKey(key), with("If-None-Match", stale)), "")
	h.expectCode("problem with If-None-Match", h.get("/nothing", with("If-None-Match", "*")), notFound)
}
