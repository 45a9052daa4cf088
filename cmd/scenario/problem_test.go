package scenario_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

func problemMembers(more ...string) []string {
	return slices.Sorted(slices.Values(append([]string{"code", "correlationId", "detail", "retryable", "status", "title", "type"}, more...)))
}

// problems are answers of every kind that is no success, by what each is.
func (w *world) problems() map[string]answer {
	w.t.Helper()
	all := map[string]answer{
		"400 VALIDATION_FAILED /page TOO_SMALL /x UNKNOWN_PARAMETER": w.get(w.key, w.home("/phones?page=0&x=1")),
		"401 UNAUTHENTICATED":         w.anonymous(""),
		"403 INSUFFICIENT_SCOPE":      w.get(w.scoped("phones:read"), w.home("/extensions")),
		"403 CREDENTIAL_NOT_ACCEPTED": w.presenting("X-API-Key", publishableKey, ""),
		"404 NOT_FOUND":               w.get(w.key, w.home("/call-logs/"+uuid.NewString())),
		"405 METHOD_NOT_ALLOWED":      w.send(http.MethodDelete, w.url(""), keyed(w.key)),
		"409 RECORDING_NOT_READY":     w.get(w.key, w.home("/recordings/"+bareSound+"/url")),
	}
	for want, a := range all {
		w.judge(want, a, want)
	}
	return all
}

// membersOfAll holds every kind of problem against the members that it has, and their types.
func membersOfAll(w *world) {
	for name, a := range w.problems() {
		more := map[int][]string{400: {"errors"}, 409: {"retry_after"}}[a.status]
		w.same(name, members(a.body), problemMembers(more...))
		for _, member := range []string{"type", "title", "code", "detail", "correlationId"} {
			if text, ok := a.body[member].(string); !ok || strings.TrimSpace(text) == "" {
				w.t.Errorf("%s: %s is %v", name, member, a.body[member])
			}
		}
		identifier, _ := a.body["type"].(string)
		if u, err := url.Parse(identifier); err != nil || !u.IsAbs() || u.Host == "" {
			w.t.Errorf("%s: type is %q", name, identifier)
		}
		if _, ok := a.body["retryable"].(bool); !ok {
			w.t.Errorf("%s: retryable is %v", name, a.body["retryable"])
		}
		w.is(name+": correlationId", a.body["correlationId"], a.header.Get("X-Request-Id"))
	}
	header := keyed(w.key)
	header.Set("X-Request-Id", "quoted.to-support_1")
	w.is("one's own id", w.send(http.MethodGet, w.url("?x=1"), header).body["correlationId"], "quoted.to-support_1")
}

func statusIsMirrored(w *world) {
	for name, a := range w.problems() {
		w.is(name, a.body["status"], a.status)
	}
}

// retryableByCode holds each code against the one value that it always comes with, and the type that is its own.
func retryableByCode(w *world) {
	all := w.problems()
	all["413"], all["503"] = w.oversized(), w.untimely()
	all["another 404"], all["another 400"] = w.get(w.key, "/x/../y"), w.get(w.key, "/x/phones")
	types := map[any]any{}
	for name, a := range all {
		code := a.body["code"]
		w.is(name, a.body["retryable"], code == "RECORDING_NOT_READY" || code == "EXTERNAL_SERVICE_TIMEOUT")
		if known, seen := types[code]; seen && known != a.body["type"] {
			w.t.Errorf("%s is both %v and %v", code, known, a.body["type"])
		}
		types[code] = a.body["type"]
	}
	if len(types) != 9 {
		w.t.Errorf("the codes are %v", types)
	}
}

