package scenario_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

func phoneSystem(id uuid.UUID, version int64, name string) *events.PhoneSystem {
	return &events.PhoneSystem{ID: id, Version: version, Name: name}
}

func call(system, id uuid.UUID, version int64) *events.Call {
	return &events.Call{
		ID: id, PhoneSystemID: system, Version: version, CallSid: "CA" + strings.ReplaceAll(id.String(), "-", ""), Direction: "inbound",
		Status: "completed", Outcome: events.Some("answered"), From: "+14155550123", FromName: events.Some("Zoë Marsh"), To: "+14155550100",
		CreatedAt: events.TimeOf(time.Date(2026, 3, 2, 9, 30, 0, 987_654_321, time.UTC)), Duration: events.Some[int64](190),
	}
}

func transcript(system, call uuid.UUID, version int64, status, text string) *events.Transcript {
	t := &events.Transcript{PhoneSystemID: system, CallID: events.Some(call), Version: version, Status: status}
	if text != "" {
		t.Text = events.Some(text)
	}
	return t
}

func recording(system, call uuid.UUID, sid string, version int64, status string) *events.Recording {
	r := &events.Recording{
		RecordingSid: sid, PhoneSystemID: system, CallID: events.Some(call), Version: version, Status: status,
		CreatedAt: events.TimeOf(time.Date(2026, 3, 2, 9, 33, 0, 0, time.UTC)),
	}
	if status == events.RecordingReady {
		r.Audio = &events.Audio{Key: "a.wav", ContentType: "audio/wav", Bytes: 1}
		r.DurationSeconds = events.Some[int64](189)
	}
	return r
}

func changed(states ...events.State) []events.Event {
	list := make([]events.Event, len(states))
	for i, state := range states {
		list[i] = events.Changed(state)
	}
	return list
}

// deleted ends an entity at the version of the given state.
func deleted(state events.State) events.Event { return events.Deleted(state.Identity()) }

func TestCallLog_AsPublished(t *testing.T) {
	s := newStage(t)
	system, id := uuid.New(), uuid.New()
	s.happen(changed(phoneSystem(system, 1, "Harbour Dental"), call(system, id, 1))...)
	key := s.systemKey(system)
	s.expect(key, "", 200, `data=[{"id":"`+system.String()+`","name":"Harbour Dental"}]`)
	row := []string{
		`id="` + id.String() + `"`, `phoneSystemId="` + system.String() + `"`, `parentCallSid=null`, `direction="inbound"`,
		`status="completed"`, `outcome="answered"`, `from="+14155550123"`, `fromName="Zoë Marsh"`, `to="+14155550100"`,
		`createdAt="2026-03-02T09:30:00.987Z"`, `startTime=null`, `endTime=null`, `duration=190`, `recordingSid=null`, `recordingDuration=null`,
	}
	listed := []string{"total=1", "page=1", "pageSize=25", "totalPages=1"}
	for _, member := range row {
		listed = append(listed, "data.0."+member)
	}
	s.expect(key, "/"+system.String()+"/call-logs", 200, listed...)
	s.expect(key, "/"+system.String()+"/call-logs/"+id.String(), 200,
		append(row, `transcribedText=null`, `transcriptionStatus="unavailable"`)...)
}

func TestCallLog_FacetsInAnyOrder(t *testing.T) {
	s := newStage(t)
	system, id := uuid.New(), uuid.New()
	path := "/" + system.String() + "/call-logs/" + id.String()
	s.happen(changed(phoneSystem(system, 1, "A"),
		transcript(system, id, 1, "completed", "Hello."), recording(system, id, "RE1", 1, "processing"))...)
	key := s.systemKey(system)
	s.expect(key, path, 404)
	s.happen(changed(call(system, id, 1))...)
	s.expect(key, path, 200, `transcribedText="Hello."`, `transcriptionStatus="completed"`, `recordingSid="RE1"`, `recordingDuration=null`)
	s.happen(changed(recording(system, id, "RE1", 2, "ready"))...)
	s.expect(key, path, 200, `recordingSid="RE1"`, `recordingDuration=189`)
	s.happen(changed(recording(system, id, "RE1", 3, "unavailable"))...)
	s.expect(key, path, 200, `recordingSid=null`, `recordingDuration=null`)
}

