package scenario_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
)

// tenantKind says how a tenant is related to the organization's key.
type tenantKind string

const (
	tenantOwn               tenantKind = "own"
	tenantSameGroup         tenantKind = "of the same group"
	tenantSameOrganization  tenantKind = "of the same organization"
	tenantChildOrganization tenantKind = "of a child organization"
	tenantOtherOrganization tenantKind = "of another organization"
	tenantUnannounced       tenantKind = "without an event" // but with rows
	tenantDeleted           tenantKind = "deleted"          // but with rows
	tenantUnknown           tenantKind = "unknown"

	malformedID   tenantKind = "no identifier" // as a phone system or an object
	deletedObject tenantKind = "deleted object of own"
)

func tenantKinds() []tenantKind {
	return []tenantKind{tenantOwn, tenantSameGroup, tenantSameOrganization, tenantChildOrganization, tenantOtherOrganization, tenantUnannounced, tenantDeleted, tenantUnknown, malformedID}
}

// isolationFixture has phone systems whose data differ in a mark only. The mark is in every identifier and name, so
// an answer shows whose data it has.
type isolationFixture struct {
	*fixture
	tenants                       map[tenantKind]tenant
	otherGroup, otherOrganization uuid.UUID
	clients                       *atomic.Uint32 // how many addresses were used
}

func newIsolationFixture(t *testing.T) *isolationFixture {
	t.Helper()
	f := &isolationFixture{fixture: &fixture{harness: newHarness(t)}, tenants: map[tenantKind]tenant{}, clients: new(atomic.Uint32)}
	f.organization, f.child, f.otherOrganization, f.group, f.otherGroup = uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()
	for i, of := range tenantKinds() {
		f.tenants[of] = tenant(i + 1)
	}
	f.apply(f.systemEvents()...)
	for _, of := range tenantKinds()[:7] {
		f.storeAudio(f.tenants[of].mark()+".wav", "audio of "+f.tenants[of].mark())
		f.apply(changed(f.tenants[of].states()...)...)
	}
	own := f.tenants[tenantOwn]
	f.apply(changed(own.deletedStates(1)...)...)
	deletions := []events.Event{deleted(phoneSystem(f.tenants[tenantDeleted].system(), 2, ""))}
	for _, state := range own.deletedStates(2) {
		deletions = append(deletions, deleted(state))
	}
	f.apply(deletions...)
	f.stopProjector()
	return f
}

// systemEvents returns the events of phone systems and groups. Deleted systems stay in their group and organization.
func (f *isolationFixture) systemEvents() []events.Event {
	system := func(of tenantKind, organization uuid.UUID) events.State {
		state := phoneSystem(f.tenants[of].system(), 1, f.tenants[of].mark())
		state.OrganizationID = events.Some(organization)
		return state
	}
	group := func(id uuid.UUID, members ...tenantKind) events.State {
		state := &events.Group{ID: id, Version: 1, Name: "Group"}
		for _, of := range members {
			state.PhoneSystemIDs = append(state.PhoneSystemIDs, f.tenants[of].system())
		}
		return state
	}
	return changed(
		system(tenantOwn, f.organization), system(tenantSameGroup, f.organization), system(tenantSameOrganization, f.organization), system(tenantDeleted, f.organization),
		system(tenantChildOrganization, f.child), system(tenantOtherOrganization, f.otherOrganization),
		group(f.group, tenantOwn, tenantSameGroup, tenantUnannounced, tenantDeleted, tenantUnknown), group(f.otherGroup, tenantOtherOrganization, tenantChildOrganization),
	)
}

// tenant is a phone system by its number.
type tenant int

func (t tenant) mark() string { return fmt.Sprintf("7e4a00%02x", int(t)) }

func (t tenant) id(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("%s-0000-4000-8000-%012d", t.mark(), n))
}

func (t tenant) system() uuid.UUID { return t.id(0) }

// referenced returns the tenant to which this tenant's call refers.
func (t tenant) referenced() tenant { return 1 + t%7 }

