package query

import _ "embed" // the statements

//go:embed list_call_logs.sql
var listCallLogsSQL string

//go:embed list_call_logs_own.sql
var listCallLogsOwnSQL string

//go:embed get_call_log.sql
var getCallLogSQL string

// CallLogs are a system's calls.
func (p *Projection) CallLogs() *List {
	return p.list("call logs", source{
		counted: "call_log",
		rows:    listCallLogsSQL,
		picks:   []condition{equals(CallSid)},
		divides: ownCall(),
	})
}

// CallLog is a call with its transcript's text, which is null exactly where the status isn't completed.
func (p *Projection) CallLog() *Detail { return p.ownDetail("call log", getCallLogSQL, ownCall()) }

func ownCall() condition {
	return condition{
		column: own,
		sql:    "(r.answered_by_extension_id = ? or r.from_extension_id = ?)",
		keys:   listCallLogsOwnSQL,
	}
}
