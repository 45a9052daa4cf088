package readapi

import (
	"callboard/readapi/query"
)

const callSidLimit = 64 // characters

func callLogFilter(q *request, g page, w query.Window) query.CallLogFilter {
	return query.CallLogFilter{
		System:  q.system,
		Own:     q.narrowing(),
		CallSid: q.parameters.short("callSid", callSidLimit),
		Window:  w,
		Offset:  g.offset(),
		Limit:   g.size,
	}
}

func callLogKey(q *request) query.CallLogKey {
	return query.CallLogKey{System: q.system, Own: q.narrowing(), ID: q.resource}
}

func appendCallLog(b []byte, q *request, r *query.CallLog) []byte {
	return append(appendCallLogFields(b, q, r), '}')
}

func appendCallLogDetail(b []byte, q *request, r *query.CallLogDetail) []byte {
	b = appendCallLogFields(b, q, &r.CallLog)
	b = append(b, `,"transcribedText":`...)
	b = appendNullText(b, r.TranscribedText)
	b = append(b, `,"transcriptionStatus":`...)
	b = appendString(b, r.TranscriptionStatus)
	return append(b, '}')
}

// appendCallLogFields writes an object of the list row's fields and leaves it open.
func appendCallLogFields(b []byte, q *request, r *query.CallLog) []byte {
	b = append(b, `{"id":`...)
	b = appendUUID(b, r.ID)
	b = append(b, `,"phoneSystemId":`...)
	b = appendUUID(b, q.system)
	b = append(b, `,"callSid":`...)
	b = appendString(b, r.CallSid)
	b = append(b, `,"parentCallSid":`...)
	b = appendNullText(b, r.ParentCallSid)
	b = append(b, `,"direction":`...)
	b = appendString(b, r.Direction)
	b = append(b, `,"status":`...)
	b = appendString(b, r.Status)
	b = append(b, `,"outcome":`...)
	b = appendNullText(b, r.Outcome)
	b = append(b, `,"from":`...)
	b = appendString(b, r.From)
	b = append(b, `,"fromName":`...)
	b = appendNullText(b, r.FromName)
	b = append(b, `,"to":`...)
	b = appendString(b, r.To)
	b = append(b, `,"createdAt":`...)
	b = appendNullTime(b, r.CreatedAt)
	b = append(b, `,"startTime":`...)
	b = appendNullTime(b, r.StartTime)
	b = append(b, `,"endTime":`...)
	b = appendNullTime(b, r.EndTime)
	b = append(b, `,"duration":`...)
	b = appendNullInt(b, r.Duration)
	b = append(b, `,"recordingSid":`...)
	b = appendNullText(b, r.RecordingSid)
	b = append(b, `,"recordingDuration":`...)
	return appendNullInt(b, r.RecordingDuration)
}
