package store_test

import (
	"github.com/google/uuid"

	"callboard/events"
)

// fullHistory returns a short history that leaves rows in every table. Each nullable column has a value in one row
// and is null in another.
func fullHistory() []timedEvent {
	system, organization := id(1), id(2)
	action := &events.Action{Type: "hangup", Literal: events.Some("bye")}
	greeting := &events.Playback{Kind: "recorded", URL: events.Some("https://media.example/a.wav")}
	states := []events.State{
		&events.PhoneSystem{ID: system, Version: 1, Name: "Harbour Dental", OrganizationID: events.Some(organization)},
		&events.Group{ID: id(3), Version: 1, Name: "All", PhoneSystemIDs: ids(1, 4)},
		&events.Group{ID: id(5), Version: 1, Name: "None"},
		&events.Extension{
			ID: id(10), PhoneSystemID: system, Version: 1, Number: "101", Name: "Ana \"A\" Ruiz", Status: "active", CreatedAt: 1, UpdatedAt: 2,
			AssignedPhoneIDs: ids(50, 51), UnansweredAction: action, VoicemailGreeting: greeting,
		},
		&events.CallGroup{
			ID: id(20), PhoneSystemID: system, Version: 1, Name: "Desk", Number: "200", Status: "active", RingPattern: "all",
			Members:          []events.Reference{{Type: "extension", ID: id(10), PhoneSystemID: system}},
			UnansweredAction: action, VoicemailGreeting: greeting,
		},
		&events.Phone{
			ID: id(50), PhoneSystemID: system, Version: 1, Name: "Reception", Status: "active", CreatedAt: 1, UpdatedAt: 2, ExtensionID: events.Some(id(10)),
			DeviceRole: events.Some("base"), ParentPhoneID: events.Some(id(51)), Slot: events.Some[int64](2), MACAddress: events.Some("00:11:22:33:44:55"),
			Firmware: events.Some("1.2.3"), Hardware: events.Hardware{Model: events.Some("T54W")},
		},
		&events.Phone{ID: id(51), PhoneSystemID: system, Version: 1, Name: "Base", Status: "inactive"},
		&events.PhoneNumber{
			ID: id(55), PhoneSystemID: system, Version: 1, PhoneNumber: "+14155550100", Label: events.Some("Main"), Status: "active", CreatedAt: 1,
			UpdatedAt: 2, Origin: "managed", Country: events.Some("US"), IsPrimary: true,
		},
		&events.PhoneNumber{ID: id(56), PhoneSystemID: system, Version: 1, PhoneNumber: "+14155550101", Status: "released", Origin: "carrier_hosted"},
		&events.AgentConfig{
			ID: id(57), PhoneSystemID: system, Version: 1, Name: "Ava", AgentNumber: events.Some[int64](9), Status: "active", CreatedAt: 1, UpdatedAt: 2,
		},
		&events.AgentConfig{ID: id(58), PhoneSystemID: system, Version: 1, Name: "Old", Status: "archived"},
		&events.CallMenu{
			ID: id(25), PhoneSystemID: system, Version: 1, Name: "Welcome", Status: "active", CreatedAt: 1, UpdatedAt: 2, Prompt: greeting,
			Choices:                []events.Choice{{Digit: "#", Label: events.Some("Bye"), Action: *action}, {Digit: "1", Action: *action}},
			DirectExtensionDialing: true, NoInputAction: action,
		},
		&events.CallMenu{ID: id(26), PhoneSystemID: system, Version: 1, Name: "Empty", Status: "inactive"},
		&events.Representative{ID: id(70), PhoneSystemID: system, Version: 1, Name: "Ana Ruiz", Status: "active", UpdatedAt: 2},
		&events.Classification{
			PhoneSystemID: events.Some(system), Version: 1, Kind: "overall_sentiment", Code: "very/positive", Label: "Great", Status: "active",
			Score: events.Some(0.9), UpdatedAt: 3,
		},
		&events.Classification{Version: 1, Kind: "category", Code: "sales", Label: "Sales", Status: "active", UpdatedAt: 3},
		fullCall(),
		&events.Call{ID: id(31), PhoneSystemID: system, Version: 1, CallSid: "CA2", Direction: "internal", Status: "ringing"},
		&events.Extension{ID: id(11), PhoneSystemID: system, Version: 1, Number: "102", Name: "", Status: "inactive"},
		&events.Transcript{
			PhoneSystemID: system, CallID: events.Some(id(30)), Version: 1, Status: events.TranscriptCompleted, Text: events.Some("Hello, \\u \n"),
			Turns: []events.Turn{{Text: "Hello", Speaker: events.Speaker{Kind: "numbered", Ordinal: events.Some[int64](2)}}},
		},
		&events.Transcript{PhoneSystemID: system, VoicemailID: events.Some(id(40)), Version: 1, Status: events.TranscriptQueued},
		&events.Recording{
			RecordingSid: "RE1", PhoneSystemID: system, CallID: events.Some(id(30)), Version: 1, Status: events.RecordingReady, CreatedAt: 5,
			DurationSeconds: events.Some[int64](61), Audio: &events.Audio{Key: "a/b.wav", ContentType: "audio/wav", Bytes: 1 << 33},
		},
		&events.Recording{
			RecordingSid: "RE2", PhoneSystemID: system, VoicemailID: events.Some(id(40)), Version: 1, Status: events.RecordingProcessing,
		},
	}
	states = append(states, analyses()...)
	states = append(states,
		&events.Voicemail{
			ID: id(40), PhoneSystemID: system, Version: 1, CallSid: "CA3", From: events.Some("+14155550123"), FromName: events.Some("Zoë"), Duration: 21,
			ExtensionID: events.Some(id(10)), CallGroupID: events.Some(id(20)), Listened: true, Archived: true, RecordingSid: "RE2", CreatedAt: 7,
		},
		&events.Voicemail{ID: id(41), PhoneSystemID: system, Version: 1, CallSid: "CA4", RecordingSid: "RE4"},
	)
	history := make([]timedEvent, 0, len(states)+1)
	for i, state := range states {
		history = append(history, timedEvent{Event: events.Changed(state), At: events.Time(1_700_000_000_123 + i)})
	}
	gone := events.Identity{Entity: events.EntityRecording, System: system, Key: "RE9", Version: 4}
	return append(history, timedEvent{Event: events.Deleted(gone), At: 1_700_000_001_000})
}

