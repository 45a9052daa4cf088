package scenario_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"callboard/readapi/access"
)

// operation is a row of the contract's table of paths. The operations that it names in words alone have the identifiers under
// which they were published first.
type operation struct {
	id    string
	path  string       // below /customer/phone-systems
	scope access.Scope // empty: none
}

// operations are the contract's 24, in its order.
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

// standardLists are the lists in pages, by their paths below a phone system's.
func standardLists() []string {
	var lists []string
	for _, o := range operations() {
		if o.scope != "" && strings.HasPrefix(o.id, "list") && !isReport(o) {
			lists = append(lists, strings.TrimPrefix(o.path, "/{phoneSystemId}"))
		}
	}
	return lists
}

// details are the operations that answer with one row.
func details() []operation {
	return slices.DeleteFunc(operations(), func(o operation) bool {
		return !strings.HasPrefix(o.id, "get") || !strings.HasSuffix(o.path, "}")
	})
}

var pathVariable = regexp.MustCompile(`{\w+}`)

// march is a window of reports that holds all that has happened in the world.
const march = "dateFrom=2026-03-01T00:00:00Z&dateTo=2026-04-01T00:00:00Z"

// example is a request of the operation that succeeds.
func (w *world) example(o operation) string {
	path := pathVariable.ReplaceAllStringFunc(o.path, w.named)
	if o.id == "listCallLogReports" {
		path += "?" + march
	}
	return path
}

// named is what a path's variable names in the harbour.
func (w *world) named(variable string) string {
	return map[string]string{
		"{phoneSystemId}": w.harbour.String(),
		"{phoneId}":       w.handset.String(),
		"{phoneNumberId}": w.mainNumber.String(),
		"{extensionId}":   w.front.String(),
		"{agentConfigId}": w.ava.String(),
		"{callGroupId}":   w.desk.String(),
		"{callMenuId}":    w.menu.String(),
		"{callLogId}":     w.full.String(),
		"{id}":            w.analyzed.String(),
		"{voicemailId}":   w.message.String(),
		"{recordingSid}":  fullSound,
	}[variable]
}

func successIsJSON(w *world) {
	for _, o := range operations() {
		a := w.get(w.key, w.example(o))
		if a.status != 200 || a.header.Get("Content-Type") != "application/json" || a.body == nil {
			w.t.Errorf("%s: %d %s %s", o.id, a.status, a.header.Get("Content-Type"), a.text)
		}
	}
}

func errorsAreProblems(w *world) {
	for _, o := range operations() {
		answers := map[string]answer{
			"without a key":          w.anonymous(w.example(o)),
			"with another method":    w.send(http.MethodPost, w.url(w.example(o)), keyed(w.key)),
			"with a stray slash":     w.get(w.key, w.example(operation{path: o.path + "/"})),
			"with a stray parameter": w.get(w.key, w.strayed(o)),
		}
		if o.scope != "" {
			answers["without its scope"] = w.get(w.scoped(otherScopes(o.scope)...), w.example(o))
			answers["of another system"] = w.get(w.key, strings.Replace(w.example(o), w.harbour.String(), w.annex.String(), 1))
		}
		for name, a := range answers {
			if a.status < 400 || a.header.Get("Content-Type") != "application/problem+json" || a.body == nil {
				w.t.Errorf("%s %s: %d %s %s", o.id, name, a.status, a.header.Get("Content-Type"), a.text)
			}
		}
	}
}

// strayed is the example with a parameter that no operation has.
func (w *world) strayed(o operation) string {
	path := w.example(o)
	if strings.Contains(path, "?") {
		return path + "&stray=1"
	}
	return path + "?stray=1"
}

func everyOperationNeedsAKey(w *world) {
	for _, o := range operations() {
		w.judge(o.id, w.anonymous(w.example(o)), "401 UNAUTHENTICATED")
	}
}

func unknownParametersAreRefused(w *world) {
	for _, o := range operations() {
		w.judged(w.key, w.strayed(o), "400 VALIDATION_FAILED /stray UNKNOWN_PARAMETER")
	}
}

