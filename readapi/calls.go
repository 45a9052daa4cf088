package readapi

import (
	"callboard/readapi/encode"
	"callboard/readapi/query"
)

func callLog() []encode.Member {
	return []encode.Member{
		encode.Identifier("id"),
		encode.Identifier("phoneSystemId"),
		encode.Text("callSid"),
		encode.Text("parentCallSid"),
		encode.Text("direction"),
		encode.Text("status"),
		encode.Text("outcome"),
		encode.Text("from"),
		encode.Text("fromName"),
		encode.Text("to"),
		encode.Instant("createdAt"),
		encode.Instant("startTime"),
		encode.Instant("endTime"),
		encode.Integer("duration"),
		encode.Text("recordingSid"),
		encode.Integer("recordingDuration"),
	}
}

func callLogDetail() []encode.Member { return append(callLog(), transcription()...) }

// transcription is what the details of calls and of voicemails add to their rows.
func transcription() []encode.Member {
	return []encode.Member{
		encode.Text("transcribedText"),
		encode.Text("transcriptionStatus"),
	}
}

func callLogFilters() []filter {
	return []filter{{"callSid", query.CallSid, (*parameters).callSid}}
}

// callAnalysis is the list's row and the detail.
func callAnalysis() []encode.Member {
	return []encode.Member{
		encode.Identifier("id"),
		encode.Identifier("phoneSystemId"),
		encode.Text("callSid"),
		encode.Identifier("callLogId"),
		encode.Text("status"),
		encode.Integer("overallScore"),
		encode.Instant("analyzedAt"),
		encode.JSON("coachingTips"),
		encode.Instant("createdAt"),
	}
}

func callAnalysisFilters() []filter {
	return []filter{
		{"callSid", query.CallSid, (*parameters).callSid},
		{"callLogId", query.CallLogID, (*parameters).identifier},
	}
}

func voicemail() []encode.Member {
	return []encode.Member{
		encode.Identifier("id"),
		encode.Identifier("phoneSystemId"),
		encode.Text("callSid"),
		encode.Text("from"),
		encode.Text("fromName"),
		encode.Integer("duration"),
		encode.Identifier("extensionId"),
		encode.Identifier("callGroupId"),
		encode.Boolean("listened"),
		encode.Boolean("archived"),
		encode.Text("recordingSid"),
		encode.Instant("createdAt"),
	}
}

func voicemailDetail() []encode.Member { return append(voicemail(), transcription()...) }
