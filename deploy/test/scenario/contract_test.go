package scenario_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// TestContract publishes the events of a small phone company, and compares the answers of all 24 operations with
// what the contract says.
func TestContract(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, prove := range map[string]func(*fixture){
		"operations": (*fixture).checkOperations, "answers": (*fixture).checkAnswers, "reports": (*fixture).checkReports,
		"audio": (*fixture).checkAudio, "coverage": (*fixture).checkCoverage, "audit": (*fixture).checkAudit,
	} {
		t.Run(name, func(t *testing.T) { prove(f.in(t)) })
	}
}

// checkOperations requests each operation, and the same path of other versions.
func (f *fixture) checkOperations() {
	for _, o := range operations() {
		a := f.get(f.key, f.example(o))
		if got := a.header.Get("Content-Type"); a.status != http.StatusOK || got != "application/json" {
			f.Errorf("%s: status = %d, Content-Type = %s, want 200 and application/json: %s", o.id, a.status, got, a.text)
		}
	}
	for _, version := range []string{"", "/v0", "/v2"} {
		f.checkOutcome(version, f.send(f.api.URL+version+"/customer/phone-systems", keyHeader(f.key)), "404 NOT_FOUND")
	}
}

// checkAnswers compares lists and details with the published states: of each resource, a row with all values and
// one with few.
func (f *fixture) checkAnswers() {
	for path, rows := range f.lists() {
		f.expectJSON(f.key, f.harbourPath(path), "data", rows)
		f.expectJSON(f.key, f.harbourPath(path), "total", len(rows))
	}
	for path, row := range f.details() {
		f.expectJSON(f.key, f.harbourPath(path), "", row)
	}
	f.expectJSON(f.key, f.harbourPath("/call-logs?callSid="+fullSid), "data", []fields{f.legRow(), f.callRow()})
	f.expectJSON(f.key, f.harbourPath("/call-analyses?callLogId="+f.full.String()), "data", []fields{f.analysisRow()})
	f.expectOutcome(f.key, f.harbourPath("/recordings/"+lostRecording), "404 NOT_FOUND")
	f.expectOutcome(f.key, f.harbourPath("/recordings/"+messageRecording), "404 NOT_FOUND")
}

// checkReports compares report rows and the dimensions with the published states.
func (f *fixture) checkReports() {
	for query, want := range map[string][]fields{
		wholeWindow: {f.bareReportRow(), f.reportRow()},
		wholeWindow + "&includeTranscripts=true": {
			f.bareReportRow().and(fields{"transcript": nil}), f.reportRow().and(fields{"transcript": f.reportTranscript()}),
		},
	} {
		page := f.mustGet(f.key, f.harbourPath("/call-log-reports?"+query))
		rows, _ := page["data"].([]any)
		f.equalJSON("the calls", column(rows, "id"), []any{f.bare, f.full, f.leg})
		f.equalJSON("hasMore", page["hasMore"], false)
		for i, row := range want {
			got := rows[i].(map[string]any)
			delete(got, "updatedAt") // the time of the projector
			f.equalJSON(query, got, row)
		}
	}
	snapshot := f.mustGet(f.key, f.harbourPath(dimensionsPath))
	delete(snapshot, "generatedAt")
	f.equalJSON("the dimensions", snapshot, f.dimensions())
}

// checkAudio plays the audio of a call and of a voicemail by their signed URLs.
func (f *fixture) checkAudio() {
	for sid, audio := range map[string]string{fullRecording: fullAudio, messageRecording: messageAudio} {
		before := time.Now().Truncate(time.Second)
		link := f.mustGet(f.key, f.harbourPath("/recordings/"+sid+"/url"))
		f.equalStrings("the members", memberNames(link), []string{"expiresAt", "url"})
		expires, err := time.Parse(time.RFC3339, link["expiresAt"].(string))
		if issued := expires.Add(-15 * time.Minute); err != nil || issued.Before(before) || issued.After(time.Now()) {
			f.Errorf("expiresAt = %s, %v, want 15 minutes after the request", expires, err)
		}
		a := f.fetchAudio(link)
		f.equalJSON("the audio", []any{a.status, a.header.Get("Content-Type"), a.text}, []any{200, "audio/wav", audio})
	}
	f.expectOutcome(f.key, f.harbourPath("/recordings/"+processingRecording+"/url"), "409 RECORDING_NOT_READY")
	f.expectOutcome(f.key, f.harbourPath("/recordings/"+lostRecording+"/url"), "404 NOT_FOUND")
}

// fetchAudio requests a signed URL without a key.
func (h *harness) fetchAudio(link map[string]any) answer {
	h.Helper()
	url, _ := link["url"].(string)
	return h.send(url, http.Header{})
}

// checkCoverage changes what grants cover, and the names of systems, between requests with the same keys.
func (f *fixture) checkCoverage() {
	f.expectSystems(f.grantKey(access.GrantOrganization, f.organization), f.annex, "Annex", f.harbour, "Harbour Dental")
	system, organization, group := uuid.New(), uuid.New(), uuid.New()
	direct, attached, member := f.systemKey(system), f.grantKey(access.GrantOrganization, organization), f.grantKey(access.GrantGroup, group)
	covers := func(name string, keys ...access.Key) {
		f.Helper()
		for _, key := range []access.Key{direct, attached, member} {
			covered, want := []any{}, "404 NOT_FOUND"
			if slices.Contains(keys, key) {
				covered, want = []any{system, name}, "200"
			}
			f.expectSystems(key, covered...)
			f.expectOutcome(key, "/"+system.String()+"/phones", want)
		}
	}
	change := func(version int64, name string, organization events.Null[uuid.UUID], members ...uuid.UUID) {
		f.Helper()
		f.apply(changed(&events.PhoneSystem{ID: system, Version: version, Name: name, OrganizationID: organization},
			&events.Group{ID: group, Version: version, Name: "G", PhoneSystemIDs: members})...)
	}

	covers("")
	change(1, "First", events.Null[uuid.UUID]{})
	covers("First", direct)
	change(2, "Second", events.Some(organization), system)
	covers("Second", direct, attached, member)
	change(3, "Third", events.Some(f.child), uuid.New())
	covers("Third", direct)
	f.apply(deleted(phoneSystem(system, 4, "")))
	covers("")
}

// expectSystems compares what a key discovers with systems, given as id and name in turn.
func (f *fixture) expectSystems(key access.Key, systems ...any) {
	f.Helper()
	rows := []any{}
	for i := 0; i < len(systems); i += 2 {
		rows = append(rows, fields{"id": systems[i], "name": systems[i+1]})
	}
	f.expectJSON(key, "", "", fields{"data": rows})
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
