package readapi

import (
	"callboard/readapi/encode"
	"callboard/readapi/query"
)

// topologyFields are the members of every topology row, with those of one resource before its status.
func topologyFields(members ...encode.Member) []encode.Member {
	fields := append([]encode.Member{encode.Identifier("id"), encode.Identifier("phoneSystemId")}, members...)
	return append(fields, encode.Text("status"), encode.Instant("createdAt"), encode.Instant("updatedAt"))
}

func phone() []encode.Member { return topologyFields(encode.Text("name")) }

func phoneDetail() []encode.Member {
	return append(phone(),
		encode.JSON("hardware"),
		encode.Text("deviceRole"),
		encode.Reference("parentPhone", "phone"),
		encode.Integer("slot"),
		encode.Text("macAddress"),
		encode.Text("firmware"),
		encode.Reference("extension", "extension"),
	)
}

func phoneFilters() []filter {
	return []filter{
		{"status", query.Status, (*parameters).freeText},
		{"extensionId", query.ExtensionID, (*parameters).identifier},
	}
}

func phoneNumber() []encode.Member {
	return topologyFields(encode.Text("phoneNumber"), encode.Text("label"))
}

func phoneNumberDetail() []encode.Member {
	return append(phoneNumber(),
		encode.Text("origin"),
		encode.Text("country"),
		encode.Boolean("isPrimary"),
	)
}

func phoneNumberFilters() []filter {
	return []filter{
		{"status", query.Status, (*parameters).freeText},
		{"phoneNumber", query.PhoneNumber, (*parameters).freeText},
	}
}

func extension() []encode.Member { return topologyFields(encode.Text("name"), encode.Text("number")) }

func extensionDetail() []encode.Member {
	return append(extension(),
		encode.JSON("assignedPhones"),
		encode.JSON("unansweredAction"),
		encode.JSON("voicemailGreeting"),
	)
}

// agentConfig is the list's row and the detail.
func agentConfig() []encode.Member {
	return topologyFields(encode.Text("name"), encode.Integer("agentNumber"))
}

func agentConfigFilters() []filter {
	return []filter{
		{"status", query.Status, oneOf("active", "inactive", "paused", "archived", "testing")},
		{"agentNumber", query.AgentNumber, (*parameters).agentNumber},
	}
}

func callGroup() []encode.Member { return topologyFields(encode.Text("name"), encode.Text("number")) }

func callGroupDetail() []encode.Member {
	return append(callGroup(),
		encode.JSON("members"),
		encode.Text("ringPattern"),
		encode.JSON("unansweredAction"),
		encode.JSON("voicemailGreeting"),
	)
}

// numberFilters are those of extensions and of call groups.
func numberFilters() []filter {
	return []filter{
		{"status", query.Status, (*parameters).freeText},
		{"number", query.Number, (*parameters).freeText},
	}
}

func callMenu() []encode.Member { return topologyFields(encode.Text("name")) }

func callMenuDetail() []encode.Member {
	return append(callMenu(),
		encode.JSON("prompt"),
		encode.JSON("choices"),
		encode.Boolean("directExtensionDialing"),
		encode.JSON("noInputAction"),
	)
}

func callMenuFilters() []filter {
	return []filter{{"status", query.Status, (*parameters).freeText}}
}
