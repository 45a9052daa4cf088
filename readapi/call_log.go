package readapi

import "callboard/readapi/query"

func callLog() []field {
	return []field{
		{"id", identifier},
		{"phoneSystemId", identifier},
		{"callSid", text},
		{"parentCallSid", text},
		{"direction", text},
		{"status", text},
		{"outcome", text},
		{"from", text},
		{"fromName", text},
		{"to", text},
		{"createdAt", dateTime},
		{"startTime", dateTime},
		{"endTime", dateTime},
		{"duration", integer},
		{"recordingSid", text},
		{"recordingDuration", integer},
	}
}

func callLogDetail() []field { return append(callLog(), transcription()...) }

// transcription is what the details of calls and of voicemails add to their rows.
func transcription() []field {
	return []field{
		{"transcribedText", text},
		{"transcriptionStatus", text},
	}
}

func callLogFilters() []filter {
	return []filter{{"callSid", query.CallSid, (*parameters).callSid}}
}
