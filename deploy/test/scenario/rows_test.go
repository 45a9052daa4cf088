package scenario_test

import (
	"github.com/google/uuid"

	"callboard/events"
)

// lists returns the rows of the harbour's lists by path, newest first.
func (f *fixture) lists() map[string][]fields {
	lists := map[string][]fields{
		"/agent-configs": f.agentConfigs(),
		"/call-logs":     {f.legRow(), f.callRow(), f.bareRow()},
		"/call-analyses": {f.analysisRow(), f.waitingRow()},
		"/voicemails":    {f.noticeRow(), f.messageRow()},
		"/recordings":    f.recordings(),
	}
	for _, t := range f.topologies() {
		lists[t.path] = t.rows
	}
	return lists
}

// details returns the harbour's details by path.
func (f *fixture) details() map[string]fields {
	none := fields{"transcribedText": nil, "transcriptionStatus": "unavailable"}
	details := map[string]fields{
		"/call-logs/" + f.full.String(): f.callRow().and(fields{
			"transcribedText": "Good morning. \"Hi\", two\nlines.", "transcriptionStatus": "completed",
		}),
		"/call-logs/" + f.bare.String():         f.bareRow().and(none),
		"/call-analyses/" + f.analyzed.String(): f.analysisRow(),
		"/call-analyses/" + f.waiting.String():  f.waitingRow(),
		"/voicemails/" + f.message.String():     f.messageRow().and(fields{"transcribedText": "Please call back.", "transcriptionStatus": "completed"}),
		"/voicemails/" + f.notice.String():      f.noticeRow().and(none),
	}
	for _, row := range f.agentConfigs() {
		details["/agent-configs/"+row["id"].(uuid.UUID).String()] = row
	}
	for _, row := range f.recordings() {
		details["/recordings/"+row["recordingSid"].(string)] = row
	}
	for _, t := range f.topologies() {
		for i, row := range t.rows {
			details[t.path+"/"+row["id"].(uuid.UUID).String()] = row.and(t.added[i])
		}
	}
	return details
}

func (f *fixture) callRow() fields {
	return fields{
		"id": f.full, "phoneSystemId": f.harbour, "callSid": fullSid, "parentCallSid": nil, "direction": "inbound", "status": "completed",
		"outcome": "answered", "from": "+14155550123", "fromName": "Zoë Marsh", "to": "+14155550100", "createdAt": day(5),
		"startTime": "2026-03-05T09:00:01.500Z", "endTime": "2026-03-05T09:03:11.500Z", "duration": 190,
		"recordingSid": fullRecording, "recordingDuration": 189,
	}
}

// legRow is a leg of the full call, whose recording is not available.
func (f *fixture) legRow() fields {
	return f.callRow().and(fields{
		"id": f.leg, "parentCallSid": bareSid, "createdAt": day(6), "startTime": nil, "endTime": nil, "recordingSid": nil, "recordingDuration": nil,
	})
}

func (f *fixture) bareRow() fields {
	return fields{
		"id": f.bare, "phoneSystemId": f.harbour, "callSid": bareSid, "parentCallSid": nil, "direction": "internal", "status": "no-answer",
		"outcome": nil, "from": "101", "fromName": nil, "to": "102", "createdAt": day(4), "startTime": nil, "endTime": nil, "duration": nil,
		"recordingSid": processingRecording, "recordingDuration": nil,
	}
}

func (f *fixture) analysisRow() fields {
	return fields{
		"id": f.analyzed, "phoneSystemId": f.harbour, "callSid": fullSid, "callLogId": f.full, "status": "completed", "overallScore": 88,
		"analyzedAt": day(6), "coachingTips": []string{"Say the name."}, "createdAt": day(5),
	}
}

func (f *fixture) waitingRow() fields {
	return fields{
		"id": f.waiting, "phoneSystemId": f.harbour, "callSid": bareSid, "callLogId": f.bare, "status": "pending", "overallScore": nil,
		"analyzedAt": nil, "coachingTips": []string{}, "createdAt": day(4),
	}
}

