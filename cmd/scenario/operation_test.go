package scenario_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/readapi/access"
	"callboard/readapi/docs"
)

// resolved follows a $ref of the description.
func resolved(document, part any) any {
	if reference, ok := jsonStep(part, "$ref").(string); ok {
		return jsonAt(document, strings.ReplaceAll(strings.TrimPrefix(reference, "#/"), "/", "."))
	}
	return part
}

// documented checks that every operation has texts, its scope, and a schema for each of its responses.
func documented(f *fixture) {
	document := f.openAPI().body
	paths := describedOperations(document)
	for _, o := range operations() {
		described := paths["get /customer/phone-systems"+o.path]
		for _, text := range []string{"summary", "description"} {
			if words, _ := described[text].(string); strings.TrimSpace(words) == "" {
				f.Errorf("%s has no %s", o.id, text)
			}
		}
		want := []string{"200", "400", "401", "403", "429"}
		if o.scope != "" {
			want = append(want, "404")
			if described["x-required-scope"] != string(o.scope) || !slices.Contains(issuable(), o.scope) {
				f.Errorf("%s: x-required-scope = %v, want %s", o.id, described["x-required-scope"], o.scope)
			}
		}
		if isReport(o) {
			want = append(want, "413")
		}
		switch o.id {
		case "getCallRecordingUrl":
			want = append(want, "409")
		case "getCallLogReportDimensions":
			want = append(want, "503")
		}
		responses, _ := described["responses"].(map[string]any)
		for _, status := range want {
			content, _ := jsonAt(resolved(document, responses[status]), "content").(map[string]any)
			media := "application/problem+json"
			if status == "200" {
				media = "application/json"
			}
			if schema, _ := jsonStep(content[media], "schema").(map[string]any); len(content) != 1 || len(schema) == 0 {
				f.Errorf("%s: response %s = %v, want a schema as %s", o.id, status, content, media)
			}
		}
	}
}

// operation is an operation of the contract.
type operation struct {
	id    string
	path  string       // below /customer/phone-systems
	scope access.Scope // empty: none
}

// operations returns the contract's 24 operations in its order.
func operations() []operation {
	const system = "/{phoneSystemId}"
	return []operation{
		{"listAccessiblePhoneSystems", "", ""},
		{"listPhones", system + "/phones", "phones:read"},
		{"getPhone", system + "/phones/{phoneId}", "phones:read"},
		{"listPhoneNumbers", system + "/phone-numbers", "phone-numbers:read"},
		{"getPhoneNumber", system + "/phone-numbers/{phoneNumberId}", "phone-numbers:read"},
		{"listExtensions", system + "/extensions", "extensions:read"},
		{"getExtension", system + "/extensions/{extensionId}", "extensions:read"},
		{"listAgentConfigs", system + "/agent-configs", "agent-configs:read"},
		{"getAgentConfig", system + "/agent-configs/{agentConfigId}", "agent-configs:read"},
		{"listCallGroups", system + "/call-groups", "call-groups:read"},
		{"getCallGroup", system + "/call-groups/{callGroupId}", "call-groups:read"},
		{"listCallMenus", system + "/call-menus", "call-menus:read"},
		{"getCallMenu", system + "/call-menus/{callMenuId}", "call-menus:read"},
		{"listCallLogs", system + "/call-logs", "calls:read"},
		{"getCallLog", system + "/call-logs/{callLogId}", "calls:read"},
		{"listCallLogReports", system + "/call-log-reports", "calls:read"},
		{"getCallLogReportDimensions", system + "/call-log-reports/dimensions", "calls:read"},
		{"listCallAnalyses", system + "/call-analyses", "calls:read"},
		{"getCallAnalysis", system + "/call-analyses/{id}", "calls:read"},
		{"listVoicemails", system + "/voicemails", "voicemails:read"},
		{"getVoicemail", system + "/voicemails/{voicemailId}", "voicemails:read"},
		{"listCallRecordings", system + "/recordings", "recordings:read"},
		{"getCallRecording", system + "/recordings/{recordingSid}", "recordings:read"},
		{"getCallRecordingUrl", system + "/recordings/{recordingSid}/url", "recordings:read"},
	}
}

func isReport(o operation) bool { return strings.Contains(o.path, "/call-log-reports") }

// details returns the operations that answer with one row.
func details() []operation {
	return slices.DeleteFunc(operations(), func(o operation) bool {
		return !strings.HasPrefix(o.id, "get") || !strings.HasSuffix(o.path, "}")
	})
}

var pathVariable = regexp.MustCompile(`{\w+}`)

// wholeWindow is a report window by createdAt that has every call.
const wholeWindow = "dateFrom=2026-03-01T00:00:00Z&dateTo=2026-04-01T00:00:00Z"

// example returns the path of a request that succeeds.
func (f *fixture) example(o operation) string {
	path := pathVariable.ReplaceAllStringFunc(o.path, f.identifier)
	if o.id == "listCallLogReports" {
		path += "?" + wholeWindow
	}
	return path
}

