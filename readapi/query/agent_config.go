package query

import _ "embed" // the statements

//go:embed list_agent_configs.sql
var listAgentConfigsSQL string

// AgentConfigs are a system's agent configs.
func (p *Projection) AgentConfigs() *List {
	return p.list("agent configs", source{
		counted: "agent_config",
		rows:    listAgentConfigsSQL,
		picks:   []condition{equals(AgentNumber)},
		divides: equals(Status),
	})
}

// AgentConfig is an agent config, with no more than the list says of it.
func (p *Projection) AgentConfig() *Detail {
	return p.detail("agent config", listAgentConfigsSQL, "id")
}