func (f *fixture) messageRow() fields {
	return fields{
		"id": f.message, "phoneSystemId": f.harbour, "callSid": bareSid, "from": "+14155550123", "fromName": "Zoë Marsh", "duration": 21,
		"extensionId": f.front, "callGroupId": nil, "listened": true, "archived": false, "recordingSid": messageRecording, "createdAt": day(7),
	}
}

func (f *fixture) noticeRow() fields {
	return fields{
		"id": f.notice, "phoneSystemId": f.harbour, "callSid": bareSid, "from": "+14155550124", "fromName": nil, "duration": 3,
		"extensionId": nil, "callGroupId": f.desk, "listened": false, "archived": true, "recordingSid": "REnotice", "createdAt": day(8),
	}
}

func (f *fixture) recordings() []fields {
	row := func(sid string, call uuid.UUID, callSid, status string, duration any) fields {
		return fields{
			"recordingSid": sid, "phoneSystemId": f.harbour, "callLogId": call, "callSid": callSid, "status": status, "durationSeconds": duration,
			"createdAt": "2026-03-02T09:33:00.000Z",
		}
	}
	return []fields{row(fullRecording, f.full, fullSid, "ready", 189), row(processingRecording, f.bare, bareSid, "processing", nil)}
}

func (f *fixture) agentConfigs() []fields {
	row := func(id uuid.UUID, name string, number any, status string, created int) fields {
		return f.row(id, status, created, created, fields{"name": name, "agentNumber": number})
	}
	return []fields{row(f.spare, "Spare", nil, "testing", 2), row(f.ava, "Ava", 3, "active", 1)}
}

// topology holds the rows of a list in the harbour, newest first, and the members that details add to them.
type topology struct {
	path  string
	rows  []fields
	added []fields
}

func (f *fixture) topologies() []topology {
	return []topology{f.phones(), f.phoneNumbers(), f.extensions(), f.callGroups(), f.callMenus()}
}

func (f *fixture) greeting() fields {
	return fields{"kind": "recorded", "url": "https://media.example/greeting.wav"}
}

func (f *fixture) to(kind string, id uuid.UUID) fields {
	return fields{"type": kind, "id": id, "phoneSystemId": f.harbour}
}

func (f *fixture) toVoicemail() fields {
	return fields{"type": "extension-voicemail", "reference": f.to("extension-voicemail", f.front), "literal": nil}
}

// row returns a row of a list. created and updated are days of March 2026.
func (f *fixture) row(id uuid.UUID, status string, created, updated int, names fields) fields {
	return fields{"id": id, "phoneSystemId": f.harbour, "status": status, "createdAt": day(created), "updatedAt": day(updated)}.and(names)
}

func (f *fixture) phones() topology {
	return topology{"/phones", []fields{
		f.row(f.handset, "inactive", 2, 2, fields{"name": "Handset"}),
		f.row(f.base, "active", 1, 1, fields{"name": "Base"}),
	}, []fields{
		{
			"hardware": fields{"manufacturer": nil, "model": nil, "serialNumber": nil}, "deviceRole": "handset", "parentPhone": f.to("phone", f.base),
			"slot": 1, "macAddress": nil, "firmware": nil, "extension": f.to("extension", f.front),
		},
		{
			"hardware":   fields{"manufacturer": "Yealink", "model": "W70B", "serialNumber": "8023"},
			"deviceRole": "base", "parentPhone": nil, "slot": nil, "macAddress": "00:15:65:12:34:56", "firmware": "146.85.0.20", "extension": nil,
		},
	}}
}