func TestCallLog_TranscriptionStatus(t *testing.T) {
	s := newStage(t)
	system, id := uuid.New(), uuid.New()
	path := "/" + system.String() + "/call-logs/" + id.String()
	s.happen(changed(phoneSystem(system, 1, "A"), call(system, id, 1))...)
	key := s.systemKey(system)
	for i, step := range []struct{ status, text, shows, wantText string }{
		{"queued", "", "processing", "null"},
		{"running", "", "processing", "null"},
		{"completed", "One.", "completed", `"One."`},
		{"queued", "", "completed", `"One."`},
		{"failed", "", "completed", `"One."`},
		{"completed", "Two.", "completed", `"Two."`},
		{"removed", "", "unavailable", "null"},
		{"queued", "", "unavailable", "null"},
		{"completed", "", "completed", `""`},
	} {
		s.happen(changed(transcript(system, id, int64(i+1), step.status, step.text))...)
		s.expect(key, path, 200, `transcriptionStatus="`+step.shows+`"`, "transcribedText="+step.wantText)
	}
}

func TestCallLog_DeletionIsFinal(t *testing.T) {
	s := newStage(t)
	system, id, kept := uuid.New(), uuid.New(), uuid.New()
	s.happen(changed(phoneSystem(system, 1, "A"), call(system, id, 1), call(system, kept, 1))...)
	key := s.systemKey(system)
	s.expect(key, "/"+system.String()+"/call-logs", 200, "total=2")
	s.happen(deleted(call(system, id, 2)))
	s.happen(changed(call(system, id, 3), transcript(system, id, 1, "completed", "Late."))...)
	s.expect(key, "/"+system.String()+"/call-logs", 200, "total=1", `data.0.id="`+kept.String()+`"`)
	s.expect(key, "/"+system.String()+"/call-logs/"+id.String(), 404)
}

func TestCallLog_StaleEventsChangeNothing(t *testing.T) {
	s := newStage(t)
	system, id := uuid.New(), uuid.New()
	newer, older := call(system, id, 5), call(system, id, 4)
	newer.Status, older.Status = "busy", "failed"
	s.happen(changed(phoneSystem(system, 1, "A"), newer, older)...)
	s.expect(s.systemKey(system), "/"+system.String()+"/call-logs/"+id.String(), 200, `status="busy"`)
}

func TestPhoneSystem_ExistsFromItsEventToItsDeletion(t *testing.T) {
	s := newStage(t)
	system, id := uuid.New(), uuid.New()
	key := s.systemKey(system)
	logs := "/" + system.String() + "/call-logs"
	s.happen(changed(call(system, id, 1))...)
	s.expect(key, logs, 404)
	s.expect(key, "", 200, "data=[]")
	s.happen(changed(phoneSystem(system, 1, "A"))...)
	s.expect(key, logs, 200, "total=1")
	s.happen(deleted(phoneSystem(system, 2, "")))
	s.expect(key, logs, 404)
	s.expect(key, logs+"/"+id.String(), 404)
	s.expect(key, "", 200, "data=[]")
}

func TestGrants_AreResolvedOnEveryRequest(t *testing.T) {
	s := newStage(t)
	first, second, group, organization := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	members := func(version int64, systems ...uuid.UUID) events.State {
		return &events.Group{ID: group, Version: version, Name: "G", PhoneSystemIDs: systems}
	}
	attached := phoneSystem(second, 2, "Beta")
	attached.OrganizationID = events.Some(organization)
	s.happen(changed(phoneSystem(first, 1, "Alpha"), phoneSystem(second, 1, "Beta"), members(1, first))...)

	byGroup := s.key(access.Request{Grant: access.Grant{Kind: access.GrantGroup, ID: group}})
	byOrganization := s.key(access.Request{Grant: access.Grant{Kind: access.GrantOrganization, ID: organization}})
	s.expect(byGroup, "", 200, "data.#=1", `data.0.name="Alpha"`)
	s.expect(byGroup, "/"+second.String()+"/call-logs", 404)
	s.expect(byOrganization, "", 200, "data=[]")

	s.happen(changed(members(2, second, first), attached)...)
	s.expect(byGroup, "", 200, "data.#=2", `data.0.name="Alpha"`, `data.1.name="Beta"`)
	s.expect(byGroup, "/"+second.String()+"/call-logs", 200)
	s.expect(byOrganization, "", 200, "data.#=1", `data.0.name="Beta"`)

	s.happen(changed(members(3))...)
	s.expect(byGroup, "", 200, "data=[]")
	s.happen(deleted(members(4)))
	s.expect(byGroup, "/"+first.String()+"/call-logs", 404)
}

