package sample

import (
	"encoding/binary"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"callboard/events"
)

// checker checks the references and versions of a sequence of events.
type checker struct {
	*testing.T
	versions map[string]int64  // by system, entity and key
	present  map[string]bool   // entities that are not deleted, by entity and key
	owners   map[string]bool   // calls and voicemails; false: deleted
	queued   map[string]bool   // owners that have had a transcript event
	facets   map[string]string // to the call or voicemail that each belongs to
	features map[string]bool   // what is notable about the events
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	return &checker{
		t, map[string]int64{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]string{},
		map[string]bool{},
	}
}

func (c *checker) check(e events.Event) {
	entity := string(e.Entity) + "/" + e.Key
	subject := e.System.String() + "/" + entity
	if e.Version <= c.versions[subject] {
		c.Errorf("%s: version = %d, want more than %d", subject, e.Version, c.versions[subject])
	}
	c.versions[subject], c.present[entity] = e.Version, !e.Deleted()
	c.features[e.Type()] = true
	if _, owner := c.owners[entity]; owner && e.Deleted() {
		c.owners[entity] = false
	}
	switch s := e.State.(type) {
	case *events.Call:
		c.checkCall(s)
	case *events.Voicemail:
		c.owners[entity] = true
	case *events.Transcript:
		c.checkTranscript(subject, s)
	case *events.Recording:
		c.checkFacet(subject, s.OwnerRow())
		c.features["recording "+s.Status] = true
	case *events.Analysis:
		c.checkFacet(subject, events.OwnerRow{Entity: events.EntityCall, ID: s.CallID})
		c.features["analysis "+s.Status] = true
		if s.Representative != nil {
			c.features["representative "+s.Representative.State] = true
			c.checkReference(s.Representative.ID, events.EntityRepresentative)
		}
	}
}

func (c *checker) checkCall(call *events.Call) {
	c.owners["call/"+call.ID.String()] = true
	if call.Version == 1 {
		c.checkReference(call.CallGroupID, events.EntityCallGroup)
		c.checkReference(call.AnsweredByExtensionID, events.EntityExtension)
		c.checkReference(call.FromExtensionID, events.EntityExtension)
		if c.features[call.CallSid] {
			c.features["two legs with one sid"] = true
		}
		if call.ParentCallSid.Valid {
			c.features["parent "+strconv.FormatBool(c.features[call.ParentCallSid.Value])] = true
		}
	}
	for _, name := range []string{
		call.CallSid, "direction " + call.Direction, "status " + call.Status, "outcome " + call.Outcome.Value,
		"emergency " + strconv.FormatBool(call.IsEmergency), "edited " + strconv.FormatBool(call.IsEdited),
		"converted " + strconv.FormatBool(call.IsConverted),
	} {
		c.features[name] = true
	}
}

func (c *checker) checkReference(id events.Null[uuid.UUID], entity events.Entity) {
	if id.Valid && !c.present[string(entity)+"/"+id.Value.String()] {
		c.Errorf("a call refers to %s %s, which does not exist", entity, id.Value)
	}
}

// A facet belongs to one call or voicemail, which is not deleted. What will be transcribed is queued before it is
// published.
func (c *checker) checkFacet(subject string, owner events.OwnerRow) {
	key := owner.Key()
	if before, found := c.facets[subject]; found && before != key {
		c.Errorf("%s belongs to %s, want %s as before", subject, key, before)
	}
	if exists, published := c.owners[key]; published && !exists {
		c.Errorf("%s belongs to %s, which is deleted", subject, key)
	}
	c.facets[subject] = key
}

func (c *checker) checkTranscript(subject string, s *events.Transcript) {
	c.checkFacet(subject, s.OwnerRow())
	owner := s.OwnerRow().Key()
	if _, published := c.owners[owner]; !c.queued[owner] && (s.Status != events.TranscriptQueued || published) {
		c.Errorf("first transcript of %s is %s, want it queued and not after its call or voicemail", owner, s.Status)
	}
	c.queued[owner], c.features["transcript "+s.Status] = true, true
	if s.Status == events.TranscriptCompleted && s.Text.Value == "" {
		c.features["empty text"] = true
	}
	last := 0.0
	for _, turn := range s.Turns {
		c.features["speaker "+turn.Speaker.Kind+turn.Speaker.Role] = true
		if turn.StartSeconds.Value < last || turn.EndSeconds.Value <= turn.StartSeconds.Value {
			c.Errorf("turn = %v to %v s, want one after %v s", turn.StartSeconds, turn.EndSeconds, last)
		}
		last = turn.EndSeconds.Value
		small := 'a' <= turn.Text[0] && turn.Text[0] <= 'z'
		if strings.ContainsAny(turn.Text, "{}|") || !utf8.ValidString(turn.Text) || small {
			c.Errorf("text = %q, want valid UTF-8 without placeholders and with a capital letter", turn.Text)
		}
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	c := newChecker(t)
	for e := range New(Config{Seed: 8, Systems: 8, Calls: 12_000}).Events() {
		c.check(e)
	}
	for subject, owner := range c.facets {
		if _, published := c.owners[owner]; !published {
			t.Errorf("%s belongs to %s, which was never published", subject, owner)
		}
	}

	want := strings.Split("direction inbound,direction outbound,direction internal,"+
		"status completed,status no-answer,status busy,status failed,status canceled,"+
		"outcome answered,outcome missed,outcome abandoned,outcome voicemail,outcome transferred,outcome forwarded,"+
		"emergency true,edited true,converted true,two legs with one sid,parent true,"+
		"transcript queued,transcript running,transcript completed,transcript failed,transcript skipped,transcript removed,"+
		"speaker roleagent,speaker rolecustomer,speaker numbered,empty text,"+
		"recording processing,recording ready,recording unavailable,"+
		"analysis processing,analysis completed,analysis failed,"+
		"representative identified,representative unknown,representative not_analyzed", ",")
	for _, entity := range events.Entities() {
		want = append(want, "callboard."+string(entity)+".changed")
	}
	for entity := range strings.FieldsSeq("call voicemail extension call-group representative classification recording") {
		want = append(want, "callboard."+entity+".deleted")
	}
	for _, name := range want {
		if !c.features[name] {
			t.Errorf("no event has the feature %q", name)
		}
	}
	if c.features["parent false"] {
		t.Error("the parent sid of a leg belongs to no call")
	}
}

// The audio of every recording is a file that plays.
func TestAudio(t *testing.T) {
	t.Parallel()
	wav := Audio()
	for e := range New(Config{Calls: 100}).History() {
		if r, ok := e.State.(*events.Recording); ok && r.Status == events.RecordingReady {
			want := events.Audio{Key: AudioKey, ContentType: "audio/wav", Bytes: int64(len(wav))}
			if *r.Audio != want {
				t.Fatalf("audio = %+v, want %+v", *r.Audio, want)
			}
		}
	}
	format, length := string(wav[:4])+string(wav[8:16])+string(wav[36:40]), binary.LittleEndian.Uint32(wav[40:])
	if format != "RIFFWAVEfmt data" || int(length) != len(wav)-wavHeader {
		t.Errorf("header = %q with %d bytes of samples, want those of WAV and %d", format, length, len(wav)-wavHeader)
	}
}
