package readapi

import (
	"strconv"

	"callboard/readapi/query"
)

func appendReport(b []byte, q reportRequest, r *query.Report) []byte {
	b = append(b, `{"id":`...)
	b = appendUUID(b, r.ID)
	b = append(b, `,"phoneSystemId":`...)
	b = appendUUID(b, q.system)
	b = appendReportCall(b, r)
	b = appendReportParties(b, r)
	b = appendReportOutcome(b, r)
	b = appendReportAnalysis(b, r)
	b = appendReportArtifacts(b, r)
	b = appendReportRoute(b, r)
	if q.transcripts {
		b = append(b, `,"transcript":`...)
		b = appendTranscript(b, r)
	}
	return append(b, '}')
}

func appendReportCall(b []byte, r *query.Report) []byte {
	b = append(b, `,"callSid":`...)
	b = appendString(b, r.CallSid)
	b = append(b, `,"parentCallSid":`...)
	b = appendNullText(b, r.ParentCallSid)
	b = append(b, `,"direction":`...)
	b = appendString(b, r.Direction)
	b = append(b, `,"startTime":`...)
	b = appendNullTime(b, r.StartTime)
	b = append(b, `,"endTime":`...)
	b = appendNullTime(b, r.EndTime)
	b = append(b, `,"durationSeconds":`...)
	b = appendNullInt(b, r.Duration)
	b = append(b, `,"createdAt":`...)
	b = appendNullTime(b, r.CreatedAt)
	b = append(b, `,"updatedAt":`...)
	return appendNullTime(b, r.UpdatedAt)
}

func appendReportParties(b []byte, r *query.Report) []byte {
	b = append(b, `,"from":`...)
	b = appendString(b, r.From)
	b = append(b, `,"fromDisplay":`...)
	b = appendNullText(b, r.FromDisplay)
	b = append(b, `,"fromNumber":`...)
	b = appendNullText(b, r.FromNumber)
	b = append(b, `,"fromName":`...)
	b = appendNullText(b, r.FromName)
	b = append(b, `,"to":`...)
	b = appendString(b, r.To)
	b = append(b, `,"toDisplay":`...)
	b = appendNullText(b, r.ToDisplay)
	b = append(b, `,"toNumber":`...)
	b = appendNullText(b, r.ToNumber)
	b = append(b, `,"forwardedFrom":`...)
	return appendNullText(b, r.ForwardedFrom)
}

func appendReportOutcome(b []byte, r *query.Report) []byte {
	b = append(b, `,"status":`...)
	b = appendString(b, r.Status)
	b = append(b, `,"outcome":`...)
	b = appendNullText(b, r.Outcome)
	b = append(b, `,"callOutcomeCode":`...)
	b = appendNullText(b, r.CallOutcomeCode)
	b = append(b, `,"isConverted":`...)
	b = strconv.AppendBool(b, r.IsConverted)
	b = append(b, `,"conversionValue":`...)
	b = appendNullText(b, r.ConversionValue)
	b = append(b, `,"outcomeSource":`...)
	return appendNullText(b, r.OutcomeSource)
}

func appendReportAnalysis(b []byte, r *query.Report) []byte {
	b = append(b, `,"category":`...)
	b = appendCategory(b, &r.Category)
	b = append(b, `,"overallSentiment":`...)
	b = appendSentiment(b, &r.OverallSentiment)
	b = append(b, `,"employeeSentiment":`...)
	b = appendSentiment(b, &r.EmployeeSentiment)
	b = append(b, `,"customerSentiment":`...)
	b = appendSentiment(b, &r.CustomerSentiment)
	b = append(b, `,"sentimentSource":`...)
	b = appendNullText(b, r.SentimentSource)
	b = append(b, `,"scorecardScore":`...)
	b = appendNullFloat(b, r.ScorecardScore)
	b = append(b, `,"representative":`...)
	return appendRepresentative(b, &r.Representative)
}

func appendReportArtifacts(b []byte, r *query.Report) []byte {
	b = append(b, `,"hasRecording":`...)
	b = strconv.AppendBool(b, r.RecordingSid.Valid)
	b = append(b, `,"recordingSid":`...)
	b = appendNullText(b, r.RecordingSid)
	b = append(b, `,"recordingDurationSeconds":`...)
	b = appendNullInt(b, r.RecordingDuration)
	b = append(b, `,"transcriptionStatus":`...)
	return appendString(b, r.TranscriptionStatus)
}

func appendReportRoute(b []byte, r *query.Report) []byte {
	b = append(b, `,"callGroup":`...)
	b = appendReference(b, &r.CallGroup)
	b = append(b, `,"answeredByExtension":`...)
	b = appendReference(b, &r.AnsweredByExtension)
	b = append(b, `,"fromExtension":`...)
	b = appendReference(b, &r.FromExtension)
	b = append(b, `,"isEmergency":`...)
	b = strconv.AppendBool(b, r.IsEmergency)
	b = append(b, `,"isEdited":`...)
	b = strconv.AppendBool(b, r.IsEdited)
	b = append(b, `,"tags":`...)
	b = appendNullJSON(b, r.Tags)
	b = append(b, `,"routeSummary":`...)
	return appendNullText(b, r.RouteSummary)
}

func appendCategory(b []byte, c *query.Code) []byte {
	if !c.Code.Valid {
		return append(b, "null"...)
	}
	return append(appendCode(b, c), '}')
}

func appendSentiment(b []byte, c *query.Code) []byte {
	if !c.Code.Valid {
		return append(b, "null"...)
	}
	b = append(appendCode(b, c), `,"score":`...)
	b = appendNullFloat(b, c.Score)
	return append(b, '}')
}

// appendCode writes a code and its label as an object that the caller closes.
func appendCode(b []byte, c *query.Code) []byte {
	b = append(b, `{"code":`...)
	b = appendString(b, c.Code.String)
	b = append(b, `,"label":`...)
	return appendString(b, label(c.Code.String, c.Label))
}

// appendRepresentative writes null if the call is attributed to a representative who was deleted.
func appendRepresentative(b []byte, r *query.Representative) []byte {
	identified := r.State == "identified"
	switch {
	case identified && !r.ID.Valid:
		return append(b, "null"...)
	case identified:
		b = append(b, `{"id":`...)
		b = appendUUID(b, r.ID.Bytes)
		b = append(b, `,"name":`...)
		b = appendString(b, r.Name)
	default:
		b = append(b, `{"id":null,"name":null`...)
	}
	b = append(b, `,"state":`...)
	b = appendString(b, r.State)
	b = append(b, `,"confidence":`...)
	b = appendNullFloat(b, r.Confidence)
	b = append(b, `,"source":`...)
	b = appendNullText(b, r.Source)
	return append(b, '}')
}

func appendReference(b []byte, r *query.Reference) []byte {
	if !r.ID.Valid {
		return append(b, "null"...)
	}
	b = append(b, `{"id":`...)
	b = appendUUID(b, r.ID.Bytes)
	b = append(b, `,"name":`...)
	b = appendString(b, r.Name)
	b = append(b, `,"number":`...)
	b = appendString(b, r.Number)
	return append(b, '}')
}

func appendTranscript(b []byte, r *query.Report) []byte {
	if r.TranscriptionStatus != "completed" {
		return append(b, "null"...)
	}
	b = append(b, `{"text":`...)
	b = appendNullText(b, r.Text)
	b = append(b, `,"turns":`...)
	b = appendNullJSON(b, r.Turns)
	return append(b, '}')
}
