package readapi

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"callboard/readapi/access"
	"callboard/readapi/docs"
	"callboard/readapi/query"
)

func allOperations() []operation { return operations(query.New(nil), query.New(nil), nil, nil) }

func operationNamed(tb testing.TB, id string) operation {
	tb.Helper()
	all := allOperations()
	i := slices.IndexFunc(all, func(o operation) bool { return o.ID == id })
	if i < 0 {
		tb.Fatalf("no operation %s", id)
	}
	return all[i]
}

var pathVariable = regexp.MustCompile(`\{\w+\}`)

// examplePath is an operation's path with well-formed identifiers.
func (o operation) examplePath(system string) string {
	path := strings.Replace(o.Path, "{phoneSystemId}", system, 1)
	return pathVariable.ReplaceAllStringFunc(path, func(variable string) string {
		if variable == "{recordingSid}" {
			return "REabc_-1"
		}
		return "7d9f4c1e-0000-4000-8000-000000000001"
	})
}

// described is an operation of the OpenAPI description.
type described struct {
	OperationID string
	Scope       access.Scope `json:"x-required-scope"`
	Whole       bool         `json:"x-whole-phone-system"`
	Parameters  []describedParameter
	Responses   map[string]any
}

type describedParameter struct {
	Ref      string `json:"$ref"`
	Name, In string
	Required bool
	Schema   struct {
		Type, Format     string
		Enum             []string
		Minimum, Maximum *int64
		MaxLength        int
	}
}

// described are the operations of /openapi.json by path.
func (h *harness) described() map[string]described {
	h.Helper()
	var document struct {
		Paths      map[string]struct{ Get described }
		Components struct {
			Parameters map[string]describedParameter
		}
	}
	decode(h, h.get(siteURL+"/openapi.json"), &document)
	operations := make(map[string]described)
	for path, item := range document.Paths {
		for i, p := range item.Get.Parameters {
			if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
				item.Get.Parameters[i] = document.Components.Parameters[name]
			}
		}
		operations[path] = item.Get
	}
	return operations
}

// The description and the table of operations list the same operations.
func TestContract_Operations(t *testing.T) {
	t.Parallel()
	operations := newHarness(t).described()
	if got, want := len(operations), len(allOperations()); got != want {
		t.Errorf("described operations = %d, want %d", got, want)
	}
	for _, o := range allOperations() {
		d := operations[o.Path]
		if d.OperationID != o.ID || d.Scope != o.Scope || d.Whole != o.isReport() {
			t.Errorf("%s is described as %s, scope %q, whole %t, want %s, %q, %t", o.Path, d.OperationID, d.Scope, d.Whole, o.ID, o.Scope, o.isReport())
		}
		var names []string
		for _, p := range d.Parameters {
			if p.In == "path" {
				names = append(names, "{"+p.Name+"}")
			}
		}
		if want := pathVariable.FindAllString(o.Path, -1); !slices.Equal(names, want) {
			t.Errorf("%s: described path variables = %v, want %v", o.ID, names, want)
		}
	}
}

// The examples of problem documents have the texts that the reader sends.
func TestContract_ProblemExamples(t *testing.T) {
	t.Parallel()
	var description struct {
		Components struct {
			Responses map[string]struct {
				Content map[string]struct{ Example document }
			}
		}
	}
	decode(t, newHarness(t).get(siteURL+"/openapi.json"), &description)
	for name, response := range description.Components.Responses {
		content, ok := response.Content["application/problem+json"]
		if !ok {
			continue
		}
		d := content.Example
		if got, want := (codeInfo{d.Status, d.Retryable, d.Title, d.Detail}), d.Code.info(); got != want || d.Type != d.Code.problemType() {
			t.Errorf("example of %s, %s = %+v, want %+v", name, d.Code, got, want)
		}
	}
}

// Operations accept the described query parameters, within the described bounds, and no others.
func TestContract_Parameters(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	operations := h.described()
	every := make(describedQuery)
	for _, d := range operations {
		maps.Copy(every, d.query())
	}
	for _, o := range allOperations() {
		documented := operations[o.Path].query()
		send := func(change func(url.Values)) map[string]string {
			values := documented.valid()
			change(values)
			return h.fieldCodes(o.examplePath(system.String())+"?"+values.Encode(), key)
		}
		for name := range every {
			got := send(func(v url.Values) { v.Set(name, "x") })[pointer(name)]
			if _, known := documented[name]; known == (got == string(unknownParameter)) {
				t.Errorf("%s: code of %s = %q, and it is described: %t", o.ID, name, got, known)
			}
		}
		for name, got := range send(func(url.Values) {}) {
			if name != pointer("cursor") {
				t.Errorf("%s: code of a valid %s = %q, want none", o.ID, name, got)
			}
		}
		for _, c := range documented.invalid() {
			if got := send(func(v url.Values) { v[c.name] = c.values })[pointer(c.name)]; got != string(c.want) {
				t.Errorf("%s: code of %s=%.20q is %q, want %s", o.ID, c.name, c.values, got, c.want)
			}
		}
	}
}