// withoutReferences returns a text without the references of this tenant's call to another tenant. They have the
// ids that were published and names that follow from these ids alone. With the other tenant's names, they stay in
// the text.
func (t tenant) withoutReferences(text string) string {
	named := func(object int, kind string) string {
		return fmt.Sprintf(`{"id":%q,"name":"%s %s"`, t.referenced().id(object), kind, t.referenced().mark())
	}
	return strings.NewReplacer(
		named(extensionObject, "Extension"), "", named(callGroupObject, "Call group"), "", named(representativeObject, "Representative"), "",
	).Replace(text)
}

// The numbers of a tenant's objects. The number of a deleted one is one above.
const (
	phoneObject = 10 * (iota + 1)
	phoneNumberObject
	extensionObject
	agentConfigObject
	callGroupObject
	callMenuObject
	callObject
	analysisObject
	voicemailObject
	representativeObject
	tagObject
)

// object returns the value of a path variable.
func (t tenant) object(variable string, more int) string {
	if variable == "{phoneSystemId}" {
		return t.system().String()
	}
	if variable == "{recordingSid}" {
		return t.sid(more)
	}
	return t.id(more + map[string]int{
		"{phoneId}": phoneObject, "{phoneNumberId}": phoneNumberObject, "{extensionId}": extensionObject, "{agentConfigId}": agentConfigObject,
		"{callGroupId}": callGroupObject, "{callMenuId}": callMenuObject, "{callLogId}": callObject, "{id}": analysisObject, "{voicemailId}": voicemailObject,
	}[variable]).String()
}

// The numbers of a tenant's recordings, in their sids.
const (
	callRecording = iota
	deletedRecordingOfCall
	voicemailRecording
)

func (t tenant) sid(number int) string { return fmt.Sprintf("RE%s%d", t.mark(), number) }

// sharedSid is the callSid of all tenants' calls.
const sharedSid = "CA00000000000000000000000000005a3e"

// states returns the tenant's data: one row of every list, and what it refers to.
func (t tenant) states() []events.State {
	name := events.Some(t.mark())
	c, a := t.call(0, 1), t.analysis(0, 1)
	c.FromName, c.FromDisplay, c.ToDisplay, c.RouteSummary = name, name, name, name
	c.Tags = []events.Tag{{ID: t.id(tagObject), Name: t.mark(), Group: "g", Color: "#000000", Source: "manual"}}
	c.AnsweredByExtensionID = events.Some(t.id(extensionObject))
	a.CoachingTips, a.Category, a.OverallSentiment = []string{t.mark()}, events.Some("shared"), &events.Sentiment{Code: "shared"}
	a.EmployeeSentiment = &events.Sentiment{Code: t.mark()} // without a definition
	// These refer to another tenant's data, whose names must not be served.
	c.CallGroupID, c.FromExtensionID = events.Some(t.referenced().id(callGroupObject)), events.Some(t.referenced().id(extensionObject))
	a.Representative = &events.RepresentativeRole{State: "identified", ID: events.Some(t.referenced().id(representativeObject))}
	text := transcript(t.system(), c.ID, 1, "completed", t.mark())
	text.Turns = []events.Turn{{Text: t.mark(), Speaker: events.Speaker{Kind: "unattributed"}}}
	return append(t.directory(0, 1), c, a, text, t.voicemail(0, 1), t.recording(callRecording, 1), t.recording(voicemailRecording, 1),
		&events.Transcript{PhoneSystemID: t.system(), VoicemailID: events.Some(t.id(voicemailObject)), Version: 1, Status: "completed", Text: name},
		&events.Representative{ID: t.id(representativeObject), PhoneSystemID: t.system(), Version: 1, Name: t.mark(), Status: "active", UpdatedAt: day(1)},
		t.definition("category"), t.definition("overall_sentiment"))
}

// deletedStates returns the states of objects that are published at version 1 and deleted at version 2.
func (t tenant) deletedStates(version int64) []events.State {
	c := t.call(1, version)
	audio := t.recording(deletedRecordingOfCall, version)
	audio.CallID = events.Some(c.ID)
	return append(t.directory(1, version), c, t.analysis(1, version), t.voicemail(1, version), audio)
}

