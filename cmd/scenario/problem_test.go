package scenario_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
)

func problemMembers(more ...string) []string {
	return slices.Sorted(slices.Values(append([]string{"code", "correlationId", "detail", "retryable", "status", "title", "type"}, more...)))
}

// problems returns a problem of most kinds, by its outcome. readapi's tests have the others.
func (f *fixture) problems() map[string]answer {
	f.Helper()
	all := map[string]answer{
		"400 VALIDATION_FAILED /page TOO_SMALL /x UNKNOWN_PARAMETER": f.get(f.key, f.harbourPath("/phones?page=0&x=1")),
		"401 UNAUTHENTICATED":         f.getWithoutKey(""),
		"403 INSUFFICIENT_SCOPE":      f.get(f.keyWithScopes("phones:read"), f.harbourPath("/extensions")),
		"403 CREDENTIAL_NOT_ACCEPTED": f.getWithHeader("X-API-Key", publishableKey, ""),
		"404 NOT_FOUND":               f.get(f.key, f.harbourPath("/call-logs/"+uuid.NewString())),
		"405 METHOD_NOT_ALLOWED":      f.send(http.MethodDelete, f.url(""), keyHeader(f.key)),
		"409 RECORDING_NOT_READY":     f.get(f.key, f.harbourPath("/recordings/"+processingRecording+"/url")),
	}
	for want, a := range all {
		f.checkOutcome(want, a, want)
	}
	return all
}

// problemDocuments checks the members of problems and their values.
func problemDocuments(f *fixture) {
	for name, a := range f.problems() {
		more := map[int][]string{400: {"errors"}, 409: {"retry_after"}}[a.status]
		f.equalStrings(name+": members", memberNames(a.body), problemMembers(more...))
		for _, member := range []string{"type", "title", "code", "detail", "correlationId"} {
			if text, ok := a.body[member].(string); !ok || strings.TrimSpace(text) == "" {
				f.Errorf("%s: %s = %v, want a text", name, member, a.body[member])
			}
		}
		identifier, _ := a.body["type"].(string)
		if u, err := url.Parse(identifier); err != nil || !u.IsAbs() || u.Host == "" {
			f.Errorf("%s: type = %q, want a URL", name, identifier)
		}
		f.equalMembers(name, a.body, fields{
			"status": a.status, "retryable": a.status == http.StatusConflict, "correlationId": a.header.Get("X-Request-Id"),
		})
		if got := a.header.Get("Content-Type"); got != "application/problem+json" {
			f.Errorf("%s: Content-Type = %s, want application/problem+json", name, got)
		}
		f.checkRetryAfter(name, a)
	}
	header := keyHeader(f.key)
	header.Set("X-Request-Id", "quoted.to-support_1")
	f.equalJSON("correlationId", f.send(http.MethodGet, f.url("?x=1"), header).body["correlationId"], "quoted.to-support_1")
}

// checkRetryAfter checks that a problem says when to retry, in whole seconds, or doesn't.
func (f *fixture) checkRetryAfter(name string, a answer) {
	f.Helper()
	seconds, there := a.body["retry_after"].(float64)
	header := a.header.Get("Retry-After")
	if a.status != http.StatusConflict && a.status != http.StatusTooManyRequests {
		if there || header != "" {
			f.Errorf("%s: retry_after = %v, Retry-After = %q, want none", name, seconds, header)
		}
		return
	}
	if seconds < 1 || seconds > 60 || seconds != float64(int(seconds)) || header != fmt.Sprint(seconds) {
		f.Errorf("%s: retry_after = %v, Retry-After = %q, want the same number from 1 to 60", name, seconds, header)
	}
}
