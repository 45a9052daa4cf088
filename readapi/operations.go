package readapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/docs"
	"callboard/readapi/encode"
	"callboard/readapi/limit"
	"callboard/readapi/query"
)

// operation is one row of the operations table. Its ID is the operation's name in the contract, in logs and in metrics. It never
// changes once it is published.
type operation struct {
	ID     string
	Path   string       // below the base URL
	Scope  access.Scope // empty: any tenant key
	Report limit.Report // with a budget of its own, and refused to narrowed keys
	handle handler
}

// handler fills the reply to an admitted request. It returns errors that problemOf maps to problem documents.
type handler func(context.Context, *request, *reply) error

// request is an admitted request.
type request struct {
	identifiers
	auth       access.Authorization
	narrowing  query.Narrowing // the key's, where it applies to the operation
	parameters *parameters
	url        string // of the operation, without a query
	service    *service
	exchange   *exchange
	large      bool // the body needs the large reservation
}

// reply is a successful response before it is written.
type reply struct {
	body        []byte
	leftOut     int            // bytes that found no room in the body, which is of no use then
	transcripts bool           // a report page with transcripts
	negotiated  bool           // the body's coding was chosen by the request
	coding      string         // empty: none
	snapshot    query.Snapshot // without a watermark: no header
	next        string         // URL of the next page; empty: none
	hasETag     bool           // a strong one
	etagSkip    int            // bytes at the body's beginning that the ETag leaves out
	noStore     bool           // Cache-Control: no-store
	retryAfter  int            // seconds; zero: no header
}

// size is the size of the body with what found no room in it.
func (out *reply) size() int { return len(out.body) + out.leftOut }

// systemPrefix is the beginning of the paths of all operations on one phone system.
const systemPrefix = "/customer/phone-systems/{phoneSystemId}"

// operations is the table of all operations, in the contract's order. The accessible phone systems are read from the primary,
// where coverage is decided too.
func operations(primary, p *query.Projection, store audio.Store, r *reports) []operation {
	const system, none = systemPrefix, limit.NoReport
	return []operation{
		{"listAccessiblePhoneSystems", "/customer/phone-systems", "", none, phoneSystems(primary)},
		{"listPhones", system + "/phones", access.ScopePhones, none, topologyList(p, "phone", phoneFilters()...)},
		{"getPhone", system + "/phones/{phoneId}", access.ScopePhones, none, topologyDetail(p, "phone")},
		{"listPhoneNumbers", system + "/phone-numbers", access.ScopePhoneNumbers, none, topologyList(p, "phone-number", phoneNumberFilters()...)},
		{"getPhoneNumber", system + "/phone-numbers/{phoneNumberId}", access.ScopePhoneNumbers, none, topologyDetail(p, "phone-number")},
		{"listExtensions", system + "/extensions", access.ScopeExtensions, none, topologyList(p, "extension", numberFilters()...)},
		{"getExtension", system + "/extensions/{extensionId}", access.ScopeExtensions, none, topologyDetail(p, "extension")},
		{"listAgentConfigs", system + "/agent-configs", access.ScopeAgentConfigs, none, topologyList(p, "agent-config", agentConfigFilters()...)},
		{"getAgentConfig", system + "/agent-configs/{agentConfigId}", access.ScopeAgentConfigs, none, topologyDetail(p, "agent-config")},
		{"listCallGroups", system + "/call-groups", access.ScopeCallGroups, none, topologyList(p, "call-group", numberFilters()...)},
		{"getCallGroup", system + "/call-groups/{callGroupId}", access.ScopeCallGroups, none, topologyDetail(p, "call-group")},
		{"listCallMenus", system + "/call-menus", access.ScopeCallMenus, none, topologyList(p, "call-menu", callMenuFilters()...)},
		{"getCallMenu", system + "/call-menus/{callMenuId}", access.ScopeCallMenus, none, topologyDetail(p, "call-menu")},
		{"listCallLogs", system + "/call-logs", access.ScopeCalls, none, datedList(p.CallLogs(), callLog(), callLogFilters())},
		{"getCallLog", system + "/call-logs/{callLogId}", access.ScopeCalls, none, detail(p.CallLog(), encode.NewLayout(callLogDetail()...))},
		{"listCallLogReports", system + "/call-log-reports", access.ScopeCalls, limit.CallLogReports, r.list},
		{"getCallLogReportDimensions", system + "/call-log-reports/dimensions", access.ScopeCalls, limit.Dimensions, r.dimensions},
		{"listCallAnalyses", system + "/call-analyses", access.ScopeCalls, none, datedList(p.CallAnalyses(), callAnalysis(), callAnalysisFilters())},
		{"getCallAnalysis", system + "/call-analyses/{id}", access.ScopeCalls, none, detail(p.CallAnalysis(), encode.NewLayout(callAnalysis()...))},
		{"listVoicemails", system + "/voicemails", access.ScopeVoicemails, none, datedList(p.Voicemails(), voicemail(), nil)},
		{"getVoicemail", system + "/voicemails/{voicemailId}", access.ScopeVoicemails, none, detail(p.Voicemail(), encode.NewLayout(voicemailDetail()...))},
		{"listCallRecordings", system + "/recordings", access.ScopeRecordings, none, datedList(p.CallRecordings(), callRecording(), callRecordingFilters())},
		{"getCallRecording", system + "/recordings/{recordingSid}", access.ScopeRecordings, none, detail(p.CallRecording(), encode.NewLayout(callRecording()...))},
		{"getCallRecordingUrl", system + "/recordings/{recordingSid}/url", access.ScopeRecordings, none, recordingURL(p, store)},
	}
}