func (f *fixture) phoneNumbers() topology {
	return topology{"/phone-numbers", []fields{
		f.row(f.releasedNumber, "released", 2, 3, fields{"phoneNumber": "+14155550199", "label": nil}),
		f.row(f.mainNumber, "active", 1, 1, fields{"phoneNumber": "+14155550100", "label": "Main"}),
	}, []fields{
		{"origin": "carrier_hosted", "country": nil, "isPrimary": false},
		{"origin": "managed", "country": "US", "isPrimary": true},
	}}
}

func (f *fixture) extensions() topology {
	return topology{"/extensions", []fields{
		f.row(f.back, "inactive", 2, 2, fields{"name": "Back office", "number": "102"}),
		f.row(f.front, "active", 1, 2, fields{"name": "Front desk", "number": "101"}),
	}, []fields{
		{"assignedPhones": []any{}, "unansweredAction": nil, "voicemailGreeting": nil},
		{
			"assignedPhones":   []fields{f.to("phone", f.base), f.to("phone", f.handset)},
			"unansweredAction": f.toVoicemail(), "voicemailGreeting": f.greeting(),
		},
	}}
}

func (f *fixture) callGroups() topology {
	return topology{"/call-groups", []fields{f.row(f.desk, "active", 1, 1, fields{"name": "Reception", "number": "200"})}, []fields{{
		"members": []fields{f.to("extension", f.back), f.to("extension", f.front)}, "ringPattern": "sequential",
		"unansweredAction": f.toVoicemail(), "voicemailGreeting": f.greeting(),
	}}}
}

func (f *fixture) callMenus() topology {
	return topology{"/call-menus", []fields{f.row(f.menu, "active", 1, 1, fields{"name": "Welcome"})}, []fields{{
		"prompt": f.greeting(),
		"choices": []fields{
			{"digit": "2", "label": "Reception", "action": fields{"type": "call-group", "reference": f.to("call-group", f.desk), "literal": nil}},
			{"digit": "1", "label": nil, "action": fields{"type": "forward", "reference": nil, "literal": "+14155550111"}},
			{"digit": "3", "label": nil, "action": fields{"type": "agent-config", "literal": nil, "reference": fields{
				"type": "agent-config", "id": f.ana, "phoneSystemId": f.annex,
			}}},
		},
		"directExtensionDialing": true, "noInputAction": fields{"type": "hangup", "reference": nil, "literal": nil},
	}}}
}

// reportRow returns the report row of the full call without updatedAt.
func (f *fixture) reportRow() fields {
	return fields{
		"id": f.full, "phoneSystemId": f.harbour, "callSid": fullSid, "parentCallSid": nil, "direction": "inbound",
		"startTime": "2026-03-05T09:00:01.500Z", "endTime": "2026-03-05T09:03:11.500Z", "durationSeconds": 190, "createdAt": day(5),
		"from": "+14155550123", "fromDisplay": "(415) 555-0123", "fromNumber": "+14155550123", "fromName": "Zoë Marsh",
		"to": "+14155550100", "toDisplay": "Main line", "toNumber": "+14155550100", "forwardedFrom": "+14155550144",
		"status": "completed", "outcome": "answered", "callOutcomeCode": "booked",
		"isConverted": true, "conversionValue": "0120.50", "outcomeSource": "agent",
		"category":          fields{"code": "new_patient", "label": "New patient"},
		"overallSentiment":  fields{"code": "positive", "label": "Positive", "score": 0.5},
		"employeeSentiment": fields{"code": "very_calm", "label": "Very calm", "score": 0.25},
		"customerSentiment": fields{"code": "positive", "label": "Positive", "score": -0.125},
		"sentimentSource":   "model", "scorecardScore": 71.5,
		"representative": fields{"id": f.ana, "name": "Ana Ruiz", "state": "identified", "confidence": 0.875, "source": "voice"},
		"hasRecording":   true, "recordingSid": fullRecording, "recordingDurationSeconds": 189, "transcriptionStatus": "completed",
		"callGroup":           fields{"id": f.desk, "name": "Reception", "number": "200"},
		"answeredByExtension": fields{"id": f.front, "name": "Front desk", "number": "101"},
		"fromExtension":       fields{"id": f.back, "name": "Back office", "number": "102"},
		"isEmergency":         true, "isEdited": true,
		"tags": []fields{{
			"id": "c0000000-0000-4000-8000-00000000007a", "name": "VIP", "group": "care", "color": "#c0ffee", "source": "manual", "confidence": 0.5,
		}},
		"routeSummary": "Welcome > Reception",
	}
}

