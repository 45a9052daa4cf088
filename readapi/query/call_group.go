package query

import _ "embed" // the statements

//go:embed list_call_groups.sql
var listCallGroupsSQL string

//go:embed get_call_group.sql
var getCallGroupSQL string

// CallGroups are a system's call groups.
func (p *Projection) CallGroups() *List {
	return p.list("call groups", source{
		counted: "call_group",
		rows:    listCallGroupsSQL,
		picks:   []condition{equals(Number)},
		divides: equals(Status),
	})
}

// CallGroup is a call group with its members and what happens to calls that they don't answer.
func (p *Projection) CallGroup() *Detail { return p.detail("call group", getCallGroupSQL, "id") }
