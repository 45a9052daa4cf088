package readapi

import (
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"callboard/readapi/access"
	"callboard/readapi/docs"
	"callboard/readapi/docs/docstest"
)

// contract is what every answer in these tests is held against, and nothing where answers are measured.
func contract(tb testing.TB) *docstest.Contract {
	tb.Helper()
	if _, measured := tb.(*testing.B); measured {
		return nil
	}
	c, err := compiledContract()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

var compiledContract = sync.OnceValues(docstest.New) //nolint:gochecknoglobals // as constant as what it is compiled from

// conform fails the test if the contract does not allow the answer.
func (h *harness) conform(method, url string, w *httptest.ResponseRecorder) {
	h.Helper()
	path, ok := strings.CutPrefix(url, baseURL)
	if h.contract == nil || !ok {
		return
	}
	answer := docstest.Response{Method: method, Path: path, Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
	if err := h.contract.Check(answer); err != nil {
		h.Errorf("%s %.300s: %d is outside the contract: %v\n%.2000s", method, url, w.Code, err, w.Body)
	}
}

// described is an operation as the description has it.
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

// described are the operations by path, as /openapi.json has them.
func (h *harness) described() map[string]described {
	h.Helper()
	var document struct {
		Paths      map[string]struct{ Get described }
		Components struct {
			Parameters map[string]describedParameter
		}
	}
	decode(h, h.get("https://phones.example.com/api/openapi.json"), &document)
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

// The description and the register are one list of operations.
func TestContract_Register(t *testing.T) {
	operations := newHarness(t).described()
	if len(operations) != len(register()) {
		t.Errorf("%d operations are described, %d are in the register", len(operations), len(register()))
	}
	for _, o := range register() {
		d := operations[o.Path]
		if d.OperationID != o.ID || d.Scope != o.Scope || d.Whole != o.Report {
			t.Errorf("%s %s is described as %s with %q, whole %v", o.ID, o.Path, d.OperationID, d.Scope, d.Whole)
		}
		if o.Scope != "" && !slices.Contains(access.Scopes(), o.Scope) {
			t.Errorf("%s needs %s, which can't be issued", o.ID, o.Scope)
		}
		var names []string
		for _, p := range d.Parameters {
			if p.In == "path" {
				names = append(names, "{"+p.Name+"}")
			}
		}
		if variables := pathVariable.FindAllString(o.Path, -1); !slices.Equal(names, variables) {
			t.Errorf("%s has variables %v, described are %v", o.ID, variables, names)
		}
	}
}

// Operations accept the query parameters that are described, within the bounds that are described, and no other.
func TestContract_Parameters(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	operations := h.described()
	every := make(documentedQuery)
	for _, d := range operations {
		maps.Copy(every, d.query())
	}
	for _, o := range register() {
		documented := operations[o.Path].query()
		ask := func(changes ...func(url.Values)) map[string]fieldCode {
			values := documented.good()
			for _, change := range changes {
				change(values)
			}
			return h.refused(o.examplePath(system.String())+"?"+values.Encode(), key)
		}
		for name := range every {
			got := ask(func(v url.Values) { v.Set(name, "x") })[pointer(name)]
			if _, known := documented[name]; known == (got == unknownParameter) {
				t.Errorf("%s: %s is documented: %v, answered: %s", o.ID, name, known, got)
			}
		}
		for name := range documented {
			if got := ask()[pointer(name)]; got != "" && name != "cursor" {
				t.Errorf("%s: a good %s is answered %s", o.ID, name, got)
			}
		}
		for _, bad := range documented.bad() {
			change := func(v url.Values) { v[bad.name] = bad.values }
			if got := ask(change)[pointer(bad.name)]; got != bad.want {
				t.Errorf("%s: %s=%.20q is answered %q, want %s", o.ID, bad.name, bad.values, got, bad.want)
			}
		}
	}
}

// refused are the field codes of a request, by pointer.
func (h *harness) refused(path string, key access.IssuedKey) map[string]fieldCode {
	h.Helper()
	codes := make(map[string]fieldCode)
	if w := h.get(path, withKey(key)); w.Code == 400 {
		for _, e := range problemIn(h, w).Errors {
			codes[e.Pointer] = fieldCode(e.Code)
		}
	}
	return codes
}

// documentedQuery is an operation's query parameters by name.
type documentedQuery map[string]describedParameter

func (d described) query() documentedQuery {
	query := make(documentedQuery)
	for _, p := range d.Parameters {
		if p.In == "query" {
			query[p.Name] = p
		}
	}
	return query
}

// good is a value for each parameter that is required or has something to choose from.
func (q documentedQuery) good() url.Values {
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

type badParameter struct {
	name   string
	values []string
	want   fieldCode
}

// bad is what each parameter's description excludes.
func (q documentedQuery) bad() []badParameter {
	var all []badParameter
	for _, name := range slices.Sorted(maps.Keys(q)) {
		p, s := q[name], q[name].Schema
		add := func(want fieldCode, values ...string) { all = append(all, badParameter{name, values, want}) }
		add(invalidFormat, "")
		add(repeated, "a", "a")
		if p.Required {
			add(required)
		}
		if s.Enum != nil {
			add(notAllowed, "other")
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

// An operation that the record does not list answers as a path that never was, and is not described.
func TestContract_Unapproved(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	path := "/customer/phone-systems/" + system.String() + "/call-logs"
	if w := h.get(path, withKey(key)); w.Code != 200 {
		t.Fatalf("while it is approved: %d", w.Code)
	}
	h.approve(func(a docs.Approvals) docs.Approvals {
		return slices.DeleteFunc(a, func(a docs.Approval) bool { return a.Operation == "listCallLogs" })
	})
	same := with("X-Request-Id", "same")
	gone, never := h.get(path, withKey(key), same), h.get("/nothing", withKey(key), same)
	if gone.Code != 404 || masked(gone) != masked(never) || headerText(gone.Header()) != headerText(never.Header()) {
		t.Errorf("%d %s, want %s", gone.Code, gone.Body, never.Body)
	}
	operations := h.described()
	if _, ok := operations["/customer/phone-systems/{phoneSystemId}/call-logs"]; ok || len(operations) != len(register())-1 {
		t.Errorf("%d operations are described, listCallLogs: %v", len(operations), ok)
	}
}

// approve makes the handler anew, under a changed record.
func (h *harness) approve(change func(docs.Approvals) docs.Approvals) {
	h.Helper()
	approvals, err := docs.LoadApprovals()
	if err != nil {
		h.Fatal(err)
	}
	config := h.config
	config.Metrics = nil
	if h.handler, err = newService(config, change(approvals)); err != nil {
		h.Fatal(err)
	}
}

// The reader does not start under a record that approves what it does not have.
func TestContract_ApprovedWithoutOperation(t *testing.T) {
	config := newHarness(t).config
	config.Metrics = nil
	if _, err := newService(config, docs.Approvals{{Operation: "listMessages", Stage: docs.Beta}}); err == nil {
		t.Error("it started")
	}
	_, err := approved(register(), docs.Approvals{{Operation: "listPhones"}, {Operation: "listMessages"}})
	if err == nil || !strings.Contains(err.Error(), "listMessages") || strings.Contains(err.Error(), "listPhones") {
		t.Errorf("error %v", err)
	}
}
