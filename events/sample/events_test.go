package sample

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
)

// checker checks the references and versions of a sequence of events.
type checker struct {
	*testing.T
	versions map[string]int64  // by system, entity and key
	ids      map[string]bool   // of events
	present  map[string]bool   // entities that are not deleted, by entity and key
	owners   map[string]bool   // calls and voicemails, deleted ones too
	deleted  map[string]bool   // entities
	sids     map[string]bool   // of calls
	parents  map[string]bool   // sids that legs refer to
	facets   map[string]string // to the call or voicemail that each belongs to
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	return &checker{
		T: t, versions: map[string]int64{}, ids: map[string]bool{}, present: map[string]bool{}, owners: map[string]bool{},
		deleted: map[string]bool{}, sids: map[string]bool{}, parents: map[string]bool{}, facets: map[string]string{},
	}
}

func (c *checker) check(e events.Event) {
	entity := string(e.Entity) + "/" + e.Key
	subject := e.System.String() + "/" + entity
	if e.Version <= c.versions[subject] {
		c.Errorf("%s: version = %d, want more than %d", subject, e.Version, c.versions[subject])
	}
	if c.ids[e.ID] {
		c.Errorf("event ID %s is used twice", e.ID)
	}
	c.versions[subject], c.ids[e.ID] = e.Version, true
	c.present[entity], c.deleted[entity] = !e.Deleted(), e.Deleted()
	switch s := e.State.(type) {
	case *events.Call:
		c.checkCall(s)
	case *events.Voicemail:
		c.owners[entity] = true
	case *events.Transcript:
		c.checkFacet(subject, s.OwnerRow())
	case *events.Recording:
		c.checkFacet(subject, s.OwnerRow())
	case *events.Analysis:
		c.checkFacet(subject, events.OwnerRow{Entity: events.EntityCall, ID: s.CallID})
		if s.Representative != nil {
			c.checkReference(s.Representative.ID, events.EntityRepresentative)
		}
	}
}

func (c *checker) checkCall(call *events.Call) {
	c.owners["call/"+call.ID.String()], c.sids[call.CallSid] = true, true
	if call.ParentCallSid.Valid {
		c.parents[call.ParentCallSid.Value] = true
	}
	if call.Version == 1 {
		c.checkReference(call.CallGroupID, events.EntityCallGroup)
		c.checkReference(call.AnsweredByExtensionID, events.EntityExtension)
		c.checkReference(call.FromExtensionID, events.EntityExtension)
	}
	if len(call.CallSid) != 34 || !strings.HasPrefix(call.CallSid, "CA") {
		c.Errorf("call sid = %q, want CA and 32 digits", call.CallSid)
	}
}

func (c *checker) checkReference(id events.Null[uuid.UUID], entity events.Entity) {
	if id.Valid && !c.present[string(entity)+"/"+id.Value.String()] {
		c.Errorf("a call refers to %s %s, which does not exist", entity, id.Value)
	}
}

func (c *checker) checkFacet(subject string, owner events.OwnerRow) {
	key := owner.Key()
	if before, found := c.facets[subject]; found && before != key {
		c.Errorf("%s belongs to %s, want %s as before", subject, key, before)
	}
	if c.deleted[key] {
		c.Errorf("%s belongs to %s, which is deleted", subject, key)
	}
	c.facets[subject] = key
}

// checkEnd checks what holds only for a complete sequence.
func (c *checker) checkEnd() {
	for subject, owner := range c.facets {
		if !c.owners[owner] {
			c.Errorf("%s belongs to %s, which was never published", subject, owner)
		}
	}
	for sid := range c.parents {
		if !c.sids[sid] {
			c.Errorf("the parent sid %s belongs to no call", sid)
		}
	}
	if len(c.parents) == 0 {
		c.Error("transferred calls = 0, want some")
	}
}

func TestHistory_References(t *testing.T) {
	t.Parallel()
	for _, config := range []Config{{Seed: 5, Systems: 9, Calls: 8000}, {Seed: 6, Systems: 1, Calls: 9000, Days: 2}} {
		c := newChecker(t)
		for e := range New(config).Events() {
			c.check(e)
		}
		c.checkEnd()
	}
}

