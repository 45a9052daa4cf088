package readapi

import (
	"strings"
	"testing"
)

// Every filter of every list, as the problems that its values make.
func TestFilters(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	key := r.key(system)
	free := func(name string) map[string]string {
		return map[string]string{
			name + "=" + strings.Repeat("%C3%A4", 255): "",
			name + "=" + strings.Repeat("a", 256):      "/" + name + " TOO_LONG",
			name + "=":                                 "/" + name + " INVALID_FORMAT",
			name + "=%00":                              "/" + name + " INVALID_FORMAT",
			name + "=%FF":                              "/" + name + " INVALID_FORMAT",
			name + "=a&" + name + "=b":                 "/" + name + " REPEATED",
			name + "=%27%3B%20--%25_%5C":               "",
		}
	}
	identifier := func(name string) map[string]string {
		return map[string]string{
			name + "=7D9F4C1E-0000-4000-8000-00000000000F":   "",
			name + "=7d9f4c1e000040008000000000000001":       "/" + name + " INVALID_FORMAT",
			name + "=%7B7d9f4c1e-0000-4000-8000-00000001%7D": "/" + name + " INVALID_FORMAT",
			name + "=x": "/" + name + " INVALID_FORMAT",
			name + "=":  "/" + name + " INVALID_FORMAT",
		}
	}
	callSid := map[string]string{
		"callSid=" + strings.Repeat("a", 64): "",
		"callSid=" + strings.Repeat("a", 65): "/callSid TOO_LONG",
		"callSid=":                           "/callSid INVALID_FORMAT",
	}
	dates := map[string]string{
		"dateFrom=2026-03-01": "/dateFrom INVALID_FORMAT",
		"dateFrom=2026-03-01T00:00:00Z&dateTo=2026-02-01T00:00:00Z": "/dateTo TOO_SMALL",
		"dateFrom=2026-03-01T00:00:00Z&dateTo=2126-02-01T00:00:00Z": "",
	}
	noDates := map[string]string{"dateTo=2026-02-01T00:00:00Z": "/dateTo UNKNOWN_PARAMETER"}
	for operation, tables := range map[string][]map[string]string{
		"listPhones": {free("status"), identifier("extensionId"), noDates, {
			"extensionId=x&status=&number=1": "/status INVALID_FORMAT, /extensionId INVALID_FORMAT, /number UNKNOWN_PARAMETER",
		}},
		"listPhoneNumbers": {free("status"), free("phoneNumber"), noDates, {
			"phoneNumber=%2B15550001": "",
			"phoneNumber=+15550001":   "/phoneNumber INVALID_FORMAT",
			"phoneNumber=15550001":    "",
			"number=1":                "/number UNKNOWN_PARAMETER",
		}},
		"listExtensions": {free("status"), free("number"), noDates},
		"listAgentConfigs": {noDates, {
			"status=active": "", "status=inactive": "", "status=paused": "", "status=archived": "", "status=testing": "",
			"status=Active":   "/status NOT_ALLOWED",
			"status=released": "/status NOT_ALLOWED",
			"status=":         "/status INVALID_FORMAT",
			"agentNumber=1":   "", "agentNumber=9": "",
			"agentNumber=0":            "/agentNumber TOO_SMALL",
			"agentNumber=10":           "/agentNumber TOO_LARGE",
			"agentNumber=1.0":          "/agentNumber INVALID_FORMAT",
			"agentNumber=x&status=y&z": "/status NOT_ALLOWED, /agentNumber INVALID_FORMAT, /z UNKNOWN_PARAMETER",
		}},
		"listCallGroups":   {free("status"), free("number"), noDates},
		"listCallMenus":    {free("status"), noDates, {"number=1": "/number UNKNOWN_PARAMETER"}},
		"listCallLogs":     {callSid, dates, {"status=completed": "/status UNKNOWN_PARAMETER"}},
		"listCallAnalyses": {callSid, identifier("callLogId"), dates, {"status=completed": "/status UNKNOWN_PARAMETER"}},
		"listVoicemails":   {dates, {"callSid=CA1": "/callSid UNKNOWN_PARAMETER"}},
		"listCallRecordings": {callSid, dates, {
			"status=ready": "", "status=processing": "",
			"status=unavailable": "/status NOT_ALLOWED",
			"status=READY":       "/status NOT_ALLOWED",
			"callLogId=7d9f4c1e-0000-4000-8000-000000000001": "/callLogId UNKNOWN_PARAMETER",
		}},
	} {
		path := operationNamed(t, operation).examplePath(system.String())
		for _, table := range append(tables, map[string]string{"page=0": "/page TOO_SMALL", "pageSize=101": "/pageSize TOO_LARGE"}) {
			for query, want := range table {
				r.expectProblems(path+"?"+query, key, want)
			}
		}
	}
}

// No detail has parameters.
func TestFilters_Details(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	key := r.key(system)
	for _, o := range register() {
		if strings.HasPrefix(o.ID, "get") && !o.Report {
			r.expectProblems(o.examplePath(system.String())+"?page=1", key, "/page UNKNOWN_PARAMETER")
		}
	}
}
