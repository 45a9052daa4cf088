package readapi

import "callboard/readapi/query"

// callAnalysis is the list's row and the detail.
func callAnalysis() []field {
	return []field{
		{"id", identifier},
		{"phoneSystemId", identifier},
		{"callSid", text},
		{"callLogId", identifier},
		{"status", text},
		{"overallScore", integer},
		{"analyzedAt", dateTime},
		{"coachingTips", stored},
		{"createdAt", dateTime},
	}
}

func callAnalysisFilters() []filter {
	return []filter{
		{"callSid", query.CallSid, (*parameters).callSid},
		{"callLogId", query.CallLogID, (*parameters).identifier},
	}
}
