package scenario_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// answer is a response with its body, decoded if it is a JSON object.
type answer struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

func keyHeader(key access.Key) http.Header { return http.Header{"X-Api-Key": {key.Reveal()}} }

// url returns the URL of a path below /customer/phone-systems.
func (h *harness) url(path string) string { return h.api.URL + "/v1/customer/phone-systems" + path }

// get requests a path below /customer/phone-systems.
func (h *harness) get(key access.Key, path string) answer {
	h.Helper()
	return h.send(h.url(path), keyHeader(key))
}

// mustGet returns the body of a response with status 200.
func (h *harness) mustGet(key access.Key, path string) map[string]any {
	h.Helper()
	a := h.get(key, path)
	if a.status != http.StatusOK {
		h.Fatalf("GET %s: status = %d, want 200: %s", path, a.status, a.text)
	}
	return a.body
}

// send sends a request and checks the response against the contract.
func (h *harness) send(url string, header http.Header) answer {
	h.Helper()
	request, err := http.NewRequestWithContext(h.Context(), http.MethodGet, url, nil)
	if err != nil {
		h.Fatal(err)
	}
	request.Header = header
	response, err := h.api.Client().Do(request)
	if err != nil {
		h.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		h.Fatal(err)
	}
	a := answer{status: response.StatusCode, header: response.Header, text: string(text)}
	if strings.HasSuffix(a.header.Get("Content-Type"), "json") {
		if err := json.Unmarshal(text, &a.body); err != nil {
			h.Fatalf("%s: %v", url, err)
		}
	}
	return a
}

// outcome is an answer in one line: the status and, of a problem, the code and the pointers and codes of its errors.
func (a answer) outcome() string {
	words := []any{a.status}
	if code, ok := a.body["code"]; ok {
		words = append(words, code)
	}
	fieldErrors, _ := a.body["errors"].([]any)
	for _, e := range fieldErrors {
		words = append(words, jsonStep(e, "pointer"), jsonStep(e, "code"))
	}
	return strings.TrimSuffix(fmt.Sprintln(words...), "\n")
}

// expectOutcome requests a path and compares the outcome.
func (h *harness) expectOutcome(key access.Key, path, want string) {
	h.Helper()
	h.checkOutcome(path, h.get(key, path), want)
}

func (h *harness) checkOutcome(name string, a answer, want string) {
	h.Helper()
	if got := a.outcome(); got != want {
		h.Errorf("%s: outcome = %s, want %s", name, got, want)
	}
}

// ids returns the identifiers of the body's rows, in order.
func (a answer) ids() []string {
	rows, _ := a.body["data"].([]any)
	ids := make([]string, 0, len(rows))
	for _, row := range rows {
		id, ok := jsonStep(row, "id").(string)
		if !ok {
			id, _ = jsonStep(row, "recordingSid").(string)
		}
		ids = append(ids, id)
	}
	return ids
}

// jsonAt returns the value at a path such as data.0.id, or nil. An array's length is at "#".
func jsonAt(value any, path string) any {
	if path == "" {
		return value
	}
	for _, part := range strings.Split(path, ".") {
		value = jsonStep(value, part)
	}
	return value
}

func jsonStep(value any, part string) any {
	switch v := value.(type) {
	case map[string]any:
		return v[part]
	case []any:
		if part == "#" {
			return len(v)
		}
		if i := int(part[0] - '0'); i < len(v) {
			return v[i]
		}
	}
	return nil
}

// column returns a member of every row.
func column(rows any, name string) []any {
	values := []any{}
	for _, row := range rows.([]any) {
		values = append(values, row.(map[string]any)[name])
	}
	return values
}

func memberNames(object any) []string {
	m, _ := object.(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

// fields are the members of an object that a test wants. A value may be anything that has the JSON that is wanted.
type fields map[string]any

func (f fields) and(more fields) fields {
	sum := maps.Clone(f)
	maps.Copy(sum, more)
	return sum
}

// equalJSON compares the JSON of two values.
func (h *harness) equalJSON(what string, got, want any) {
	h.Helper()
	if got, want := h.canonicalJSON(got), h.canonicalJSON(want); got != want {
		h.Errorf("%s = %s, want %s", what, got, want)
	}
}

// canonicalJSON encodes a value with sorted members and with numbers as JSON readers see them.
func (h *harness) canonicalJSON(value any) string {
	h.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		h.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		h.Fatal(err)
	}
	text, err = json.Marshal(decoded)
	if err != nil {
		h.Fatal(err)
	}
	return string(text)
}

// equalMembers compares the wanted members of an object.
func (h *harness) equalMembers(what string, object any, want fields) {
	h.Helper()
	all, _ := object.(map[string]any)
	got := map[string]any{}
	for name := range want {
		if value, ok := all[name]; ok {
			got[name] = value
		}
	}
	h.equalJSON(what, got, want)
}

// expectJSON requests a path and compares the value at a path of its body.
func (h *harness) expectJSON(key access.Key, path, at string, want any) {
	h.Helper()
	h.equalJSON("GET "+path+": "+at, jsonAt(h.mustGet(key, path), at), want)
}

func (h *harness) equalStrings(what string, got, want []string) {
	h.Helper()
	if !slices.Equal(got, want) {
		h.Errorf("%s = %q, want %q", what, got, want)
	}
}

// reportRowOf returns a call's report row, or nil if there is none.
func (h *harness) reportRowOf(key access.Key, system, call uuid.UUID, parameters ...string) map[string]any {
	h.Helper()
	query := strings.Join(append([]string{wholeWindow}, parameters...), "&")
	page := h.mustGet(key, "/"+system.String()+"/call-log-reports?"+query)
	for _, row := range page["data"].([]any) {
		if row := row.(map[string]any); row["id"] == call.String() {
			return row
		}
	}
	return nil
}