// What will be transcribed is queued before it is published, and has a recording. A call or voicemail that is published without a queued
// transcript is never transcribed.
func TestHistory_AnnouncesTranscripts(t *testing.T) {
	t.Parallel()
	transcripts, published := map[string]string{}, map[string]bool{} // the newest status, and calls and voicemails, by key
	count := 0
	for e := range New(Config{Seed: 9, Systems: 5, Calls: 5000}).Events() {
		key := string(e.Entity) + "/" + e.Key
		switch s := e.State.(type) {
		case *events.Call, *events.Voicemail:
			published[key] = true
		case *events.Transcript:
			owner := s.OwnerRow().Key()
			if count++; transcripts[owner] == "" && (s.Status != events.TranscriptQueued || published[owner]) {
				t.Fatalf("first transcript of %s is %s, published before: %t, want it queued, and before", owner, s.Status, published[owner])
			}
			transcripts[owner] = s.Status
		}
	}
	if len(published) < 5000 || count < 5000 {
		t.Errorf("calls and voicemails = %d, events of transcripts = %d, want at least 5000 of each", len(published), count)
	}
}

// Every voicemail's recording follows, under the recordingSid that the voicemail names. Those at the end of History are incomplete.
func TestHistory_VoicemailsHaveRecordings(t *testing.T) {
	t.Parallel()
	missing := map[string]events.Time{} // when the voicemail was left, by recordingSid
	var last events.Time
	voicemails := 0
	for e := range New(Config{Seed: 9, Systems: 5, Calls: 5000}).Events() {
		last = events.TimeOf(e.Time)
		switch s := e.State.(type) {
		case *events.Voicemail:
			if s.Version == 1 {
				voicemails++
				missing[s.RecordingSid] = s.CreatedAt
			}
		case *events.Recording:
			if s.VoicemailID.Valid && s.Status == events.RecordingReady {
				delete(missing, s.RecordingSid)
			}
		}
	}
	for sid, left := range missing {
		if last-left > 10*minute {
			t.Errorf("the recording %s of a voicemail of %s is not ready at the end, %s", sid, left, last)
		}
	}
	if voicemails < 200 {
		t.Errorf("voicemails = %d, want at least 200", voicemails)
	}
}

// features lists what is notable about an event.
func features(e events.Event) []string {
	list := []string{e.Type()}
	switch s := e.State.(type) {
	case *events.Call:
		list = append(list, "direction "+s.Direction, "status "+s.Status, "outcome "+s.Outcome.Value,
			"emergency "+strconv.FormatBool(s.IsEmergency), "edited "+strconv.FormatBool(s.IsEdited),
			"converted "+strconv.FormatBool(s.IsConverted))
	case *events.Transcript:
		list = append(list, "transcript "+s.Status)
		for _, turn := range s.Turns {
			list = append(list, "speaker "+turn.Speaker.Kind+turn.Speaker.Role)
		}
		if s.Text == events.Some("") {
			list = append(list, "empty text")
		}
	case *events.Recording:
		list = append(list, "recording "+s.Status)
	case *events.Analysis:
		list = append(list, "analysis "+s.Status)
		if s.Representative != nil {
			list = append(list, "representative "+s.Representative.State)
		}
	}
	return list
}

func TestHistory_HasAllFeatures(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	sids, published := map[string]bool{}, map[uuid.UUID]bool{}
	for e := range New(Config{Seed: 8, Systems: 8, Calls: 20000}).Events() {
		for _, name := range features(e) {
			found[name] = true
		}
		switch s := e.State.(type) {
		case *events.Call:
			if s.Version == 1 && sids[s.CallSid] {
				found["two legs with one sid"] = true
			}
			sids[s.CallSid], published[s.ID] = true, true
		case *events.Analysis:
			if !published[s.CallID] {
				found["analysis before its call"] = true
			}
		}
	}
	want := []string{
		"direction inbound", "direction outbound", "direction internal", "status completed", "status no-answer", "status busy",
		"status failed", "status canceled", "outcome answered", "outcome missed", "outcome abandoned", "outcome voicemail",
		"outcome transferred", "outcome forwarded", "emergency true", "edited true", "converted true", "transcript queued",
		"transcript running", "transcript completed", "transcript failed", "transcript skipped", "transcript removed",
		"speaker roleagent", "speaker rolecustomer", "speaker numbered", "speaker unattributed", "empty text",
		"recording processing", "recording ready", "recording unavailable", "analysis pending", "analysis processing",
		"analysis completed", "analysis failed", "representative identified", "representative unknown",
		"representative not_analyzed", "two legs with one sid", "analysis before its call",
	}
	for _, entity := range events.Entities() {
		want = append(want, "callboard."+string(entity)+".changed")
	}
	for _, entity := range []string{
		"call", "voicemail", "extension", "call-group", "representative", "classification", "transcript", "recording",
	} {
		want = append(want, "callboard."+entity+".deleted")
	}
	for _, name := range want {
		if !found[name] {
			t.Errorf("no event has the feature %q", name)
		}
	}
}
