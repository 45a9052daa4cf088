package readapi

import (
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/query"
)

// operation is one row of the register. Its ID is the operation's name in the contract, in logs and in metrics, and never
// changes once published.
type operation struct {
	ID     string
	Path   string       // below the base URL
	Scope  access.Scope // empty: any tenant key
	Report bool         // needs its scope across the whole phone system
	answer answer
}

// operations are the register, in the contract's order. Discovery is coverage: it asks the primary.
func operations(primary, p *query.Projection, store audio.Store, r *reports) []operation {
	const system = "/customer/phone-systems/{phoneSystemId}"
	return []operation{
		{"listAccessiblePhoneSystems", "/customer/phone-systems", "", false, discovery(primary)},
		{"listPhones", system + "/phones", access.ScopePhones, false, topologyList(p.Phones(), phone(), phoneFilters())},
		{"getPhone", system + "/phones/{phoneId}", access.ScopePhones, false, detail(p.Phone(), phoneDetail())},
		{"listPhoneNumbers", system + "/phone-numbers", access.ScopePhoneNumbers, false, topologyList(p.PhoneNumbers(), phoneNumber(), phoneNumberFilters())},
		{"getPhoneNumber", system + "/phone-numbers/{phoneNumberId}", access.ScopePhoneNumbers, false, detail(p.PhoneNumber(), phoneNumberDetail())},
		{"listExtensions", system + "/extensions", access.ScopeExtensions, false, topologyList(p.Extensions(), extension(), extensionFilters())},
		{"getExtension", system + "/extensions/{extensionId}", access.ScopeExtensions, false, detail(p.Extension(), extensionDetail())},
		{"listAgentConfigs", system + "/agent-configs", access.ScopeAgentConfigs, false, topologyList(p.AgentConfigs(), agentConfig(), agentConfigFilters())},
		{"getAgentConfig", system + "/agent-configs/{agentConfigId}", access.ScopeAgentConfigs, false, detail(p.AgentConfig(), agentConfig())},
		{"listCallGroups", system + "/call-groups", access.ScopeCallGroups, false, topologyList(p.CallGroups(), callGroup(), callGroupFilters())},
		{"getCallGroup", system + "/call-groups/{callGroupId}", access.ScopeCallGroups, false, detail(p.CallGroup(), callGroupDetail())},
		{"listCallMenus", system + "/call-menus", access.ScopeCallMenus, false, topologyList(p.CallMenus(), callMenu(), callMenuFilters())},
		{"getCallMenu", system + "/call-menus/{callMenuId}", access.ScopeCallMenus, false, detail(p.CallMenu(), callMenuDetail())},
		{"listCallLogs", system + "/call-logs", access.ScopeCalls, false, datedList(p.CallLogs(), callLog(), callLogFilters())},
		{"getCallLog", system + "/call-logs/{callLogId}", access.ScopeCalls, false, detail(p.CallLog(), callLogDetail())},
		{"listCallLogReports", system + "/call-log-reports", access.ScopeCalls, true, r.list},
		{"getCallLogReportDimensions", system + "/call-log-reports/dimensions", access.ScopeCalls, true, r.dimensions},
		{"listCallAnalyses", system + "/call-analyses", access.ScopeCalls, false, datedList(p.CallAnalyses(), callAnalysis(), callAnalysisFilters())},
		{"getCallAnalysis", system + "/call-analyses/{id}", access.ScopeCalls, false, detail(p.CallAnalysis(), callAnalysis())},
		{"listVoicemails", system + "/voicemails", access.ScopeVoicemails, false, datedList(p.Voicemails(), voicemail(), nil)},
		{"getVoicemail", system + "/voicemails/{voicemailId}", access.ScopeVoicemails, false, detail(p.Voicemail(), voicemailDetail())},
		{"listCallRecordings", system + "/recordings", access.ScopeRecordings, false, datedList(p.CallRecordings(), callRecording(), callRecordingFilters())},
		{"getCallRecording", system + "/recordings/{recordingSid}", access.ScopeRecordings, false, detail(p.CallRecording(), callRecording())},
		{"getCallRecordingUrl", system + "/recordings/{recordingSid}/url", access.ScopeRecordings, false, recordingURL(p, store)},
	}
}

// allows reports whether the permit carries what the operation needs.
func (o operation) allows(p access.Authorization) bool {
	switch {
	case o.Scope == "":
		return true
	case o.Report && p.Narrowing.On:
		return false
	}
	return p.Allows(o.Scope)
}

// narrowing is the permit's where it concerns the operation: calls:read alone can be narrowed.
func (o operation) narrowing(p access.Authorization) query.Narrowing {
	if o.Scope != access.ScopeCalls {
		return query.Narrowing{}
	}
	return query.Narrowing(p.Narrowing)
}
