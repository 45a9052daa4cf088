package readapi

import "callboard/readapi/query"

// topologyFields are the members of every topology row, with those of one resource before its status.
func topologyFields(members ...field) []field {
	fields := append([]field{{"id", identifier}, {"phoneSystemId", identifier}}, members...)
	return append(fields, field{"status", text}, field{"createdAt", dateTime}, field{"updatedAt", dateTime})
}

func phone() []field { return topologyFields(field{"name", text}) }

func phoneDetail() []field {
	return append(phone(),
		field{"hardware", storedJSON},
		field{"deviceRole", text},
		field{"parentPhone", reference("phone")},
		field{"slot", integer},
		field{"macAddress", text},
		field{"firmware", text},
		field{"extension", reference("extension")},
	)
}

func phoneFilters() []filter {
	return []filter{
		{"status", query.Status, (*parameters).freeText},
		{"extensionId", query.ExtensionID, (*parameters).identifier},
	}
}

func phoneNumber() []field { return topologyFields(field{"phoneNumber", text}, field{"label", text}) }

func phoneNumberDetail() []field {
	return append(phoneNumber(),
		field{"origin", text},
		field{"country", text},
		field{"isPrimary", boolean},
	)
}

func phoneNumberFilters() []filter {
	return []filter{
		{"status", query.Status, (*parameters).freeText},
		{"phoneNumber", query.PhoneNumber, (*parameters).phoneNumber},
	}
}

func extension() []field { return topologyFields(field{"name", text}, field{"number", text}) }

func extensionDetail() []field {
	return append(extension(),
		field{"assignedPhones", storedJSON},
		field{"unansweredAction", storedJSON},
		field{"voicemailGreeting", storedJSON},
	)
}

// agentConfig is the list's row and the detail.
func agentConfig() []field { return topologyFields(field{"name", text}, field{"agentNumber", integer}) }

func agentConfigFilters() []filter {
	return []filter{
		{"status", query.Status, oneOf("active", "inactive", "paused", "archived", "testing")},
		{"agentNumber", query.AgentNumber, (*parameters).agentNumber},
	}
}

func callGroup() []field { return topologyFields(field{"name", text}, field{"number", text}) }

func callGroupDetail() []field {
	return append(callGroup(),
		field{"members", storedJSON},
		field{"ringPattern", text},
		field{"unansweredAction", storedJSON},
		field{"voicemailGreeting", storedJSON},
	)
}

// numberFilters are those of extensions and of call groups.
func numberFilters() []filter {
	return []filter{
		{"status", query.Status, (*parameters).freeText},
		{"number", query.Number, (*parameters).freeText},
	}
}

func callMenu() []field { return topologyFields(field{"name", text}) }

func callMenuDetail() []field {
	return append(callMenu(),
		field{"prompt", storedJSON},
		field{"choices", storedJSON},
		field{"directExtensionDialing", boolean},
		field{"noInputAction", storedJSON},
	)
}

func callMenuFilters() []filter {
	return []filter{{"status", query.Status, (*parameters).freeText}}
}
