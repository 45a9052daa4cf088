package query

import _ "embed" // the statements

//go:embed list_call_analyses.sql
var listCallAnalysesSQL string

//go:embed list_call_analyses_own.sql
var listCallAnalysesOwnSQL string

// CallAnalyses are the analyses of a system's calls.
func (p *Projection) CallAnalyses() *List {
	return p.list("call analyses", source{
		counted: "analysis",
		rows:    listCallAnalysesSQL,
		picks:   []condition{equals(CallLogID), equals(CallSid)},
		divides: ownAnalysis(),
	})
}

// CallAnalysis is an analysis, with no more than the list says of it.
func (p *Projection) CallAnalysis() *Detail {
	return p.ownDetail("call analysis", listCallAnalysesSQL, ownAnalysis())
}

func ownAnalysis() condition {
	return condition{
		column: own,
		sql: `exists (
    select
    from projection.call_log c
    where c.system_id = r.system_id
      and c.id = r.call_id
      and (c.answered_by_extension_id = ? or c.from_extension_id = ?)
  )`,
		keys: listCallAnalysesOwnSQL,
	}
}