func fieldErrors(w *world) {
	for path, want := range map[string]string{
		w.home("/call-logs?page=0&pageSize=x&dateFrom=now&callSid=" + strings.Repeat("x", 65) + "&a~b/c=1"): "400 VALIDATION_FAILED " +
			"/page TOO_SMALL /pageSize INVALID_FORMAT /dateFrom INVALID_FORMAT /callSid TOO_LONG /a~0b~1c UNKNOWN_PARAMETER",
		w.home("/call-log-reports?limit=101"):  "400 VALIDATION_FAILED /dateFrom REQUIRED /dateTo REQUIRED /limit TOO_LARGE",
		"/x/call-logs/y":                       "400 VALIDATION_FAILED /phoneSystemId INVALID_FORMAT /callLogId INVALID_FORMAT",
		w.home("/agent-configs?status=gone"):   "400 VALIDATION_FAILED /status NOT_ALLOWED",
		w.home("/agent-configs?page=1&page=1"): "400 VALIDATION_FAILED /page REPEATED",
	} {
		a := w.get(w.key, path)
		w.judge(path, a, want)
		list, _ := a.body["errors"].([]any)
		for _, e := range list {
			w.same(path, members(e), []string{"code", "detail", "pointer"})
			if detail, ok := step(e, "detail").(string); !ok || detail == "" {
				w.t.Errorf("%s: %v", path, e)
			}
		}
	}
	for name, a := range w.problems() {
		if _, there := a.body["errors"]; there != (a.status == 400) {
			w.t.Errorf("%s: %s", name, a.text)
		}
	}
}

func retryAfter(w *world) {
	for name, a := range w.problems() {
		seconds, there := a.body["retry_after"].(float64)
		header := a.header.Get("Retry-After")
		switch {
		case a.status != 409 && (there || header != ""):
			w.t.Errorf("%s: %v, Retry-After %q", name, seconds, header)
		case a.status == 409 && (seconds < 1 || seconds != float64(int(seconds)) || header != fmt.Sprint(seconds)):
			w.t.Errorf("%s: %v, Retry-After %q", name, seconds, header)
		}
	}
}

func malformedDates(w *world) {
	for _, list := range []string{"/call-logs", "/voicemails", "/call-analyses", "/recordings", "/call-log-reports"} {
		for _, malformed := range []string{"2026-03-01", "today", "2026-13-01T00:00:00Z", "2026-03-01T25:00:00Z", "2026-03-01T00:00:00%2B02:00", "2026-03-01%2000:00:00Z"} {
			window := "?dateFrom=" + malformed + "&dateTo=2026-04-01T00:00:00Z"
			w.judged(w.key, w.home(list+window), "400 VALIDATION_FAILED /dateFrom INVALID_FORMAT")
			window = "?dateFrom=2026-03-01T00:00:00Z&dateTo=" + malformed
			w.judged(w.key, w.home(list+window), "400 VALIDATION_FAILED /dateTo INVALID_FORMAT")
		}
	}
}

func pageSizeAbove100(w *world) {
	for _, list := range standardLists() {
		w.judged(w.key, w.home(list+"?pageSize=100"), "200")
		w.judged(w.key, w.home(list+"?pageSize=101"), "400 VALIDATION_FAILED /pageSize TOO_LARGE")
	}
}

func mismatchedCursor(w *world) {
	cursorOfAnotherSystem(w)
	cursorOfAnotherField(w)
	cursorOfAnotherWindow(w)
}

// oneNotFound holds what is outside of the contract against what is outside of the grant; the rest is the same by other rules.
func oneNotFound(w *world) {
	systemsOutsideTheGrant(w)
	identifiersOfAnotherSystem(w)
	never := w.get(w.key, w.home("/call-logs/"+uuid.NewString()))
	for _, path := range []string{"/" + uuid.NewString() + "/phones", "/" + w.annex.String() + "/call-logs", w.home("/recordings/" + lostSound + "/url")} {
		w.alike(path, w.get(w.key, path), never)
	}
	outside := w.get(w.key, w.home("/messages"))
	for _, name := range []string{"RateLimit", "RateLimit-Policy"} { // outside of the contract no budget is asked
		outside.header.Set(name, never.header.Get(name))
	}
	w.alike("outside of the contract", outside, never)
	w.alike("without a system", w.get(w.stage.key(access.Request{Grant: access.Grant{Kind: access.GrantGroup, ID: uuid.New()}}), w.home("/phones")), never)
}