// publishedPaths are the paths of the published description, with their operations' identifiers.
func (w *world) publishedPaths() map[string]string {
	paths := make(map[string]string)
	described, _ := w.description().body["paths"].(map[string]any)
	for path, item := range described {
		for method, operation := range item.(map[string]any) {
			paths[method+" "+path], _ = step(operation, "operationId").(string)
		}
	}
	return paths
}

func (w *world) description() answer {
	w.t.Helper()
	return w.send(http.MethodGet, w.api.URL+"/openapi.json", http.Header{})
}

func the24Paths(w *world) {
	want := make(map[string]string)
	for _, o := range operations() {
		want["get /customer/phone-systems"+o.path] = o.id
		w.judged(w.key, w.example(o), "200")
		path := strings.Split(w.example(o), "?")[0]
		others := []string{path + "/", path + "/x/y/z", "/" + path, strings.Replace(path, "/", "/./", 1)}
		if o.path != "" && !strings.HasSuffix(o.path, "}") { // else these are other identifiers
			others = append(others, strings.ToUpper(path), path+".json", path+"%2F")
		}
		for _, other := range others {
			if other != path {
				w.judged(w.key, other, "404 NOT_FOUND")
			}
		}
	}
	if got := w.publishedPaths(); !maps.Equal(got, want) {
		w.t.Errorf("published: %v, want %v", got, want)
	}
	for _, path := range []string{"/messages", "/contacts", "/campaigns", "/webhooks", "/users", "/notifications", "/diagnostics", "/keys", "/tags", "/calls", ""} {
		w.judged(w.key, w.home(path), "404 NOT_FOUND")
	}
	for _, path := range []string{"/v1", "/v1/", "/v1/customer", "/v2/customer/phone-systems", "/customer/phone-systems", "/v1/phone-systems"} {
		w.judge(path, w.send(http.MethodGet, w.api.URL+path, keyed(w.key)), "404 NOT_FOUND")
	}
}

func scopesOfTheirRows(w *world) {
	for _, scope := range access.Scopes() {
		without, alone := w.scoped(otherScopes(scope)...), w.scoped(scope)
		for _, o := range operations() {
			if o.scope == scope {
				w.judged(without, w.example(o), "403 INSUFFICIENT_SCOPE")
				w.judged(alone, w.example(o), "200")
			}
		}
	}
}

func malformedIdentifiers(w *world) {
	for _, o := range operations() {
		for _, variable := range pathVariable.FindAllString(o.path, -1) {
			want := "400 VALIDATION_FAILED /" + strings.Trim(variable, "{}") + " INVALID_FORMAT"
			for _, malformed := range []string{
				"x", "1", "%20", strings.ReplaceAll(w.harbour.String(), "-", ""), "%7B" + w.harbour.String() + "%7D", "urn:uuid:" + w.harbour.String(), w.harbour.String()[1:],
			} {
				w.judged(w.key, strings.Replace(w.example(o), w.named(variable), malformed, 1), want)
			}
		}
	}
}

func recordingSidsBeginWithRE(w *world) {
	for _, sid := range []string{"RE", "XXfull", "refull", "CA0000", "REa%20b", w.full.String(), "RE" + strings.Repeat("x", 63)} {
		for _, path := range []string{"/recordings/" + sid, "/recordings/" + sid + "/url"} {
			w.judged(w.key, w.home(path), "400 VALIDATION_FAILED /recordingSid INVALID_FORMAT")
		}
	}
	w.judged(w.key, w.home("/recordings/REnever"), "404 NOT_FOUND")
	w.expect(w.key, w.home("/recordings"), 200, "total=2", `data.0.recordingSid="`+fullSound+`"`, `data.1.recordingSid="`+bareSound+`"`)
}

// nothingIsPublished holds the stream against itself before and after every operation, refused ones included.
func nothingIsPublished(w *world) {
	before, err := w.stream.Info(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range operations() {
		w.judged(w.key, w.example(o), "200")
		w.judged(w.key, w.strayed(o), "400 VALIDATION_FAILED /stray UNKNOWN_PARAMETER")
	}
	after, err := w.stream.Info(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if before.State.LastSeq != after.State.LastSeq || before.State.LastSeq == 0 {
		w.t.Errorf("%d messages, then %d", before.State.LastSeq, after.State.LastSeq)
	}
}