// identifier returns a value of a path variable in the harbour.
func (f *fixture) identifier(variable string) string {
	return map[string]string{
		"{phoneSystemId}": f.harbour.String(),
		"{phoneId}":       f.handset.String(),
		"{phoneNumberId}": f.mainNumber.String(),
		"{extensionId}":   f.front.String(),
		"{agentConfigId}": f.ava.String(),
		"{callGroupId}":   f.desk.String(),
		"{callMenuId}":    f.menu.String(),
		"{callLogId}":     f.full.String(),
		"{id}":            f.analyzed.String(),
		"{voicemailId}":   f.message.String(),
		"{recordingSid}":  fullRecording,
	}[variable]
}

func successIsJSON(f *fixture) {
	for _, o := range operations() {
		a := f.get(f.key, f.example(o))
		if got := a.header.Get("Content-Type"); a.status != http.StatusOK || got != "application/json" || a.body == nil {
			f.Errorf("%s: status = %d, Content-Type = %s, want 200 and application/json: %s", o.id, a.status, got, a.text)
		}
	}
}

// withUnknownParameter returns the example with a parameter that no operation has.
func (f *fixture) withUnknownParameter(o operation) string {
	path := f.example(o)
	if strings.Contains(path, "?") {
		return path + "&unknown=1"
	}
	return path + "?unknown=1"
}

func (f *fixture) openAPI() answer {
	f.Helper()
	return f.send(http.MethodGet, f.api.URL+"/openapi.json", http.Header{})
}

// nothingIsPublished compares the number of the stream's events before and after successful and refused requests.
func nothingIsPublished(f *fixture) {
	before := f.storedEvents()
	for _, o := range operations() {
		f.expectOutcome(f.key, f.example(o), "200")
		f.expectOutcome(f.key, f.withUnknownParameter(o), "400 VALIDATION_FAILED /unknown UNKNOWN_PARAMETER")
	}
	if after := f.storedEvents(); before != after || before == 0 {
		f.Errorf("stored events = %d, want %d", after, before)
	}
}

// storedEvents returns how many messages the stream has, without clock messages.
func (f *fixture) storedEvents() uint64 {
	f.Helper()
	info, err := f.Stream.Info(f.Context(), jetstream.WithSubjectFilter(events.ClockSubject))
	if err != nil {
		f.Fatal(err)
	}
	return info.State.Msgs - info.State.Subjects[events.ClockSubject]
}

// describedOperations returns the operations of an OpenAPI document, by method and path.
func describedOperations(document map[string]any) map[string]map[string]any {
	all := map[string]map[string]any{}
	paths, _ := document["paths"].(map[string]any)
	for path, item := range paths {
		for method, o := range item.(map[string]any) {
			all[method+" "+path], _ = o.(map[string]any)
		}
	}
	return all
}

// publishedOperations checks that the description has exactly the contract's operations, all at stage beta, that the approval record
// has the same, and that each succeeds.
func publishedOperations(f *fixture) {
	got, want := fields{}, fields{}
	for path, o := range describedOperations(f.openAPI().body) {
		got[path] = []any{o["operationId"], o["x-lifecycle-stage"]}
	}
	var ids []string
	for _, o := range operations() {
		want["get /customer/phone-systems"+o.path] = []any{o.id, "beta"}
		ids = append(ids, o.id)
		f.expectOutcome(f.key, f.example(o), "200")
	}
	f.equalJSON("the number of operations", len(want), 24)
	f.equalJSON("the described operations", got, want)
	approvals, err := docs.LoadApprovals()
	if err != nil {
		f.Fatal(err)
	}
	var approved []string
	for _, a := range approvals {
		approved = append(approved, a.Operation)
		if a.Stage != docs.Beta || a.Reviewer == "" || a.Date == "" {
			f.Errorf("approval = %+v, want stage beta, a reviewer and a date", a)
		}
	}
	slices.Sort(ids)
	slices.Sort(approved)
	f.equalStrings("the approved operations", approved, ids)
}

// versionInTheURL checks the server's URL, and that no other version answers.
func versionInTheURL(f *fixture) {
	f.equalJSON("the servers", f.openAPI().body["servers"], []fields{{"url": f.api.URL + "/v1"}})
	for _, version := range []string{"", "/v0", "/v2", "/V1", "/v1.0"} {
		f.checkOutcome(version, f.send(http.MethodGet, f.api.URL+version+"/customer/phone-systems", keyHeader(f.key)), "404 NOT_FOUND")
	}
}

func openAPI31(f *fixture) {
	a := f.openAPI()
	version, _ := a.body["openapi"].(string)
	if !strings.HasPrefix(version, "3.1.") || a.header.Get("Content-Type") != "application/json" {
		f.Errorf("openapi = %q as %s, want 3.1 as application/json", version, a.header.Get("Content-Type"))
	}
	f.equalJSON("the servers", a.body["servers"], []fields{{"url": f.api.URL + "/v1"}})
	schemes, _ := jsonAt(a.body, "components.securitySchemes").(map[string]any)
	found := false
	for _, scheme := range schemes {
		found = found || jsonStep(scheme, "in") == "header" && jsonStep(scheme, "name") == "X-API-Key"
	}
	if !found {
		f.Errorf("security schemes = %v, want the header X-API-Key", schemes)
	}
}