// directory returns the topology. more is added to the objects' numbers.
func (t tenant) directory(more int, version int64) []events.State {
	id, system, name, created := func(object int) uuid.UUID { return t.id(object + more) }, t.system(), t.mark(), day(1)
	of := events.Reference{Type: "extension", ID: id(extensionObject), PhoneSystemID: system}
	greeting := &events.Playback{Kind: "recorded", URL: events.Some("https://media.example/" + name)}
	voice := &events.Action{Type: "extension", Reference: &of}
	return []events.State{
		&events.Phone{
			ID: id(phoneObject), PhoneSystemID: system, Version: version, Name: name, Status: "active", CreatedAt: created, UpdatedAt: created,
			ExtensionID: events.Some(id(extensionObject)), Firmware: events.Some(name), Hardware: events.Hardware{SerialNumber: events.Some(name)},
		},
		&events.PhoneNumber{
			ID: id(phoneNumberObject), PhoneSystemID: system, Version: version, PhoneNumber: "+14155550100", Label: events.Some(name), Status: "active",
			CreatedAt: created, UpdatedAt: created, Origin: "managed",
		},
		&events.Extension{
			ID: id(extensionObject), PhoneSystemID: system, Version: version, Number: "101", Name: name, Status: "active", CreatedAt: created, UpdatedAt: created,
			AssignedPhoneIDs: []uuid.UUID{id(phoneObject)}, UnansweredAction: voice, VoicemailGreeting: greeting,
		},
		&events.AgentConfig{
			ID: id(agentConfigObject), PhoneSystemID: system, Version: version, Name: name, AgentNumber: events.Some[int64](1), Status: "active",
			CreatedAt: created, UpdatedAt: created,
		},
		&events.CallGroup{
			ID: id(callGroupObject), PhoneSystemID: system, Version: version, Number: "101", Name: name, Status: "active", CreatedAt: created, UpdatedAt: created,
			Members: []events.Reference{of}, RingPattern: "all", UnansweredAction: voice, VoicemailGreeting: greeting,
		},
		&events.CallMenu{
			ID: id(callMenuObject), PhoneSystemID: system, Version: version, Name: name, Status: "active", CreatedAt: created, UpdatedAt: created,
			Prompt: greeting, NoInputAction: voice,
		},
	}
}

func (t tenant) call(more int, version int64) *events.Call {
	c := call(t.system(), t.id(callObject+more), version)
	c.CallSid, c.CreatedAt = sharedSid, day(1)
	return c
}

func (t tenant) analysis(more int, version int64) *events.Analysis {
	return &events.Analysis{
		ID: t.id(analysisObject + more), PhoneSystemID: t.system(), Version: version, CallID: t.id(callObject + more), CallSid: sharedSid,
		Status: events.AnalysisCompleted, CreatedAt: day(1),
	}
}

func (t tenant) voicemail(more int, version int64) *events.Voicemail {
	return &events.Voicemail{
		ID: t.id(voicemailObject + more), PhoneSystemID: t.system(), Version: version, CallSid: sharedSid, From: events.Some("101"), FromName: events.Some(t.mark()),
		ExtensionID: events.Some(t.id(extensionObject)), RecordingSid: t.sid(voicemailRecording), CreatedAt: day(1),
	}
}

func (t tenant) recording(number int, version int64) *events.Recording {
	audio := recording(t.system(), t.id(callObject), t.sid(number), version, events.RecordingReady)
	audio.CreatedAt, audio.Audio.Key = day(1), t.mark()+".wav"
	if number == voicemailRecording {
		audio.CallID, audio.VoicemailID = audio.VoicemailID, events.Some(t.id(voicemailObject))
	}
	return audio
}

// definition returns the tenant's definition of a code that all tenants use.
func (t tenant) definition(kind string) *events.Classification {
	return &events.Classification{
		PhoneSystemID: events.Some(t.system()), Version: 1, Kind: kind, Code: "shared", Label: t.mark(), Status: "active", UpdatedAt: day(1),
	}
}
