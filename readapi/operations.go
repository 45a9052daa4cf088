package readapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/docs"
	"callboard/readapi/limit"
	"callboard/readapi/query"
)

// operation is one row of the operations table. Its ID is the operation's name in the contract, in logs and in metrics.
// It never changes once it is published.
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
	narrowing  access.Narrowing // the key's, where it applies to the operation
	parameters *parameters
	url        string // of the operation, without a query
	service    *service
	exchange   *exchange
	large      bool // the body needs the large reservation
}

// reply is a successful response before it is written.
type reply struct {
	body        []byte
	leftOut     int    // bytes that found no room in the body, which is of no use then
	transcripts bool   // a report page with transcripts
	negotiated  bool   // the body's coding was chosen by the request
	coding      string // empty: none

	// The headers.
	completeThrough time.Time // zero: no header
	next            string    // URL of the next page; empty: none
	hasETag         bool      // a strong one
	etagSkip        int       // bytes at the body's beginning that the ETag leaves out
	noStore         bool      // Cache-Control: no-store
	retryAfter      int       // seconds; zero: no header
}

// size is the size of the body with what found no room in it.
func (out *reply) size() int { return len(out.body) + out.leftOut }

// systemPrefix is the beginning of the paths of all operations on one phone system.
const systemPrefix = "/customer/phone-systems/{phoneSystemId}"

// operations is the table of all operations, in the contract's order. The accessible phone systems are read from the
// primary, where coverage is decided too.
func operations(primary, p *query.Projection, store audio.Store, r *reports) []operation {
	// The two constructors name what most operations have in common: they are on one phone system, and have no budget
	// of their own.
	on := func(id, path string, scope access.Scope, handle handler) operation {
		return operation{ID: id, Path: systemPrefix + path, Scope: scope, handle: handle}
	}
	report := func(id, path string, budget limit.Report, handle handler) operation {
		return operation{ID: id, Path: systemPrefix + path, Scope: access.ScopeCalls, Report: budget, handle: handle}
	}

	return []operation{
		{ID: "listAccessiblePhoneSystems", Path: "/customer/phone-systems", handle: phoneSystems(primary)},

		on("listPhones", "/phones", access.ScopePhones, topologyList(p, "phone")),
		on("getPhone", "/phones/{phoneId}", access.ScopePhones, topologyDetail(p, "phone")),
		on("listPhoneNumbers", "/phone-numbers", access.ScopePhoneNumbers, topologyList(p, "phone-number")),
		on("getPhoneNumber", "/phone-numbers/{phoneNumberId}", access.ScopePhoneNumbers, topologyDetail(p, "phone-number")),
		on("listExtensions", "/extensions", access.ScopeExtensions, topologyList(p, "extension")),
		on("getExtension", "/extensions/{extensionId}", access.ScopeExtensions, topologyDetail(p, "extension")),
		on("listAgentConfigs", "/agent-configs", access.ScopeAgentConfigs, topologyList(p, "agent-config")),
		on("getAgentConfig", "/agent-configs/{agentConfigId}", access.ScopeAgentConfigs, topologyDetail(p, "agent-config")),
		on("listCallGroups", "/call-groups", access.ScopeCallGroups, topologyList(p, "call-group")),
		on("getCallGroup", "/call-groups/{callGroupId}", access.ScopeCallGroups, topologyDetail(p, "call-group")),
		on("listCallMenus", "/call-menus", access.ScopeCallMenus, topologyList(p, "call-menu")),
		on("getCallMenu", "/call-menus/{callMenuId}", access.ScopeCallMenus, topologyDetail(p, "call-menu")),

		on("listCallLogs", "/call-logs", access.ScopeCalls, datedList(p.CallLogs(), callLog(), callSidFilter())),
		on("getCallLog", "/call-logs/{callLogId}", access.ScopeCalls, detail(p.CallLog(), callLog(transcription()...))),
		report("listCallLogReports", "/call-log-reports", limit.CallLogReports, r.list),
		report("getCallLogReportDimensions", "/call-log-reports/dimensions", limit.Dimensions, r.dimensions),
		on("listCallAnalyses", "/call-analyses", access.ScopeCalls,
			datedList(p.CallAnalyses(), callAnalysis(), callSidFilter(), callLogIDFilter())),
		on("getCallAnalysis", "/call-analyses/{id}", access.ScopeCalls, detail(p.CallAnalysis(), callAnalysis())),

		on("listVoicemails", "/voicemails", access.ScopeVoicemails, datedList(p.Voicemails(), voicemail())),
		on("getVoicemail", "/voicemails/{voicemailId}", access.ScopeVoicemails,
			detail(p.Voicemail(), voicemail(transcription()...))),

		on("listCallRecordings", "/recordings", access.ScopeRecordings,
			datedList(p.CallRecordings(), callRecording(), recordingStatusFilter(), callSidFilter())),
		on("getCallRecording", "/recordings/{recordingSid}", access.ScopeRecordings,
			detail(p.CallRecording(), callRecording())),
		on("getCallRecordingUrl", "/recordings/{recordingSid}/url", access.ScopeRecordings, recordingURL(p, store)),
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
func (o operation) narrowing(a access.Authorization) access.Narrowing {
	if o.Scope != access.ScopeCalls {
		return access.Narrowing{}
	}
	return a.Narrowing
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

// routes find a request's operation. The router only matches and never serves: its redirects and plain-text responses,
// for which it skips middleware, are not used.
type routes struct {
	router *mux.Router
	byID   map[string]operation
}

// newRoutes returns the routes of the served operations, below the base URL's path.
func newRoutes(base string, served []operation) *routes {
	t := &routes{router: mux.NewRouter().SkipClean(true).UseEncodedPath(), byID: make(map[string]operation)}

	// The router tries one route after the other, so the operations that are requested most are first.
	most := []string{"listCallLogs", "listCallLogReports"}
	ordered := slices.Clone(served)
	slices.SortStableFunc(ordered, func(a, b operation) int { return slices.Index(most, b.ID) - slices.Index(most, a.ID) })
	for _, o := range ordered {
		t.router.MatcherFunc(hasText(o.Path)).Path(base + o.Path).Name(o.ID)
		t.byID[o.ID] = o
	}
	return t
}

// hasText matches requests whose path has the text that follows the phone system in an operation's path. It saves the
// router from trying the regular expressions of the other operations.
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
