package events_test

import (
	"slices"
	"strings"
	"testing"

	"callboard/events"
)

// refusals returns fixtures in which one text is replaced, and the problems that follow. The JSON Schemas must
// refuse the structural ones too.
func refusals() []refusal {
	return slices.Concat(typeRefusals(), timeRefusals(), ruleRefusals(), textRefusals())
}

func typeRefusals() []refusal {
	return []refusal{
		{"no version", "call.changed", `"version": 1740907800456001,`, ``, "/version: is required", true},
		{"version 0", "phone.changed", `"version": 7`, `"version": 0`, "/version: must be from 1 to 9223372036854775807", true},
		{"version in a string", "phone.changed", `"version": 7`, `"version": "7"`, "/version: must be an integer", true},
		{"version 1.0", "phone.changed", `"version": 7`, `"version": 1.0`, "/version: must be an integer", false},
		{"version 2^63", "phone.changed", `"version": 7`, `"version": 9223372036854775808`, "/version: must be an integer", true},
		{"deletion without key", "phone.deleted", `"id"`, `"ID"`, "/id: is required", true},
		{"deletion with an empty code", "classification.deleted", `"positive"`, `""`, "/code: must not be empty", true},
		{"string for a boolean", "call.changed", `"isEmergency": false`, `"isEmergency": "false"`, "/isEmergency: must be true or false", true},
		{"number for a string", "call.changed", `"+14155550177",` + "\n" + `  "fromDisplay"`, `14155550177, "fromDisplay"`, "/from: must be a string", true},
		{"array for an object", "phone.changed", `"hardware": {`, `"hardware": [], "was": {`, "/hardware: must be an object", true},
		{"no hardware", "phone.changed", `"hardware"`, `"hard"`, "/hardware: is required", true},
		{"object for an array", "group.changed", `"phoneSystemIds": [`, `"phoneSystemIds": {}, "was": [`, "/phoneSystemIds: must be an array", true},
		{"number for a string in an array", "analysis.changed", `"coachingTips": [`, `"coachingTips": [1,`, "/coachingTips/0: must be a string", true},
		{"half a UUID", "call.changed", `"id": "2c3d4e5f-6071-4829-9aab-bccddeeff0cc"`, `"id": "2c3d4e5f-6071"`, "/id: must be a UUID", true},
		{"UUID in braces", "call.changed", `"callGroupId": "`, `"callGroupId": "{`, "/callGroupId: must be a UUID", true},
		{"nil UUID for global", "classification.changed", `5d0c6a6e-27f1-4a4e-9d2b-0c8f3f1b7a10`, `00000000-0000-0000-0000-000000000000`,
			"/phoneSystemId: must not be the nil UUID", true},
		{"unknown direction", "call.changed", `"inbound"`, `"sideways"`, "/direction: must be one of inbound, outbound, internal", true},
		{"number not in E.164", "phone-number.changed", `"+14155550123"`, `"4155550123"`, "/phoneNumber: must be an E.164 number, such as +14155550123", true},
		{"country in words", "phone-number.changed", `"US"`, `"us"`, "/country: must be two capital letters (ISO 3166-1 alpha-2)", true},
		{"amount as a number", "call.changed", `"149.90"`, `149.90`, "/conversionValue: must be a string", true},
		{"amount in words", "call.changed", `"149.90"`, `"149,90"`, `/conversionValue: must be a decimal number in a string, such as "149.90"`, true},
		{"negative duration", "voicemail.changed", `"duration": 31`, `"duration": -31`, "/duration: must be from 0 to 2147483647", true},
		{"score over 100", "analysis.changed", `"overallScore": 87`, `"overallScore": 101`, "/overallScore: must be from 0 to 100", true},
		{"score beyond float64", "analysis.changed", `91.5`, `1e400`, "/scorecardScore: must be a number that a 64-bit float can hold", false},
		{"agent number 10", "agent-config.changed", `"agentNumber": 2`, `"agentNumber": 10`, "/agentNumber: must be from 1 to 9", true},
		{"empty callSid", "voicemail.changed", `"CA77aa1d0c9b7e6f5a4d3c2b1a09f8e7d6"`, `""`, "/callSid: must not be empty", true},
		{"recording sid of another prefix", "voicemail.changed", `"RE9988`, `"XX9988`, "/recordingSid: must be RE and 1 to 62 letters, digits, - or _", true},
		{"digit of two characters", "call-menu.changed", `"digit": "1"`, `"digit": "10"`, "/choices/0/digit: must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, *, #", true},
		{"unknown speaker", "transcript.changed", `"kind": "unattributed"`, `"kind": "ghost"`, "/turns/3/speaker/kind: must be one of role, numbered, unattributed", true},
		{"unknown role", "transcript.changed", `"role": "customer"`, `"role": "referee"`, "/turns/1/speaker/role: must be one of agent, customer", true},
	}
}

