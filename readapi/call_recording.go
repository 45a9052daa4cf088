package readapi

import "callboard/readapi/query"

// callRecording is the list's row and the detail.
func callRecording() []field {
	return []field{
		{"recordingSid", text},
		{"phoneSystemId", identifier},
		{"callLogId", identifier},
		{"callSid", text},
		{"status", text},
		{"durationSeconds", integer},
		{"createdAt", dateTime},
	}
}

func callRecordingFilters() []filter {
	return []filter{
		{"status", query.Status, oneOf("ready", "processing")},
		{"callSid", query.CallSid, (*parameters).callSid},
	}
}
