package readapi

import "callboard/readapi/query"

func callMenu() []field {
	return []field{
		{"id", identifier},
		{"phoneSystemId", identifier},
		{"name", text},
		{"status", text},
		{"createdAt", dateTime},
		{"updatedAt", dateTime},
	}
}

func callMenuDetail() []field {
	return append(callMenu(),
		field{"prompt", stored},
		field{"choices", stored},
		field{"directExtensionDialing", boolean},
		field{"noInputAction", stored},
	)
}

func callMenuFilters() []filter {
	return []filter{{"status", query.Status, (*parameters).free}}
}