func analyses() []events.State {
	return []events.State{
		&events.Analysis{
			ID: id(80), PhoneSystemID: id(1), Version: 1, CallID: id(30), CallSid: "CA1", Status: events.AnalysisCompleted,
			OverallScore: events.Some[int64](88), AnalyzedAt: events.Some[events.Time](9), CreatedAt: 8, CoachingTips: []string{"Say \"hello\"."},
			Category: events.Some("sales"), OverallSentiment: &events.Sentiment{Code: "very/positive", Score: events.Some(0.125)},
			EmployeeSentiment: &events.Sentiment{Code: "calm"}, CustomerSentiment: &events.Sentiment{Code: "glad", Score: events.Some(-1e-9)},
			SentimentSource: events.Some("model"), ScorecardScore: events.Some(71.5),
			Representative: &events.RepresentativeRole{
				State: "identified", ID: events.Some(id(70)), Confidence: events.Some(0.75), Source: events.Some("voice"),
			},
		},
		&events.Analysis{ID: id(81), PhoneSystemID: id(1), Version: 1, CallID: id(39), CallSid: "CA9", Status: "pending"},
	}
}

func fullCall() *events.Call {
	return &events.Call{
		ID: id(30), PhoneSystemID: id(1), Version: 1, CallSid: "CA1", ParentCallSid: events.Some("CA0"), Direction: "inbound",
		Status: "completed", Outcome: events.Some("answered"), From: events.Some("+14155550123"), FromDisplay: events.Some("(415) 555-0123"),
		FromNumber: events.Some("+14155550123"), FromName: events.Some("Zoë"), To: events.Some("+14155550100"), ToDisplay: events.Some("Desk"),
		ToNumber: events.Some("+14155550100"), ForwardedFrom: events.Some("+14155550111"), CreatedAt: 1_700_000_000_001,
		StartTime: events.Some[events.Time](-1), EndTime: events.Some[events.Time](253_402_300_799_999), Duration: events.Some[int64](0),
		CallGroupID: events.Some(id(20)), AnsweredByExtensionID: events.Some(id(10)), FromExtensionID: events.Some(id(11)),
		IsEmergency: true, RouteSummary: events.Some("menu > desk"), CallOutcomeCode: events.Some("booked"), IsConverted: true,
		ConversionValue: events.Some("00120.500"), OutcomeSource: events.Some("agent"), IsEdited: true,
		Tags: []events.Tag{{ID: id(60), Name: "VIP", Group: "g", Color: "#fff", Source: "manual", Confidence: events.Some(0.25)}},
	}
}

func ids(numbers ...int) []uuid.UUID {
	list := make([]uuid.UUID, len(numbers))
	for i, n := range numbers {
		list[i] = id(n)
	}
	return list
}
