package fault_test

import "cmp"

// resource is what a phone system has a list of, and a detail of each.
type resource struct {
	path         string
	list, detail string // the operations
}

func resources() []resource {
	return []resource{
		{"phones", "listPhones", "getPhone"},
		{"phone-numbers", "listPhoneNumbers", "getPhoneNumber"},
		{"extensions", "listExtensions", "getExtension"},
		{"agent-configs", "listAgentConfigs", "getAgentConfig"},
		{"call-groups", "listCallGroups", "getCallGroup"},
		{"call-menus", "listCallMenus", "getCallMenu"},
		{"call-logs", "listCallLogs", "getCallLog"},
		{"call-analyses", "listCallAnalyses", "getCallAnalysis"},
		{"voicemails", "listVoicemails", "getVoicemail"},
		{"recordings", "listCallRecordings", "getCallRecording"},
	}
}

// operations is how many there are: lists and details, discovery, two of reports and the link to a recording.
const operations = 24

// listPage is what a client needs of a list's page.
type listPage struct {
	Data       []listRow
	TotalPages int
}

type listRow struct {
	ID           string
	RecordingSid string
}

// name is what the row's detail is asked for by.
func (r listRow) name() string { return cmp.Or(r.ID, r.RecordingSid) }
