package readapi

import (
	"callboard/readapi/encode"
	"callboard/readapi/query"
)

// callLog is the list's row and, with more members, the detail.
func callLog(more ...encode.Member) *encode.Layout {
	return encode.NewLayout(append([]encode.Member{
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
	}, more...)...)
}

// transcription is what the details of calls and of voicemails add to their rows.
func transcription() []encode.Member {
	return []encode.Member{
		encode.Text("transcribedText"),
		encode.Text("transcriptionStatus"),
	}
}

func callSidFilter() filter { return filter{"callSid", query.CallSid, (*parameters).callSid} }

func callLogIDFilter() filter { return filter{"callLogId", query.CallLogID, (*parameters).identifier} }

// callAnalysis is the list's row and the detail.
func callAnalysis() *encode.Layout {
	return encode.NewLayout(
		encode.Identifier("id"),
		encode.Identifier("phoneSystemId"),
		encode.Text("callSid"),
		encode.Identifier("callLogId"),
		encode.Text("status"),
		encode.Integer("overallScore"),
		encode.Instant("analyzedAt"),
		encode.JSON("coachingTips"),
		encode.Instant("createdAt"),
	)
}

// voicemail is the list's row and, with more members, the detail.
func voicemail(more ...encode.Member) *encode.Layout {
	return encode.NewLayout(append([]encode.Member{
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
	}, more...)...)
}