func TestNarrowedKey_SeesItsOwnCalls(t *testing.T) {
	s := newStage(t)
	system, own, other := uuid.New(), uuid.New(), uuid.New()
	extension := func(id uuid.UUID, version int64) *events.Extension {
		return &events.Extension{ID: id, PhoneSystemID: system, Version: version, Number: "101", Name: "Ana", Status: "active"}
	}
	answered, dialled, both, foreign := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	calls := make([]events.State, 0, 4)
	for _, c := range []struct {
		id             uuid.UUID
		answered, from events.Null[uuid.UUID]
	}{
		{answered, events.Some(own), events.Some(other)},
		{dialled, events.Null[uuid.UUID]{}, events.Some(own)},
		{both, events.Some(own), events.Some(own)},
		{foreign, events.Some(other), events.Null[uuid.UUID]{}},
	} {
		state := call(system, c.id, 1)
		state.AnsweredByExtensionID, state.FromExtensionID = c.answered, c.from
		calls = append(calls, state)
	}
	s.happen(changed(phoneSystem(system, 1, "A"), extension(own, 1), extension(other, 1))...)
	s.happen(changed(calls...)...)
	key := s.key(access.Request{
		Grant: access.Grant{Kind: access.GrantSystem, ID: system}, OwnExtension: uuid.NullUUID{UUID: own, Valid: true},
	})
	logs := "/" + system.String() + "/call-logs"
	s.expect(key, logs, 200, "total=3", "data.#=3")
	s.expect(key, logs+"?pageSize=1&page=3", 200, "total=3", "data.#=1", "totalPages=3")
	s.expect(key, logs+"/"+dialled.String(), 200)
	s.expect(key, logs+"/"+foreign.String(), 404)
	s.expect(key, logs+"?callSid="+"CA"+strings.ReplaceAll(foreign.String(), "-", ""), 200, "total=0")

	moved := call(system, both, 2) // to nobody
	s.happen(changed(moved)...)
	s.expect(key, logs, 200, "total=2")
	s.happen(deleted(extension(own, 2)))
	s.expect(key, logs, 200, "total=0", "data=[]")
	s.expect(key, logs+"/"+dialled.String(), 404)
}

func TestKey_RevokedIsRefusedByTheNextRequest(t *testing.T) {
	s := newStage(t)
	system := uuid.New()
	s.happen(changed(phoneSystem(system, 1, "A"))...)
	issued, err := s.registry.Issue(t.Context(), access.Request{
		Name: "k", Grant: access.Grant{Kind: access.GrantSystem, ID: system}, Scopes: access.Scopes(),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.expect(issued.Key, "", 200)
	if err := s.registry.Revoke(t.Context(), issued.ID); err != nil {
		t.Fatal(err)
	}
	s.expect(issued.Key, "", 401)
}

// An answer says up to when it is complete: everything published before that is in it.
func TestDataCompleteThrough_PassesWhatIsShown(t *testing.T) {
	s := newStage(t)
	system := uuid.New()
	s.happen(changed(phoneSystem(system, 1, "A"))...)
	key := s.systemKey(system)
	for i := range 10 {
		s.happen(changed(call(system, uuid.New(), 1))...)
		published := time.Now()
		a := s.get(key, "/"+system.String()+"/call-logs")
		through, err := time.Parse(time.RFC3339, a.header.Get("Data-Complete-Through"))
		if err != nil {
			t.Fatal(err)
		}
		if total := fmt.Sprint(a.body["total"]); through.After(time.Now()) || total != strconv.Itoa(i+1) {
			t.Errorf("complete through %s at %s with %s of %d calls", through, published, total, i+1)
		}
	}
}
