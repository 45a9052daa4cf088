package scenario_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// fixture is a harness with the data of a small phone company. Rules read it; rules that change data do so in an
// [ownSystem].
type fixture struct {
	*harness

	organization, child, group uuid.UUID // child is the organization's child
	harbour, annex, branch     uuid.UUID // phone systems: two of the organization and the group, one of child

	// In harbour:
	front, back                uuid.UUID // extensions; back is inactive
	desk                       uuid.UUID // call group
	menu                       uuid.UUID // call menu
	base, handset              uuid.UUID // phones; the handset's parent is the base
	mainNumber, releasedNumber uuid.UUID
	ava, spare                 uuid.UUID // agent configs; spare has no number
	ana                        uuid.UUID // representative

	full, bare, leg   uuid.UUID // calls: with every field, with the required ones, and a transferred leg of full
	analyzed, waiting uuid.UUID // analyses: full's, completed, and bare's, pending
	message, notice   uuid.UUID // voicemails: to the front extension, transcribed, and to the desk

	key access.Key // every scope on harbour
}

const (
	fullSid             = "CA0000000000000000000000000000f011"
	bareSid             = "CA0000000000000000000000000000ba4e"
	fullRecording       = "REfull"
	processingRecording = "REbare" // of bare
	lostRecording       = "RElost" // of leg; unavailable
	messageRecording    = "REmessage"

	fullAudio    = "audio of the full call"
	messageAudio = "audio of the message"
)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{harness: newHarness(t)}
	for i, id := range []*uuid.UUID{
		&f.organization, &f.child, &f.group, &f.harbour, &f.annex, &f.branch, &f.front, &f.back, &f.desk, &f.menu, &f.base, &f.handset,
		&f.mainNumber, &f.releasedNumber, &f.ava, &f.spare, &f.ana, &f.full, &f.bare, &f.leg, &f.analyzed, &f.waiting, &f.message, &f.notice,
	} {
		*id = uuid.MustParse(fmt.Sprintf("c0000000-0000-4000-8000-%012d", i+1))
	}
	f.storeAudio("a.wav", fullAudio)
	f.storeAudio("message.wav", messageAudio)
	f.apply(f.directory()...)
	f.apply(f.history()...)
	f.key = f.systemKey(f.harbour)
	return f
}

// in returns the fixture for a subtest.
func (f *fixture) in(t *testing.T) *fixture {
	t.Helper()
	inner, h, copied := *f.Harness, *f.harness, *f
	inner.TB, h.Harness, copied.harness = t, &inner, &h
	return &copied
}

// day returns 09:00 on a day of March 2026.
func day(n int) events.Time { return events.TimeOf(time.Date(2026, 3, n, 9, 0, 0, 0, time.UTC)) }

func (f *fixture) reference(kind string, id uuid.UUID) *events.Reference {
	return &events.Reference{Type: kind, ID: id, PhoneSystemID: f.harbour}
}