func timeRefusals() []refusal {
	return []refusal{
		{"time with an offset", "call.changed", `09:30:00.000Z`, `11:30:00.000+02:00`, badTime, true},
		{"time without a zone", "call.changed", `09:30:00.000Z`, `09:30:00.000`, badTime, true},
		{"time with a space", "call.changed", `2026-03-02T09:30:00.000Z`, `2026-03-02 09:30:00.000Z`, badTime, true},
		{"thirtieth of February", "call.changed", `"startTime": "2026-03-02`, `"startTime": "2026-02-30`, badTime, true},
		{"year 0", "call.changed", `"startTime": "2026`, `"startTime": "0000`, badTime, true},
		{"epoch seconds", "call.changed", `"startTime": "2026-03-02T09:30:00.000Z"`, `"startTime": 1772443800`, badTime, true},
	}
}

func ruleRefusals() []refusal {
	return []refusal{
		{"deletion with a long code", "classification.deleted", `"positive"`, `"` + strings.Repeat("x", 1025) + `"`, "/code: must have at most 1024 bytes", true},
		{"control character in an object's name", "transcript.claim-check.changed", `"name": "`, `"name": "\u0007`, "/object/name: must have no control characters", true},
		{"control character in an audio key", "recording.changed", `"key": "`, `"key": "\u009f`, "/audio/key: must have no control characters", true},
		{"audio key of another folder", "recording.changed", `"key": "`, `"key": "../`, badAudioKey, true},
		{"audio key through another folder", "recording.changed", `"key": "`, `"key": "a/../`, badAudioKey, true},
		{"audio key of the root", "recording.changed", `"key": "`, `"key": "/`, badAudioKey, true},
		{"ready without audio", "recording.changed", `"audio"`, `"sound"`, "/audio: is required when status is ready", true},
		{"ready with a word for audio", "recording.changed", `"audio": {`, `"audio": "mp3", "was": {`, "/audio: must be an object", true},
		{"both callId and voicemailId", "recording.changed", `"voicemailId": null`, `"voicemailId": "6a7b8c9d-0e1f-4203-9415-263748596aee"`, badOwnerRow, true},
		{"neither callId nor voicemailId", "recording.changed", `"callId"`, `"callID"`, badOwnerRow, true},
		{"deletion without callId and voicemailId", "transcript.deleted", `"callId"`, `"callID"`, badOwnerRow, true},
		{"text beside an object", "transcript.claim-check.changed", `"object"`, `"text": "hi", "object"`, "/object: must be absent where text or turns are present", true},
		{"another bucket", "transcript.claim-check.changed", `"PHONE_TRANSCRIPTS"`, `"SECRETS"`, "/object/bucket: must be one of PHONE_TRANSCRIPTS", true},
		{"a body that is too large", "transcript.claim-check.changed", `"bytes": `, `"bytes": 9`, "/object/bytes: must be from 0 to 8388608", true},
		{"digest of another kind", "transcript.claim-check.changed", `SHA-256=`, `MD5=`, "/object/digest: must be SHA-256= and the digest in URL-safe base64", true},
		{"score of a category", "classification.changed", `"overall_sentiment"`, `"category"`, "/score: must be null for a category", true},
		{"identified without an ID", "analysis.changed", `"state": "identified",` + "\n" + `    "id"`, `"state": "identified", "ID"`, "/representative/id: is required when state is identified", true},

		{"unknown action type", "extension.changed", `"type": "call-group",` + "\n" + `    "reference"`, `"type": "teleport", "reference"`, "/unansweredAction/type: must be one of phone, extension, " +
			"extension-voicemail, agent-config, call-group, call-group-voicemail, call-menu, forward, play-audio, voicemail, directory, messaging, hangup", true},
		{"action of another type than its reference", "extension.changed", `"type": "call-group",` + "\n" + `    "reference"`, `"type": "call-menu", "reference"`,
			"/unansweredAction/reference: must be of the action's own type", true},
		{"fetchable action without a reference", "extension.changed", `"reference"`, `"was"`, "/unansweredAction/reference: is required for this type", true},
		{"literal action with a reference", "extension.changed", `"type": "call-group",` + "\n" + `    "reference"`, `"type": "forward", "reference"`, "/unansweredAction/reference: must be null for this type", true},
		{"member of a literal type", "call-group.changed", `"type": "extension"`, `"type": "forward"`, "/members/0/type: must be one of phone, extension, " +
			"extension-voicemail, agent-config, call-group, call-group-voicemail, call-menu", true},

		{"several problems", "representative.changed", `"name": "Dana Whitfield",` + "\n" + `  "status": "active"`, `"name": 7`,
			"/name: must be a string; /status: is required", true},
	}
}

