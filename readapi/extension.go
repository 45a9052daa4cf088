package readapi

import "callboard/readapi/query"

func extension() []field {
	return []field{
		{"id", identifier},
		{"phoneSystemId", identifier},
		{"name", text},
		{"number", text},
		{"status", text},
		{"createdAt", dateTime},
		{"updatedAt", dateTime},
	}
}

func extensionDetail() []field {
	return append(extension(),
		field{"assignedPhones", stored},
		field{"unansweredAction", stored},
		field{"voicemailGreeting", stored},
	)
}

func extensionFilters() []filter {
	return []filter{
		{"status", query.Status, (*parameters).free},
		{"number", query.Number, (*parameters).free},
	}
}
