package readapi

import "callboard/readapi/query"

func phone() []field {
	return []field{
		{"id", identifier},
		{"phoneSystemId", identifier},
		{"name", text},
		{"status", text},
		{"createdAt", dateTime},
		{"updatedAt", dateTime},
	}
}

func phoneDetail() []field {
	return append(phone(),
		field{"hardware", stored},
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
		{"status", query.Status, (*parameters).free},
		{"extensionId", query.ExtensionID, (*parameters).identifier},
	}
}
