package scenario_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
)

// owner is whose phone system something is of, as the key on the realm's organization sees it. As an object's, two more stand
// beside the systems': what was deleted of one's own, and what is no identifier.
type owner string

const (
	own         owner = "own"
	fellow      owner = "of the same group"
	annexed     owner = "of the same organization"
	offspring   owner = "of a child organization"
	stranger    owner = "of another organization"
	unannounced owner = "that nobody announced" // its rows are there
	ended       owner = "that was deleted"      // its rows are there
	never       owner = "that never was"
	malformed   owner = "that is no identifier"
	removed     owner = "deleted"
)

func systemOwners() []owner {
	return []owner{own, fellow, annexed, offspring, stranger, unannounced, ended, never, malformed}
}

// realm is a world of phone systems that have the same of everything, to the letter, save for their mark. It is in every
// identifier and every name of theirs, so that an answer tells whose rows it was made of.
type realm struct {
	*world
	tenants     map[owner]tenant
	othersGroup uuid.UUID
	others      uuid.UUID // the organization of strangers
}

func newRealm(t *testing.T) *realm {
	t.Helper()
	r := &realm{world: &world{stage: newStage(t)}, tenants: map[owner]tenant{}}
	r.organization, r.child, r.others, r.group, r.othersGroup = uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()
	for i, of := range systemOwners() {
		r.tenants[of] = tenant(i + 1)
	}
	r.happen(r.announced()...)
	for _, of := range systemOwners()[:7] {
		r.keep(r.tenants[of].mark()+".wav", "sound of "+r.tenants[of].mark())
		r.happen(changed(r.tenants[of].states()...)...)
	}
	mine := r.tenants[own]
	r.happen(changed(mine.doomed(1)...)...)
	for _, state := range mine.doomed(2) {
		r.happen(deleted(state))
	}
	r.happen(deleted(phoneSystem(r.tenants[ended].system(), 2, "")))
	r.stopProjector() // nothing more happens
	return r
}

// announced are the phone systems and what holds them together. Deleted systems stay in their group and their organization.
func (r *realm) announced() []events.Event {
	system := func(of owner, organization uuid.UUID) events.State {
		state := phoneSystem(r.tenants[of].system(), 1, r.tenants[of].mark())
		state.OrganizationID = events.Some(organization)
		return state
	}
	group := func(id uuid.UUID, members ...owner) events.State {
		state := &events.Group{ID: id, Version: 1, Name: "Group"}
		for _, of := range members {
			state.PhoneSystemIDs = append(state.PhoneSystemIDs, r.tenants[of].system())
		}
		return state
	}
	return changed(
		system(own, r.organization), system(fellow, r.organization), system(annexed, r.organization), system(ended, r.organization),
		system(offspring, r.child), system(stranger, r.others),
		group(r.group, own, fellow, unannounced, ended, never), group(r.othersGroup, stranger, offspring),
	)
}

// tenant is a phone system, by its number.
type tenant int

func (t tenant) mark() string { return fmt.Sprintf("7e4a00%02x", int(t)) }

func (t tenant) id(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("%s-0000-4000-8000-%012d", t.mark(), n))
}

func (t tenant) system() uuid.UUID { return t.id(0) }

// neighbour is another, to which the tenant's call refers.
func (t tenant) neighbour() tenant { return 1 + t%7 }

// The numbers of a tenant's objects. What was deleted has one more than what is there.
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

// object is what a path's variable names of the tenant's.
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

// The sids of a tenant's sounds: its call's, one that was deleted, and its voicemail's.
const (
	callSound    = 0
	goneSound    = 1
	messageSound = 2
)

func (t tenant) sid(sound int) string { return fmt.Sprintf("RE%s%d", t.mark(), sound) }

// The same for all tenants, so that filters by them don't tell tenants apart.
const sharedSid = "CA00000000000000000000000000005a3e"

// states are the tenant's rows: one in every list, and what is read through it.
func (t tenant) states() []events.State {
	name := events.Some(t.mark())
	c, a := t.call(0, 1), t.analysis(0, 1)
	c.FromName, c.FromDisplay, c.ToDisplay, c.RouteSummary = name, name, name, name
	c.Tags = []events.Tag{{ID: t.id(tagObject), Name: t.mark(), Group: "g", Color: "#000000", Source: "manual"}}
	c.AnsweredByExtensionID = events.Some(t.id(extensionObject))
	a.CoachingTips, a.Category, a.OverallSentiment = []string{t.mark()}, events.Some("shared"), &events.Sentiment{Code: "shared"}
	a.EmployeeSentiment = &events.Sentiment{Code: t.mark()} // nobody has defined it
	// Where these lead is another tenant's: nothing of it may be read here.
	c.CallGroupID, c.FromExtensionID = events.Some(t.neighbour().id(callGroupObject)), events.Some(t.neighbour().id(extensionObject))
	a.Representative = &events.RepresentativeRole{State: "identified", ID: events.Some(t.neighbour().id(representativeObject))}
	words := transcript(t.system(), c.ID, 1, "completed", t.mark())
	words.Turns = []events.Turn{{Text: t.mark(), Speaker: events.Speaker{Kind: "unattributed"}}}
	return append(t.directory(0, 1), c, a, words, t.voicemail(0, 1), t.sound(callSound, 1), t.sound(messageSound, 1),
		&events.Transcript{PhoneSystemID: t.system(), VoicemailID: events.Some(t.id(voicemailObject)), Version: 1, Status: "completed", Text: name},
		&events.Representative{ID: t.id(representativeObject), PhoneSystemID: t.system(), Version: 1, Name: t.mark(), Status: "active", UpdatedAt: day(1)},
		t.definition("category"), t.definition("overall_sentiment"))
}

// doomed are rows that are there at version 1 and deleted at version 2.
func (t tenant) doomed(version int64) []events.State {
	c := t.call(1, version)
	sound := t.sound(goneSound, version)
	sound.CallID = events.Some(c.ID)
	return append(t.directory(1, version), c, t.analysis(1, version), t.voicemail(1, version), sound)
}

// directory is who and what is there, with identifiers that are more than the objects' numbers.
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
		ID: t.id(voicemailObject + more), PhoneSystemID: t.system(), Version: version, CallSid: sharedSid, From: "101", FromName: events.Some(t.mark()),
		ExtensionID: events.Some(t.id(extensionObject)), RecordingSid: t.sid(messageSound), CreatedAt: day(1),
	}
}

func (t tenant) sound(which int, version int64) *events.Recording {
	sound := recording(t.system(), t.id(callObject), t.sid(which), version, events.RecordingReady)
	sound.CreatedAt, sound.Audio.Key = day(1), t.mark()+".wav"
	if which == messageSound {
		sound.CallID, sound.VoicemailID = sound.VoicemailID, events.Some(t.id(voicemailObject))
	}
	return sound
}

// definition is the tenant's own of a code that all tenants have.
func (t tenant) definition(kind string) *events.Classification {
	return &events.Classification{
		PhoneSystemID: events.Some(t.system()), Version: 1, Kind: kind, Code: "shared", Label: t.mark(), Status: "active", UpdatedAt: day(1),
	}
}
