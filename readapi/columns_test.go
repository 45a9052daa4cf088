package readapi

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callboard/readapi/encode"
	"callboard/schema/schematest"
)

// tables are the members of the operations' rows.
func tables() map[string][]encode.Member {
	return map[string][]encode.Member{
		"listPhones": phone(), "getPhone": phoneDetail(),
		"listPhoneNumbers": phoneNumber(), "getPhoneNumber": phoneNumberDetail(),
		"listExtensions": extension(), "getExtension": extensionDetail(),
		"listAgentConfigs": agentConfig(), "getAgentConfig": agentConfig(),
		"listCallGroups": callGroup(), "getCallGroup": callGroupDetail(),
		"listCallMenus": callMenu(), "getCallMenu": callMenuDetail(),
		"listCallLogs": callLog(), "getCallLog": callLogDetail(),
		"listCallAnalyses": callAnalysis(), "getCallAnalysis": callAnalysis(),
		"listVoicemails": voicemail(), "getVoicemail": voicemailDetail(),
		"listCallRecordings": callRecording(), "getCallRecording": callRecording(),
		"listCallLogReports": transcribedReport(),
	}
}

// renamed are the columns whose members have another name.
func renamed() map[string]string {
	return map[string]string{
		"phoneSystemId": "system_id", "from": "from_party", "to": "to_party", "durationSeconds": "duration", "recordingSid": "id",
		"recordingDurationSeconds": "recording_duration", "parentPhone": "parent_phone_id", "extension": "extension_id", "callLogId": "call_id",
		"callGroup": "call_group_id", "answeredByExtension": "answered_by_extension_id", "fromExtension": "from_extension_id",
		"representative": "representative_state", "transcript": "text",
	}
}

var upper = regexp.MustCompile("[A-Z]")

// Every member is written from its column. The types are compared whenever a statement runs.
func TestTables(t *testing.T) {
	t.Parallel()
	last, option := keepLastStatement(t, "")
	h := newHarness(t, option)
	system := h.system("one")
	key := h.key(system)
	for id, members := range tables() {
		path := operationNamed(t, id).examplePath(system.String())
		if id == "listCallLogReports" {
			path = reportPath(system, reportQuery("includeTranscripts", "true"))
		}
		h.get(path, withKey(key))
		columns := h.columns(last)
		for _, m := range slices.Backward(members) {
			if len(m.Types) == 0 {
				continue
			}
			column := columns[len(columns)-len(m.Types)]
			columns = columns[:len(columns)-len(m.Types)]
			if name := strings.ToLower(upper.ReplaceAllString(m.Name, "_$0")); column != name && column != renamed()[m.Name] {
				t.Errorf("%s: %s is written from the column %s, want %s", id, m.Name, column, name)
			}
		}
	}
}

// A column of another type is a 500 with its cause in the log, also where the statement was prepared before.
func TestTables_UnexpectedType(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	for _, c := range []struct{ change, path, cause string }{
		{"alter table projection.agent_config alter agent_number type bigint", "/agent-configs", "column agent_number is of type 20"},
		{"alter table projection.call_log alter duration type bigint", "/call-log-reports?" + reportQuery(), "column duration is of type 20"},
	} {
		path := systemPath(system, c.path)
		h.expectCode(c.path, h.get(path, withKey(key)), "")
		h.exec(c.change)
		h.expectCode(c.path+" after "+c.change, h.get(path, withKey(key)), internalError)
		if log := h.log.String(); !strings.Contains(log, c.cause) {
			t.Errorf("log = %s, want %q in it", log, c.cause)
		}
	}
}

// columns are those of the statement that ran last.
func (h *harness) columns(last *lastStatement) []string {
	h.Helper()
	rows, err := h.config.Primary.Query(context.Background(), last.sql, last.arguments...)
	if err != nil {
		h.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for _, c := range rows.FieldDescriptions() {
		names = append(names, c.Name)
	}
	return names
}

// lastStatement is the statement that ran last.
type lastStatement struct {
	sql       string
	arguments []any
}

// keepLastStatement keeps the last statement on the projection that contains a text.
func keepLastStatement(tb testing.TB, text string) (last *lastStatement, option func(*Config)) {
	tb.Helper()
	last = new(lastStatement)
	return last, withTracer(tb, &schematest.Tracer{Statement: func(sql string, arguments []any) {
		if strings.Contains(sql, text) {
			*last = lastStatement{sql, arguments}
		}
	}})
}
