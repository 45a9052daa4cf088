package scenario_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// world is a stage on which a small phone company has been published, for rules to be held against. Rules that change something
// do it in a phone system of their own.
type world struct {
	*stage

	organization, child, group uuid.UUID

	harbour, annex, branch uuid.UUID // phone systems: two of the organization and the group, one of the child organization

	// In harbour:
	front, back                uuid.UUID // extensions; back is inactive
	desk                       uuid.UUID // call group
	menu                       uuid.UUID // call menu
	base, handset              uuid.UUID // phones; the handset's parent is the base
	mainNumber, releasedNumber uuid.UUID
	ava, spare                 uuid.UUID // agent configs; spare has no number
	ana                        uuid.UUID // representative

	full, bare, leg   uuid.UUID // calls: with everything, with nothing, and a transferred leg of full
	analyzed, waiting uuid.UUID // analyses: full's, completed, and bare's, pending
	message, notice   uuid.UUID // voicemails: to the front extension, transcribed, and to the desk

	key access.Key // every scope on harbour

	bulks map[string]bulk // by name
}

// bulk is a phone system with so much in it that it is published once, for all rules that only read it.
type bulk struct {
	system uuid.UUID
	key    access.Key
	ids    []string
}

// bulk is the one of that name, made where no rule has made it yet.
func (w *world) bulk(name string, publish func() bulk) bulk {
	w.t.Helper()
	b, made := w.bulks[name]
	if !made {
		b = publish()
		w.bulks[name] = b
	}
	return b
}

const (
	fullSid    = "CA0000000000000000000000000000f011"
	bareSid    = "CA0000000000000000000000000000ba4e"
	fullSound  = "REfull"
	bareSound  = "REbare"    // still processing
	lostSound  = "RElost"    // unavailable
	voiceSound = "REmessage" // the message's

	fullAudio    = "what is heard of the full call"
	messageAudio = "what is heard of the message"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{stage: newStage(t), bulks: map[string]bulk{}}
	for i, id := range []*uuid.UUID{
		&w.organization, &w.child, &w.group, &w.harbour, &w.annex, &w.branch, &w.front, &w.back, &w.desk, &w.menu, &w.base, &w.handset,
		&w.mainNumber, &w.releasedNumber, &w.ava, &w.spare, &w.ana, &w.full, &w.bare, &w.leg, &w.analyzed, &w.waiting, &w.message, &w.notice,
	} {
		*id = uuid.MustParse(fmt.Sprintf("c0000000-0000-4000-8000-%012d", i+1))
	}
	w.keep("a.wav", fullAudio)
	w.keep("message.wav", messageAudio)
	w.happen(w.directory()...)
	w.happen(w.history()...)
	w.key = w.systemKey(w.harbour)
	return w
}

// in is the world as one rule's test sees it.
func (w *world) in(t *testing.T) *world {
	t.Helper()
	own, s := *w, *w.stage
	s.t = t
	own.stage = &s
	return &own
}

func day(n int) events.Time { return events.TimeOf(time.Date(2026, 3, n, 9, 0, 0, 0, time.UTC)) }

func (w *world) reference(kind string, id uuid.UUID) *events.Reference {
	return &events.Reference{Type: kind, ID: id, PhoneSystemID: w.harbour}
}