func (o operation) isReport() bool { return o.Report != limit.NoReport }

// allowedFor reports whether the key has the scope that the operation needs.
func (o operation) allowedFor(a access.Authorization) bool {
	switch {
	case o.Scope == "":
		return true
	case o.isReport() && a.Narrowing.On:
		return false
	}
	return a.Allows(o.Scope)
}

// narrowing is the key's narrowing where it applies to the operation: only calls:read can be narrowed.
func (o operation) narrowing(a access.Authorization) query.Narrowing {
	if o.Scope != access.ScopeCalls {
		return query.Narrowing{}
	}
	return query.Narrowing(a.Narrowing)
}

// approved are the operations that the approval record lists. An approval without an operation is an error.
func approved(all []operation, approvals docs.Approvals) ([]operation, error) {
	var problems []error
	for _, a := range approvals {
		if !slices.ContainsFunc(all, func(o operation) bool { return o.ID == a.Operation }) {
			problems = append(problems, fmt.Errorf("approval of %q: no such operation", a.Operation))
		}
	}
	served := slices.DeleteFunc(slices.Clone(all), func(o operation) bool {
		_, listed := approvals.Stage(o.ID)
		return !listed
	})
	return served, errors.Join(problems...)
}

// routes find a request's operation. The router only matches and never serves: its redirects and plain-text responses, for which
// it skips middleware, are not used.
type routes struct {
	router *mux.Router
	byID   map[string]operation
}

func newRoutes(base string, served []operation) *routes {
	t := &routes{router: mux.NewRouter().SkipClean(true).UseEncodedPath(), byID: make(map[string]operation)}
	for _, o := range inOrderOfUse(served) {
		t.router.MatcherFunc(hasText(o.Path)).Path(base + o.Path).Name(o.ID)
		t.byID[o.ID] = o
	}
	return t
}

// inOrderOfUse returns the operations with those first that are requested most, because the router tries one after the other.
func inOrderOfUse(served []operation) []operation {
	most := []string{"listCallLogReports", "listCallLogs"}
	isMost := func(o operation) bool { return slices.Contains(most, o.ID) }
	first := slices.DeleteFunc(slices.Clone(served), func(o operation) bool { return !isMost(o) })
	slices.SortFunc(first, func(a, b operation) int { return slices.Index(most, a.ID) - slices.Index(most, b.ID) })
	return append(first, slices.DeleteFunc(slices.Clone(served), isMost)...)
}

// hasText matches requests whose path has the text of an operation's path that comes after the phone system. It saves the router from
// trying the regular expressions of the other operations.
func hasText(path string) mux.MatcherFunc {
	text, _, _ := strings.Cut(strings.TrimPrefix(path, systemPrefix), "{")
	return func(r *http.Request, _ *mux.RouteMatch) bool { return strings.Contains(r.URL.EscapedPath(), text) }
}

// find is the request's operation and the path's variables, still encoded. The error is a [*problem].
func (t *routes) find(r *http.Request) (operation, map[string]string, error) {
	var match mux.RouteMatch
	switch {
	case !t.router.Match(r, &match):
		return operation{}, nil, &problem{code: notFound}
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return operation{}, nil, &problem{code: methodNotAllowed}
	}
	return t.byID[match.Route.GetName()], match.Vars, nil
}