// fieldCodes are the codes of a request's invalid parameters, by pointer.
func (h *harness) fieldCodes(path string, key access.IssuedKey) map[string]string {
	h.Helper()
	codes := make(map[string]string)
	if w := h.get(path, withKey(key)); w.Code == http.StatusBadRequest {
		for _, e := range problemIn(h, w).Errors {
			codes[e.Pointer] = e.Code
		}
	}
	return codes
}

// describedQuery is an operation's described query parameters, by name.
type describedQuery map[string]describedParameter

func (d described) query() describedQuery {
	query := make(describedQuery)
	for _, p := range d.Parameters {
		if p.In == "query" {
			query[p.Name] = p
		}
	}
	return query
}

// valid has a value for every parameter but the cursor.
func (q describedQuery) valid() url.Values {
	values := make(url.Values)
	for name, p := range q {
		switch s := p.Schema; {
		case name == "cursor":
		case s.Enum != nil:
			values.Set(name, s.Enum[0])
		case s.Type == "integer":
			values.Set(name, strconv.FormatInt(*s.Minimum, 10))
		case s.Type == "boolean":
			values.Set(name, "true")
		case s.Format == "uuid":
			values.Set(name, "7d9f4c1e-0000-4000-8000-000000000001")
		case s.Format == "date-time":
			values.Set(name, "2026-03-01T00:00:00Z")
		default:
			values.Set(name, strings.Repeat("a", s.MaxLength))
		}
	}
	return values
}

type invalidParameter struct {
	name   string
	values []string
	want   fieldCode
}

// invalid are values that the parameters' descriptions exclude.
func (q describedQuery) invalid() []invalidParameter {
	var all []invalidParameter
	for _, name := range slices.Sorted(maps.Keys(q)) {
		p, s := q[name], q[name].Schema
		add := func(want fieldCode, values ...string) { all = append(all, invalidParameter{name, values, want}) }
		add(invalidFormat, "")
		add(repeated, "a", "a")
		if p.Required {
			add(required)
		}
		switch {
		case s.Enum != nil:
			add(notAllowed, "other")
		case s.Type == "string" && s.Format == "" && name != "cursor":
			add(invalidFormat, " a") // a number whose + was not encoded
		}
		if s.Type == "integer" || s.Type == "boolean" || s.Format != "" {
			add(invalidFormat, "x")
		}
		if s.Minimum != nil {
			add(tooSmall, strconv.FormatInt(*s.Minimum-1, 10))
		}
		if s.Maximum != nil {
			add(tooLarge, strconv.FormatInt(*s.Maximum+1, 10))
		}
		if s.MaxLength > 0 {
			add(tooLong, strings.Repeat("a", s.MaxLength+1))
		}
	}
	return all
}

// An operation that is not approved is answered like a path that is not in the contract, and not described.
func TestContract_Unapproved(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	path := systemPath(system, "/call-logs")
	h.expectCode("approved", h.get(path, withKey(key)), "")
	approvals, err := docs.LoadApprovals()
	if err != nil {
		t.Fatal(err)
	}
	h.config.Metrics = nil
	h.handler, err = newService(h.config, slices.DeleteFunc(approvals, func(a docs.Approval) bool { return a.Operation == "listCallLogs" }))
	if err != nil {
		t.Fatal(err)
	}
	same := with("X-Request-Id", "same")
	got, want := h.get(path, withKey(key), same), h.get("/nothing", withKey(key), same)
	if got.Code != 404 || whole(got) != whole(want) {
		t.Errorf("response = %d %s, want %s", got.Code, whole(got), whole(want))
	}
	operations := h.described()
	if _, ok := operations["/customer/phone-systems/{phoneSystemId}/call-logs"]; ok || len(operations) != len(allOperations())-1 {
		t.Errorf("described operations = %d, listCallLogs %t, want %d without it", len(operations), ok, len(allOperations())-1)
	}
}

// The reader does not start if an operation is approved that it doesn't have.
func TestContract_ApprovedWithoutOperation(t *testing.T) {
	t.Parallel()
	config := newHarness(t).config
	config.Metrics = nil
	_, err := newService(config, docs.Approvals{{Operation: "listPhones"}, {Operation: "listMessages", Stage: docs.Beta}})
	if err == nil || !strings.Contains(err.Error(), "listMessages") || strings.Contains(err.Error(), "listPhones") {
		t.Errorf("error = %v, want one about listMessages alone", err)
	}
}