// directory is who and what is there.
func (w *world) directory() []events.Event {
	voicemail := &events.Action{Type: "extension-voicemail", Reference: w.reference("extension-voicemail", w.front)}
	greeting := &events.Playback{Kind: "recorded", URL: events.Some("https://media.example/greeting.wav")}
	system := func(id, organization uuid.UUID, name string) events.State {
		return &events.PhoneSystem{ID: id, Version: 1, Name: name, OrganizationID: events.Some(organization)}
	}
	return changed(
		system(w.harbour, w.organization, "Harbour Dental"), system(w.annex, w.organization, "Annex"), system(w.branch, w.child, "Branch"),
		&events.Group{ID: w.group, Version: 1, Name: "Both", PhoneSystemIDs: []uuid.UUID{w.harbour, w.annex}},
		&events.Extension{
			ID: w.front, PhoneSystemID: w.harbour, Version: 1, Number: "101", Name: "Front desk", Status: "active", CreatedAt: day(1), UpdatedAt: day(2),
			AssignedPhoneIDs: []uuid.UUID{w.base, w.handset}, UnansweredAction: voicemail, VoicemailGreeting: greeting,
		},
		&events.Extension{ID: w.back, PhoneSystemID: w.harbour, Version: 1, Number: "102", Name: "Back office", Status: "inactive", CreatedAt: day(2), UpdatedAt: day(2)},
		&events.Phone{
			ID: w.base, PhoneSystemID: w.harbour, Version: 1, Name: "Base", Status: "active", CreatedAt: day(1), UpdatedAt: day(1),
			DeviceRole: events.Some("base"), MACAddress: events.Some("00:15:65:12:34:56"), Firmware: events.Some("146.85.0.20"),
			Hardware: events.Hardware{Manufacturer: events.Some("Yealink"), Model: events.Some("W70B"), SerialNumber: events.Some("8023")},
		},
		&events.Phone{
			ID: w.handset, PhoneSystemID: w.harbour, Version: 1, Name: "Handset", Status: "inactive", CreatedAt: day(2), UpdatedAt: day(2),
			ExtensionID: events.Some(w.front), DeviceRole: events.Some("handset"), ParentPhoneID: events.Some(w.base), Slot: events.Some[int64](1),
		},
		&events.PhoneNumber{
			ID: w.mainNumber, PhoneSystemID: w.harbour, Version: 1, PhoneNumber: "+14155550100", Label: events.Some("Main"), Status: "active",
			CreatedAt: day(1), UpdatedAt: day(1), Origin: "managed", Country: events.Some("US"), IsPrimary: true,
		},
		&events.PhoneNumber{
			ID: w.releasedNumber, PhoneSystemID: w.harbour, Version: 1, PhoneNumber: "+14155550199", Status: "released", CreatedAt: day(2), UpdatedAt: day(3),
			Origin: "carrier_hosted",
		},
		&events.AgentConfig{ID: w.ava, PhoneSystemID: w.harbour, Version: 1, Name: "Ava", AgentNumber: events.Some[int64](3), Status: "active", CreatedAt: day(1), UpdatedAt: day(1)},
		&events.AgentConfig{ID: w.spare, PhoneSystemID: w.harbour, Version: 1, Name: "Spare", Status: "testing", CreatedAt: day(2), UpdatedAt: day(2)},
		&events.CallGroup{
			ID: w.desk, PhoneSystemID: w.harbour, Version: 1, Name: "Reception", Number: "200", Status: "active", CreatedAt: day(1), UpdatedAt: day(1),
			Members:     []events.Reference{*w.reference("extension", w.back), *w.reference("extension", w.front)},
			RingPattern: "sequential", UnansweredAction: voicemail, VoicemailGreeting: greeting,
		},
		&events.CallMenu{
			ID: w.menu, PhoneSystemID: w.harbour, Version: 1, Name: "Welcome", Status: "active", CreatedAt: day(1), UpdatedAt: day(1), Prompt: greeting,
			Choices: []events.Choice{
				{Digit: "2", Label: events.Some("Reception"), Action: events.Action{Type: "call-group", Reference: w.reference("call-group", w.desk)}},
				{Digit: "1", Action: events.Action{Type: "forward", Literal: events.Some("+14155550111")}},
			},
			DirectExtensionDialing: true, NoInputAction: &events.Action{Type: "hangup"},
		},
		&events.Representative{ID: w.ana, PhoneSystemID: w.harbour, Version: 1, Name: "Ana Ruiz", Status: "active", UpdatedAt: day(1)},
		&events.Classification{PhoneSystemID: events.Some(w.harbour), Version: 1, Kind: "category", Code: "new_patient", Label: "New patient", Status: "active", UpdatedAt: day(1)},
		&events.Classification{Version: 1, Kind: "category", Code: "new_patient", Label: "Prospect", Status: "active", UpdatedAt: day(1)},
		&events.Classification{Version: 1, Kind: "overall_sentiment", Code: "positive", Label: "Positive", Status: "active", Score: events.Some(0.75), UpdatedAt: day(1)},
	)
}