// bareReportRow is the report row of a call with only the required values, whose recording is being processed.
func (f *fixture) bareReportRow() fields {
	row := fields{
		"id": f.bare, "phoneSystemId": f.harbour, "callSid": bareSid, "direction": "internal", "createdAt": day(4), "from": "101", "to": "102",
		"status": "no-answer", "isConverted": false, "isEmergency": false, "isEdited": false, "tags": []any{},
		"representative": fields{"id": nil, "name": nil, "state": "not_analyzed", "confidence": nil, "source": nil},
		"hasRecording":   true, "recordingSid": processingRecording, "transcriptionStatus": "unavailable",
	}
	for _, name := range []string{
		"parentCallSid", "startTime", "endTime", "durationSeconds", "fromDisplay", "fromNumber", "fromName", "toDisplay", "toNumber",
		"forwardedFrom", "outcome", "callOutcomeCode", "conversionValue", "outcomeSource", "category", "overallSentiment",
		"employeeSentiment", "customerSentiment", "sentimentSource", "scorecardScore", "recordingDurationSeconds",
		"callGroup", "answeredByExtension", "fromExtension", "routeSummary",
	} {
		row[name] = nil
	}
	return row
}

// reportTranscript is the transcript of the full call's report row.
func (f *fixture) reportTranscript() fields {
	turn := func(text string, speaker fields, start, end, confidence any) fields {
		return fields{"text": text, "speaker": speaker, "startSeconds": start, "endSeconds": end, "confidence": confidence}
	}
	return fields{"text": "Good morning. \"Hi\", two\nlines.", "turns": []fields{
		turn("Good morning.", fields{"kind": "role", "role": "agent"}, 0.5, 2.25, 0.98),
		turn("\"Hi\", two", fields{"kind": "numbered", "ordinal": 2}, nil, nil, nil),
		turn("lines.", fields{"kind": "unattributed"}, nil, nil, nil),
	}}
}

const dimensionsPath = "/call-log-reports/dimensions"

// dimensions returns the harbour's snapshot without generatedAt.
func (f *fixture) dimensions() fields {
	numbered := func(id uuid.UUID, name, number, status string, updated events.Time) fields {
		return fields{"id": id, "name": name, "number": number, "status": status, "updatedAt": updated}
	}
	fallback := func(code, label string) fields {
		return fields{"code": code, "label": label, "source": "fallback", "status": nil, "score": nil, "updatedAt": nil}
	}
	return fields{
		"callGroups":     []fields{numbered(f.desk, "Reception", "200", "active", day(1))},
		"extensions":     []fields{numbered(f.front, "Front desk", "101", "active", day(2)), numbered(f.back, "Back office", "102", "inactive", day(2))},
		"handlerEntries": []fields{{"id": f.ana, "name": "Ana Ruiz", "status": "active", "updatedAt": day(1)}},
		"categories": []fields{{
			"code": "new_patient", "label": "New patient", "source": "phone_system_override", "status": "active", "score": nil, "updatedAt": day(1),
		}},
		"overallSentiments": []fields{{
			"code": "positive", "label": "Positive", "source": "global_default", "status": "active", "score": 0.75, "updatedAt": day(1),
		}},
		"employeeSentiments": []fields{fallback("very_calm", "Very calm")},
		"customerSentiments": []fields{fallback("positive", "Positive")},
	}
}
