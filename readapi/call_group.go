package readapi

import "callboard/readapi/query"

func callGroup() []field {
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

func callGroupDetail() []field {
	return append(callGroup(),
		field{"members", stored},
		field{"ringPattern", text},
		field{"unansweredAction", stored},
		field{"voicemailGreeting", stored},
	)
}

func callGroupFilters() []filter {
	return []filter{
		{"status", query.Status, (*parameters).free},
		{"number", query.Number, (*parameters).free},
	}
}