// history is what has happened to them.
func (w *world) history() []events.Event {
	full := call(w.harbour, w.full, 1)
	full.CallSid, full.CreatedAt = fullSid, day(5)
	full.FromDisplay, full.FromNumber = events.Some("(415) 555-0123"), events.Some("+14155550123")
	full.ToDisplay, full.ToNumber = events.Some("Main line"), events.Some("+14155550100")
	full.ForwardedFrom, full.RouteSummary = events.Some("+14155550144"), events.Some("Welcome > Reception")
	full.StartTime, full.EndTime = events.Some(day(5)+1500), events.Some(day(5)+191_500)
	full.CallGroupID, full.AnsweredByExtensionID, full.FromExtensionID = events.Some(w.desk), events.Some(w.front), events.Some(w.back)
	full.IsEmergency, full.IsEdited, full.IsConverted = true, true, true
	full.CallOutcomeCode, full.ConversionValue, full.OutcomeSource = events.Some("booked"), events.Some("0120.50"), events.Some("agent")
	full.Tags = []events.Tag{{
		ID: uuid.MustParse("c0000000-0000-4000-8000-00000000007a"), Name: "VIP", Group: "care", Color: "#c0ffee", Source: "manual", Confidence: events.Some(0.5),
	}}
	bare := &events.Call{ID: w.bare, PhoneSystemID: w.harbour, Version: 1, CallSid: bareSid, Direction: "internal", Status: "no-answer", From: "101", To: "102", CreatedAt: day(4)}
	leg := call(w.harbour, w.leg, 1)
	leg.CallSid, leg.ParentCallSid, leg.CreatedAt = fullSid, events.Some(bareSid), day(6)
	words := transcript(w.harbour, w.full, 1, "completed", "Good morning. \"Hi\", two\nlines.")
	words.Turns = []events.Turn{
		{Text: "Good morning.", Speaker: events.Speaker{Kind: "role", Role: "agent"}, StartSeconds: events.Some(0.5), EndSeconds: events.Some(2.25), Confidence: events.Some(0.98)},
		{Text: "\"Hi\", two", Speaker: events.Speaker{Kind: "numbered", Ordinal: events.Some[int64](2)}},
		{Text: "lines.", Speaker: events.Speaker{Kind: "unattributed"}},
	}
	ofMessage := &events.Transcript{PhoneSystemID: w.harbour, VoicemailID: events.Some(w.message), Version: 1, Status: "completed", Text: events.Some("Please call back.")}
	sound := recording(w.harbour, uuid.Nil, voiceSound, 1, events.RecordingReady)
	sound.CallID, sound.VoicemailID, sound.Audio.Key = events.Null[uuid.UUID]{}, events.Some(w.message), "message.wav"
	return changed(full, bare, leg, words, ofMessage, sound,
		recording(w.harbour, w.full, fullSound, 1, events.RecordingReady), recording(w.harbour, w.bare, bareSound, 1, events.RecordingProcessing),
		recording(w.harbour, w.leg, lostSound, 1, events.RecordingUnavailable),
		&events.Analysis{
			ID: w.analyzed, PhoneSystemID: w.harbour, Version: 1, CallID: w.full, CallSid: fullSid, Status: events.AnalysisCompleted,
			OverallScore: events.Some[int64](88), AnalyzedAt: events.Some(day(6)), CreatedAt: day(5), CoachingTips: []string{"Say the name."},
			Category: events.Some("new_patient"), OverallSentiment: &events.Sentiment{Code: "positive", Score: events.Some(0.5)},
			EmployeeSentiment: &events.Sentiment{Code: "very_calm", Score: events.Some(0.25)}, CustomerSentiment: &events.Sentiment{Code: "positive", Score: events.Some(-0.125)},
			SentimentSource: events.Some("model"), ScorecardScore: events.Some(71.5),
			Representative: &events.RepresentativeRole{State: "identified", ID: events.Some(w.ana), Confidence: events.Some(0.875), Source: events.Some("voice")},
		},
		&events.Analysis{
			ID: w.waiting, PhoneSystemID: w.harbour, Version: 1, CallID: w.bare, CallSid: bareSid, Status: "pending", OverallScore: events.Some[int64](12),
			AnalyzedAt: events.Some(day(6)), CreatedAt: day(4),
		},
		&events.Voicemail{
			ID: w.message, PhoneSystemID: w.harbour, Version: 1, CallSid: bareSid, From: "+14155550123", FromName: events.Some("Zoë Marsh"), Duration: 21,
			ExtensionID: events.Some(w.front), Listened: true, RecordingSid: voiceSound, CreatedAt: day(7),
		},
		&events.Voicemail{
			ID: w.notice, PhoneSystemID: w.harbour, Version: 1, CallSid: bareSid, From: "+14155550124", Duration: 3, CallGroupID: events.Some(w.desk),
			Archived: true, RecordingSid: "REnotice", CreatedAt: day(8),
		},
	)
}

// home is a path below the harbour's.
func (w *world) home(path string) string { return "/" + w.harbour.String() + path }

var testName = regexp.MustCompile(`^([a-z/]+)\.(Test\w+)$`)

// mustExist checks that a test named "package/folder.TestName" is there and never leaves itself out.
func mustExist(t *testing.T, name string) {
	t.Helper()
	parts := testName.FindStringSubmatch(name)
	if parts == nil {
		t.Fatalf("%q is no test's name", name)
	}
	files, err := filepath.Glob(filepath.Join("../..", parts[1], "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, behind, found := strings.Cut(string(source), "func "+parts[2]+"("); found {
			if body, _, _ := strings.Cut(behind, "\n}\n"); strings.Contains(body, ".Skip") {
				t.Errorf("%s may skip itself", name)
			}
			return
		}
	}
	t.Errorf("there is no test %s", name)
}
