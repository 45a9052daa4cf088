package sample

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
)

// audit follows a stream and finds what can't be.
type audit struct {
	*testing.T
	versions map[string]int64
	ids      map[string]bool
	alive    map[string]bool // entities, by entity and key
	calls    map[string]bool // ever announced
	gone     map[string]bool // deleted calls and voicemails
	sids     map[string]bool
	parents  map[string]bool
	owners   map[string]string // by facet
}

func newAudit(t *testing.T) *audit {
	t.Helper()
	return &audit{
		T: t, versions: map[string]int64{}, ids: map[string]bool{}, alive: map[string]bool{}, calls: map[string]bool{},
		gone: map[string]bool{}, sids: map[string]bool{}, parents: map[string]bool{}, owners: map[string]string{},
	}
}

func (a *audit) see(e events.Event) bool {
	subject := e.System.String() + "/" + string(e.Entity) + "/" + e.Key
	if e.Version <= a.versions[subject] {
		a.Errorf("%s: version %d after %d", subject, e.Version, a.versions[subject])
	}
	if a.ids[e.ID] {
		a.Errorf("%s: published twice", e.ID)
	}
	a.versions[subject], a.ids[e.ID] = e.Version, true
	a.alive[string(e.Entity)+"/"+e.Key] = !e.Deleted()
	switch s := e.State.(type) {
	case nil:
		a.gone[string(e.Entity)+"/"+e.Key] = true
	case *events.Call:
		a.call(s)
	case *events.Transcript:
		a.facet(subject, s.OwnerRow())
	case *events.Recording:
		a.facet(subject, s.OwnerRow())
	case *events.Analysis:
		a.facet(subject, events.OwnerRow{Entity: events.EntityCall, ID: s.CallID})
		if s.Representative != nil {
			a.refers(s.Representative.ID, events.EntityRepresentative)
		}
	case *events.Voicemail:
		a.calls["voicemail/"+e.Key] = true
	}
	return true
}

func (a *audit) call(c *events.Call) {
	a.calls["call/"+c.ID.String()], a.sids[c.CallSid] = true, true
	if c.ParentCallSid.Valid {
		a.parents[c.ParentCallSid.Value] = true
	}
	if c.Version == 1 {
		a.refers(c.CallGroupID, events.EntityCallGroup)
		a.refers(c.AnsweredByExtensionID, events.EntityExtension)
		a.refers(c.FromExtensionID, events.EntityExtension)
	}
	if len(c.CallSid) != 34 || !strings.HasPrefix(c.CallSid, "CA") {
		a.Errorf("call sid %q", c.CallSid)
	}
}

// refers finds references to what isn't there any more, or not yet.
func (a *audit) refers(id events.Null[uuid.UUID], entity events.Entity) {
	if id.Valid && !a.alive[string(entity)+"/"+id.Value.String()] {
		a.Errorf("a call refers to %s %s, which isn't there", entity, id.Value)
	}
}

func (a *audit) facet(subject string, owner events.OwnerRow) {
	key := owner.Key()
	if was, seen := a.owners[subject]; seen && was != key {
		a.Errorf("%s moved from %s to %s", subject, was, key)
	}
	if a.gone[key] {
		a.Errorf("%s: its %s was deleted before", subject, key)
	}
	a.owners[subject] = key
}

func (a *audit) end() {
	for subject, owner := range a.owners {
		if !a.calls[owner] {
			a.Errorf("%s: %s never came", subject, owner)
		}
	}
	for sid := range a.parents {
		if !a.sids[sid] {
			a.Errorf("no call has the sid %s of a leg's parent", sid)
		}
	}
	if len(a.parents) == 0 {
		a.Error("no call was passed on")
	}
}

func TestHistory_References(t *testing.T) {
	for _, config := range []Config{{Seed: 5, Systems: 9, Calls: 8000}, {Seed: 6, Systems: 1, Calls: 9000, Days: 2}} {
		a := newAudit(t)
		stream(New(config), a.see)
		a.end()
	}
}

func TestHistory_HasEverything(t *testing.T) {
	seen := map[string]int{}
	var shared, early, labels int
	sids, announced := map[string]bool{}, map[uuid.UUID]bool{}
	stream(New(Config{Seed: 8, Systems: 8, Calls: 20000}), func(e events.Event) bool {
		seen[e.Type()]++
		switch s := e.State.(type) {
		case *events.Call:
			if s.Version == 1 && sids[s.CallSid] {
				shared++
			}
			sids[s.CallSid], announced[s.ID] = true, true
			count(seen, "direction ", s.Direction, "status "+s.Status, "outcome "+s.Outcome.Value)
			count(seen, "emergency ", yes(s.IsEmergency), "edited "+yes(s.IsEdited), "converted "+yes(s.IsConverted))
		case *events.Transcript:
			count(seen, "transcript ", s.Status)
			for _, turn := range s.Turns {
				count(seen, "speaker ", turn.Speaker.Kind+turn.Speaker.Role)
			}
			if s.Text == events.Some("") {
				seen["empty text"]++
			}
		case *events.Recording:
			count(seen, "recording ", s.Status)
		case *events.Analysis:
			count(seen, "analysis ", s.Status)
			if s.Representative != nil {
				count(seen, "representative ", s.Representative.State)
			}
			if !announced[s.CallID] {
				early++
			}
		case *events.Classification:
			labels++
		}
		return true
	})
	want := []string{
		"direction inbound", "direction outbound", "direction internal", "status completed", "status no-answer", "status busy",
		"status failed", "status canceled", "outcome answered", "outcome missed", "outcome abandoned", "outcome voicemail",
		"outcome transferred", "outcome forwarded", "emergency yes", "edited yes", "converted yes", "transcript queued", "transcript running",
		"transcript completed", "transcript failed", "transcript skipped", "transcript removed", "speaker roleagent", "speaker rolecustomer",
		"speaker numbered", "speaker unattributed", "empty text", "recording processing", "recording ready", "recording unavailable",
		"analysis pending", "analysis processing", "analysis completed", "analysis failed", "representative identified",
		"representative unknown", "representative not_analyzed",
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
		if seen[name] == 0 {
			t.Errorf("no %s", name)
		}
	}
	if shared == 0 || early == 0 || labels == 0 {
		t.Errorf("%d legs share a sid, %d analyses came before their call, %d classifications", shared, early, labels)
	}
}

func count(seen map[string]int, prefix, first string, names ...string) {
	for _, name := range slices.Insert(names, 0, prefix+first) {
		seen[name]++
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
