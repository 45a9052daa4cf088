package readapi

import (
	"callboard/readapi/access"
	"callboard/readapi/query"
)

// operation is one row of the register. Its ID is the operation's name in the contract, in logs and in metrics, and never
// changes once published.
type operation struct {
	ID     string
	Path   string       // below the base URL
	Scope  access.Scope // empty: any tenant key
	Report bool         // needs its scope across the whole phone system
	Stage  string
	answer answer // nil: published, not implemented yet
}

// beta is the lifecycle stage of everything in version 1.
const beta = "beta"

// operations are the register, in the contract's order.
func operations(p *query.Projection) []operation {
	const system = "/customer/phone-systems/{phoneSystemId}"
	return []operation{
		{"listAccessiblePhoneSystems", "/customer/phone-systems", "", false, beta, discovery(p)},
		{"listPhones", system + "/phones", access.ScopePhones, false, beta, nil},
		{"getPhone", system + "/phones/{phoneId}", access.ScopePhones, false, beta, nil},
		{"listPhoneNumbers", system + "/phone-numbers", access.ScopePhoneNumbers, false, beta, nil},
		{"getPhoneNumber", system + "/phone-numbers/{phoneNumberId}", access.ScopePhoneNumbers, false, beta, nil},
		{"listExtensions", system + "/extensions", access.ScopeExtensions, false, beta, nil},
		{"getExtension", system + "/extensions/{extensionId}", access.ScopeExtensions, false, beta, nil},
		{"listAgentConfigs", system + "/agent-configs", access.ScopeAgentConfigs, false, beta, nil},
		{"getAgentConfig", system + "/agent-configs/{agentConfigId}", access.ScopeAgentConfigs, false, beta, nil},
		{"listCallGroups", system + "/call-groups", access.ScopeCallGroups, false, beta, nil},
		{"getCallGroup", system + "/call-groups/{callGroupId}", access.ScopeCallGroups, false, beta, nil},
		{"listCallMenus", system + "/call-menus", access.ScopeCallMenus, false, beta, nil},
		{"getCallMenu", system + "/call-menus/{callMenuId}", access.ScopeCallMenus, false, beta, nil},
		{"listCallLogs", system + "/call-logs", access.ScopeCalls, false, beta, datedList(callLogFilter, p.ListCallLogs, appendCallLog)},
		{"getCallLog", system + "/call-logs/{callLogId}", access.ScopeCalls, false, beta, detail(callLogKey, p.GetCallLog, appendCallLogDetail)},
		{"listCallLogReports", system + "/call-log-reports", access.ScopeCalls, true, beta, nil},
		{"getCallLogReportDimensions", system + "/call-log-reports/dimensions", access.ScopeCalls, true, beta, nil},
		{"listCallAnalyses", system + "/call-analyses", access.ScopeCalls, false, beta, nil},
		{"getCallAnalysis", system + "/call-analyses/{id}", access.ScopeCalls, false, beta, nil},
		{"listVoicemails", system + "/voicemails", access.ScopeVoicemails, false, beta, nil},
		{"getVoicemail", system + "/voicemails/{voicemailId}", access.ScopeVoicemails, false, beta, nil},
		{"listCallRecordings", system + "/recordings", access.ScopeRecordings, false, beta, nil},
		{"getCallRecording", system + "/recordings/{recordingSid}", access.ScopeRecordings, false, beta, nil},
		{"getCallRecordingUrl", system + "/recordings/{recordingSid}/url", access.ScopeRecordings, false, beta, nil},
	}
}

// allows reports whether the permit carries what the operation needs.
func (o operation) allows(p access.Permit) bool {
	switch {
	case o.Scope == "":
		return true
	case o.Report && p.Narrowing.On:
		return false
	}
	return p.Allows(o.Scope)
}