func textRefusals() []refusal {
	return []refusal{
		{"escaped NUL", "call.changed", `Main line >`, `Main\u0000line >`, "/routeSummary: must not contain NUL", true},
		{"raw NUL", "call.changed", `Main line >`, "Main\x00line >", "/routeSummary: not JSON: invalid character", false},
		{"lone surrogate", "call.changed", `Main line >`, `Main\ud800 line >`, "/routeSummary: not JSON: invalid surrogate pair", false},
		{"surrogates in reverse order", "call.changed", `Main line >`, `Main\udc00\ud800 line >`, "/routeSummary: not JSON: invalid surrogate pair", false},
		{"bad UTF-8", "call.changed", `Main line >`, "Main\xff line >", "/routeSummary: not JSON: invalid UTF-8", false},
		{"Latin-1", "call.changed", `María Núñez`, "Mar\xeda N\xfa\xf1ez", "/fromName: not JSON: invalid UTF-8", false},
		{"duplicate member", "phone.changed", `"slot": 1`, `"slot": 1, "slot": 2`, "/slot: not JSON: duplicate object member name", false},
		{"duplicate unknown member", "phone.changed", `"slot": 1`, `"x": {"y": 1, "y": 1}`, "/x/y: not JSON: duplicate object member name", false},
		{"trailing comma", "phone.changed", `"serialNumber": null`, `"serialNumber": null,`, "/hardware: not JSON: invalid character", false},
	}
}

type refusal struct {
	name, fixture, old, new, problems string
	structural                        bool
}

const (
	badTime     = "/startTime: must be an RFC 3339 time in UTC, such as 2026-03-01T09:30:00.000Z"
	badAudioKey = "/audio/key: must not begin with / and must have no .. between slashes"
	badOwnerRow = "/callId: exactly one of callId and voicemailId is required"
)

// message returns the refused message.
func (r refusal) message(tb testing.TB) events.Message {
	tb.Helper()
	m := fixture(tb, r.fixture)
	if strings.Count(string(m.Data), r.old) == 0 {
		tb.Fatalf("%s: %s is not in %s", r.name, r.old, r.fixture)
	}
	m.Data = []byte(strings.Replace(string(m.Data), r.old, r.new, 1))
	return m
}