// directory returns the events of phone systems and their topology.
func (f *fixture) directory() []events.Event {
	voicemail := &events.Action{Type: "extension-voicemail", Reference: f.reference("extension-voicemail", f.front)}
	greeting := &events.Playback{Kind: "recorded", URL: events.Some("https://media.example/greeting.wav")}
	system := func(id, organization uuid.UUID, name string) events.State {
		return &events.PhoneSystem{ID: id, Version: 1, Name: name, OrganizationID: events.Some(organization)}
	}
	return changed(
		system(f.harbour, f.organization, "Harbour Dental"), system(f.annex, f.organization, "Annex"), system(f.branch, f.child, "Branch"),
		&events.Group{ID: f.group, Version: 1, Name: "Both", PhoneSystemIDs: []uuid.UUID{f.harbour, f.annex}},
		&events.Extension{
			ID: f.front, PhoneSystemID: f.harbour, Version: 1, Number: "101", Name: "Front desk", Status: "active", CreatedAt: day(1), UpdatedAt: day(2),
			AssignedPhoneIDs: []uuid.UUID{f.base, f.handset}, UnansweredAction: voicemail, VoicemailGreeting: greeting,
		},
		&events.Extension{ID: f.back, PhoneSystemID: f.harbour, Version: 1, Number: "102", Name: "Back office", Status: "inactive", CreatedAt: day(2), UpdatedAt: day(2)},
		&events.Phone{
			ID: f.base, PhoneSystemID: f.harbour, Version: 1, Name: "Base", Status: "active", CreatedAt: day(1), UpdatedAt: day(1),
			DeviceRole: events.Some("base"), MACAddress: events.Some("00:15:65:12:34:56"), Firmware: events.Some("146.85.0.20"),
			Hardware: events.Hardware{Manufacturer: events.Some("Yealink"), Model: events.Some("W70B"), SerialNumber: events.Some("8023")},
		},
		&events.Phone{
			ID: f.handset, PhoneSystemID: f.harbour, Version: 1, Name: "Handset", Status: "inactive", CreatedAt: day(2), UpdatedAt: day(2),
			ExtensionID: events.Some(f.front), DeviceRole: events.Some("handset"), ParentPhoneID: events.Some(f.base), Slot: events.Some[int64](1),
		},
		&events.PhoneNumber{
			ID: f.mainNumber, PhoneSystemID: f.harbour, Version: 1, PhoneNumber: "+14155550100", Label: events.Some("Main"), Status: "active",
			CreatedAt: day(1), UpdatedAt: day(1), Origin: "managed", Country: events.Some("US"), IsPrimary: true,
		},
		&events.PhoneNumber{
			ID: f.releasedNumber, PhoneSystemID: f.harbour, Version: 1, PhoneNumber: "+14155550199", Status: "released", CreatedAt: day(2), UpdatedAt: day(3),
			Origin: "carrier_hosted",
		},
		&events.AgentConfig{ID: f.ava, PhoneSystemID: f.harbour, Version: 1, Name: "Ava", AgentNumber: events.Some[int64](3), Status: "active", CreatedAt: day(1), UpdatedAt: day(1)},
		&events.AgentConfig{ID: f.spare, PhoneSystemID: f.harbour, Version: 1, Name: "Spare", Status: "testing", CreatedAt: day(2), UpdatedAt: day(2)},
		&events.CallGroup{
			ID: f.desk, PhoneSystemID: f.harbour, Version: 1, Name: "Reception", Number: "200", Status: "active", CreatedAt: day(1), UpdatedAt: day(1),
			Members:     []events.Reference{*f.reference("extension", f.back), *f.reference("extension", f.front)},
			RingPattern: "sequential", UnansweredAction: voicemail, VoicemailGreeting: greeting,
		},
		&events.CallMenu{
			ID: f.menu, PhoneSystemID: f.harbour, Version: 1, Name: "Welcome", Status: "active", CreatedAt: day(1), UpdatedAt: day(1), Prompt: greeting,
			Choices: []events.Choice{
				{Digit: "2", Label: events.Some("Reception"), Action: events.Action{Type: "call-group", Reference: f.reference("call-group", f.desk)}},
				{Digit: "1", Action: events.Action{Type: "forward", Literal: events.Some("+14155550111")}},
				// Of another phone system, and unknown.
				{Digit: "3", Action: events.Action{Type: "agent-config", Reference: &events.Reference{Type: "agent-config", ID: f.ana, PhoneSystemID: f.annex}}},
			},
			DirectExtensionDialing: true, NoInputAction: &events.Action{Type: "hangup"},
		},
		&events.Representative{ID: f.ana, PhoneSystemID: f.harbour, Version: 1, Name: "Ana Ruiz", Status: "active", UpdatedAt: day(1)},
		&events.Classification{PhoneSystemID: events.Some(f.harbour), Version: 1, Kind: "category", Code: "new_patient", Label: "New patient", Status: "active", UpdatedAt: day(1)},
		&events.Classification{Version: 1, Kind: "category", Code: "new_patient", Label: "Prospect", Status: "active", UpdatedAt: day(1)},
		&events.Classification{Version: 1, Kind: "overall_sentiment", Code: "positive", Label: "Positive", Status: "active", Score: events.Some(0.75), UpdatedAt: day(1)},
	)
}

