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
		{"coachingTips", storedJSON},
		{"createdAt", dateTime},
	}
}

func callAnalysisFilters() []filter {
	return []filter{
		{"callSid", query.CallSid, (*parameters).callSid},
		{"callLogId", query.CallLogID, (*parameters).identifier},
	}
}

func voicemail() []field {
	return []field{
		{"id", identifier},
		{"phoneSystemId", identifier},
		{"callSid", text},
		{"from", text},
		{"fromName", text},
		{"duration", integer},
		{"extensionId", identifier},
		{"callGroupId", identifier},
		{"listened", boolean},
		{"archived", boolean},
		{"recordingSid", text},
		{"createdAt", dateTime},
	}
}

func voicemailDetail() []field { return append(voicemail(), transcription()...) }
