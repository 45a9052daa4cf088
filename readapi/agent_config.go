package readapi

import "callboard/readapi/query"

// agentConfig is the list's row and the detail.
func agentConfig() []field {
	return []field{
		{"id", identifier},
		{"phoneSystemId", identifier},
		{"name", text},
		{"agentNumber", integer},
		{"status", text},
		{"createdAt", dateTime},
		{"updatedAt", dateTime},
	}
}

func agentConfigFilters() []filter {
	return []filter{
		{"status", query.Status, oneOf("active", "inactive", "paused", "archived", "testing")},
		{"agentNumber", query.AgentNumber, (*parameters).agentNumber},
	}
}
