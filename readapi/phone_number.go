package readapi

import "callboard/readapi/query"

func phoneNumber() []field {
	return []field{
		{"id", identifier},
		{"phoneSystemId", identifier},
		{"phoneNumber", text},
		{"label", text},
		{"status", text},
		{"createdAt", dateTime},
		{"updatedAt", dateTime},
	}
}

func phoneNumberDetail() []field {
	return append(phoneNumber(),
		field{"origin", text},
		field{"country", text},
		field{"isPrimary", boolean},
	)
}

func phoneNumberFilters() []filter {
	return []filter{
		{"status", query.Status, (*parameters).free},
		{"phoneNumber", query.PhoneNumber, (*parameters).phoneNumber},
	}
}
