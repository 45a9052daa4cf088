package query

import _ "embed" // the statements

//go:embed list_call_logs.sql
var listCallLogsSQL string

//go:embed list_call_logs_of_extension.sql
var listCallLogsOfExtensionSQL string

//go:embed get_call_log.sql
var getCallLogSQL string

// CallLogs lists a system's calls.
func (p *Projection) CallLogs() *List {
	return p.list("call logs", listSource{
		list: "call_log", rows: listCallLogsSQL, selective: []condition{equals(CallSid)}, counted: callOfExtension(),
	})
}

// CallLog is a call with its transcript's text, which is null unless the status is completed.
func (p *Projection) CallLog() *Detail {
	return &Detail{p, "call log", getCallLogSQL, Key.narrowable}
}

func callOfExtension() condition {
	return condition{
		column: narrowedExtension,
		sql:    "(r.answered_by_extension_id = ? or r.from_extension_id = ?)",
		keys:   listCallLogsOfExtensionSQL,
	}
}

//go:embed list_call_analyses.sql
var listCallAnalysesSQL string

//go:embed list_call_analyses_of_extension.sql
var listCallAnalysesOfExtensionSQL string

// CallAnalyses lists the analyses of a system's calls.
func (p *Projection) CallAnalyses() *List {
	return p.list("call analyses", listSource{
		list: "analysis", rows: listCallAnalysesSQL, selective: []condition{equals(CallLogID), equals(CallSid)},
		counted: analysisOfExtension(),
	})
}

//go:embed get_call_analysis.sql
var getCallAnalysisSQL string

// CallAnalysis is an analysis with the columns of the list.
func (p *Projection) CallAnalysis() *Detail {
	return &Detail{p, "call analysis", getCallAnalysisSQL, Key.narrowable}
}

func analysisOfExtension() condition {
	return condition{
		column: narrowedExtension,
		sql: `exists (
    select
    from projection.call_log c
    where c.partition = $1
      and c.system_id = r.system_id
      and c.id = r.call_id
      and (c.answered_by_extension_id = ? or c.from_extension_id = ?)
  )`,
		keys: listCallAnalysesOfExtensionSQL,
	}
}

//go:embed list_voicemails.sql
var listVoicemailsSQL string

//go:embed get_voicemail.sql
var getVoicemailSQL string

// Voicemails lists a system's voicemails.
func (p *Projection) Voicemails() *List {
	return p.list("voicemails", listSource{list: "voicemail", rows: listVoicemailsSQL})
}

// Voicemail is a voicemail with its transcript's text, as [Projection.CallLog] has it.
func (p *Projection) Voicemail() *Detail {
	return &Detail{p, "voicemail", getVoicemailSQL, Key.id}
}
