package scenario_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// verdict is an answer in a line: its status, and of a problem document the code and what is wrong with which field.
func (a answer) verdict() string {
	words := []any{a.status}
	if code, ok := a.body["code"]; ok {
		words = append(words, code)
	}
	wrong, _ := a.body["errors"].([]any)
	for _, field := range wrong {
		words = append(words, step(field, "pointer"), step(field, "code"))
	}
	return strings.TrimSuffix(fmt.Sprintln(words...), "\n")
}

// judged holds the verdict on a path below /customer/phone-systems.
func (w *world) judged(key access.Key, path, want string) {
	w.t.Helper()
	w.judge(path, w.get(key, path), want)
}

func (w *world) judge(name string, a answer, want string) {
	w.t.Helper()
	if got := a.verdict(); got != want {
		w.t.Errorf("%s: %s, want %s", name, got, want)
	}
}

func (w *world) url(path string) string { return w.api.URL + "/v1/customer/phone-systems" + path }

func keyed(key access.Key) http.Header { return http.Header{"X-Api-Key": {key.Reveal()}} }

// presenting reads a path below /customer/phone-systems with a header of one's own.
func (w *world) presenting(name, value, path string) answer {
	w.t.Helper()
	return w.send(http.MethodGet, w.url(path), http.Header{http.CanonicalHeaderKey(name): {value}})
}

func (w *world) anonymous(path string) answer {
	w.t.Helper()
	return w.send(http.MethodGet, w.url(path), http.Header{})
}

// scoped is a key on the harbour with these scopes.
func (w *world) scoped(scopes ...access.Scope) access.Key {
	w.t.Helper()
	return w.stage.key(access.Request{Grant: access.Grant{Kind: access.GrantSystem, ID: w.harbour}, Scopes: scopes})
}

func otherScopes(scope access.Scope) []access.Scope {
	return slices.DeleteFunc(access.Scopes(), func(s access.Scope) bool { return s == scope })
}

// own is a phone system of one rule's own, and a key with every scope on it.
func (w *world) own() (uuid.UUID, access.Key) {
	w.t.Helper()
	system := uuid.New()
	w.happen(changed(phoneSystem(system, 1, "Own"))...)
	return system, w.systemKey(system)
}

// members are an object's, by name.
func members(object any) []string {
	m, _ := object.(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

// ids are those of a body's rows, in order.
func (a answer) ids() []string {
	rows, _ := a.body["data"].([]any)
	ids := make([]string, 0, len(rows))
	for _, row := range rows {
		id, ok := step(row, "id").(string)
		if !ok {
			id, _ = step(row, "recordingSid").(string)
		}
		ids = append(ids, id)
	}
	return ids
}

var nextLink = regexp.MustCompile(`^<([^>]+)>; rel="next"$`)

// next is the URL of the next page; empty: there is none.
func (a answer) next() string {
	if link := nextLink.FindStringSubmatch(a.header.Get("Link")); link != nil {
		return link[1]
	}
	return ""
}

func (w *world) same(name string, got, want []string) {
	w.t.Helper()
	if !slices.Equal(got, want) {
		w.t.Errorf("%s:\n%s, want\n%s", name, strings.Join(got, " "), strings.Join(want, " "))
	}
}