// history returns the events of calls and voicemails.
func (f *fixture) history() []events.Event {
	full := call(f.harbour, f.full, 1)
	full.CallSid, full.CreatedAt = fullSid, day(5)
	full.FromDisplay, full.FromNumber = events.Some("(415) 555-0123"), events.Some("+14155550123")
	full.ToDisplay, full.ToNumber = events.Some("Main line"), events.Some("+14155550100")
	full.ForwardedFrom, full.RouteSummary = events.Some("+14155550144"), events.Some("Welcome > Reception")
	full.StartTime, full.EndTime = events.Some(day(5)+1500), events.Some(day(5)+191_500)
	full.CallGroupID, full.AnsweredByExtensionID, full.FromExtensionID = events.Some(f.desk), events.Some(f.front), events.Some(f.back)
	full.IsEmergency, full.IsEdited, full.IsConverted = true, true, true
	full.CallOutcomeCode, full.ConversionValue, full.OutcomeSource = events.Some("booked"), events.Some("0120.50"), events.Some("agent")
	full.Tags = []events.Tag{{
		ID: uuid.MustParse("c0000000-0000-4000-8000-00000000007a"), Name: "VIP", Group: "care", Color: "#c0ffee", Source: "manual", Confidence: events.Some(0.5),
	}}
	bare := &events.Call{ID: f.bare, PhoneSystemID: f.harbour, Version: 1, CallSid: bareSid, Direction: "internal", Status: "no-answer", From: events.Some("101"), To: events.Some("102"), CreatedAt: day(4)}
	leg := call(f.harbour, f.leg, 1)
	leg.CallSid, leg.ParentCallSid, leg.CreatedAt = fullSid, events.Some(bareSid), day(6)
	fullTranscript := transcript(f.harbour, f.full, 1, "completed", "Good morning. \"Hi\", two\nlines.")
	fullTranscript.Turns = []events.Turn{
		{Text: "Good morning.", Speaker: events.Speaker{Kind: "role", Role: "agent"}, StartSeconds: events.Some(0.5), EndSeconds: events.Some(2.25), Confidence: events.Some(0.98)},
		{Text: "\"Hi\", two", Speaker: events.Speaker{Kind: "numbered", Ordinal: events.Some[int64](2)}},
		{Text: "lines.", Speaker: events.Speaker{Kind: "unattributed"}},
	}
	messageTranscript := &events.Transcript{PhoneSystemID: f.harbour, VoicemailID: events.Some(f.message), Version: 1, Status: "completed", Text: events.Some("Please call back.")}
	audio := recording(f.harbour, uuid.Nil, messageRecording, 1, events.RecordingReady)
	audio.CallID, audio.VoicemailID, audio.Audio.Key = events.Null[uuid.UUID]{}, events.Some(f.message), "message.wav"
	return changed(full, bare, leg, fullTranscript, messageTranscript, audio,
		recording(f.harbour, f.full, fullRecording, 1, events.RecordingReady), recording(f.harbour, f.bare, processingRecording, 1, events.RecordingProcessing),
		recording(f.harbour, f.leg, lostRecording, 1, events.RecordingUnavailable),
		&events.Analysis{
			ID: f.analyzed, PhoneSystemID: f.harbour, Version: 1, CallID: f.full, CallSid: fullSid, Status: events.AnalysisCompleted,
			OverallScore: events.Some[int64](88), AnalyzedAt: events.Some(day(6)), CreatedAt: day(5), CoachingTips: []string{"Say the name."},
			Category: events.Some("new_patient"), OverallSentiment: &events.Sentiment{Code: "positive", Score: events.Some(0.5)},
			EmployeeSentiment: &events.Sentiment{Code: "very_calm", Score: events.Some(0.25)}, CustomerSentiment: &events.Sentiment{Code: "positive", Score: events.Some(-0.125)},
			SentimentSource: events.Some("model"), ScorecardScore: events.Some(71.5),
			Representative: &events.RepresentativeRole{State: "identified", ID: events.Some(f.ana), Confidence: events.Some(0.875), Source: events.Some("voice")},
		},
		&events.Analysis{
			ID: f.waiting, PhoneSystemID: f.harbour, Version: 1, CallID: f.bare, CallSid: bareSid, Status: "pending", OverallScore: events.Some[int64](12),
			AnalyzedAt: events.Some(day(6)), CreatedAt: day(4),
		},
		&events.Voicemail{
			ID: f.message, PhoneSystemID: f.harbour, Version: 1, CallSid: bareSid, From: events.Some("+14155550123"), FromName: events.Some("Zoë Marsh"), Duration: 21,
			ExtensionID: events.Some(f.front), Listened: true, RecordingSid: messageRecording, CreatedAt: day(7),
		},
		&events.Voicemail{
			ID: f.notice, PhoneSystemID: f.harbour, Version: 1, CallSid: bareSid, From: events.Some("+14155550124"), Duration: 3, CallGroupID: events.Some(f.desk),
			Archived: true, RecordingSid: "REnotice", CreatedAt: day(8),
		},
	)
}

// harbourPath returns a path below the harbour's.
func (f *fixture) harbourPath(path string) string { return "/" + f.harbour.String() + path }

func (f *fixture) harbourGrant() access.Grant {
	return access.Grant{Kind: access.GrantSystem, ID: f.harbour}
}
