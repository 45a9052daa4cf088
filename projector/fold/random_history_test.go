package fold_test

import (
	"fmt"
	"reflect"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events"
)

// timedEvent is an event and the partition's clock at it.
type timedEvent struct {
	events.Event
	At events.Time
}

// id returns the UUID that tests name by a number.
func id(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) }

// randomHistory draws the events of a few phone systems, calls, voicemails, their facets and what they refer to.
// There are so few of each that most events meet earlier ones; a voicemail and a call share an id. Versions mostly
// rise; some events repeat or come late, and some have the time of the one before. All can be published, once they
// have an id and a source.
func randomHistory(t *rapid.T) []timedEvent {
	g := generator{t: t, versions: map[string]int64{}}
	list := make([]timedEvent, rapid.IntRange(1, 120).Draw(t, "length"))
	at := events.Time(1_000_000)
	for i := range list {
		list[i] = timedEvent{g.event(), at}
		if !g.oneIn(4, "same time") {
			at++
		}
	}
	return list
}

type generator struct {
	t        *rapid.T
	versions map[string]int64
}

func (g generator) pick(n int, label string) int { return rapid.IntRange(0, n-1).Draw(g.t, label) }

func (g generator) flip(label string) bool { return rapid.Bool().Draw(g.t, label) }

// oneIn is true with a probability of 1/n.
func (g generator) oneIn(n int, label string) bool { return g.pick(n, label) == n-1 }

// system is mostly the same one, because entities of different systems do not affect each other.
func (g generator) system() uuid.UUID {
	if g.oneIn(8, "system") {
		return id(2)
	}
	return id(1)
}

func (g generator) maybe(base, n int, label string) events.Null[uuid.UUID] {
	if g.flip(label + " null") {
		return events.Null[uuid.UUID]{}
	}
	return events.Some(id(base + g.pick(n, label)))
}

func (g generator) event() events.Event {
	var e events.Event
	switch g.pick(19, "entity") {
	case 0:
		e = g.phone()
	case 1:
		e = g.classification()
	case 2:
		e = g.extension()
	case 3:
		e = g.callGroup()
	case 4:
		e = g.representative()
	case 5, 6:
		e = g.voicemail()
	case 7, 8, 9:
		e = g.call()
	case 10, 11:
		e = g.transcript()
	case 12, 13, 14:
		e = g.recording()
	case 15:
		e = g.systemGroup()
	default:
		e = g.analysis()
	}
	deletions := 5
	if e.Entity == events.EntityCall {
		deletions = 16 // a deletion is final
	}
	if g.oneIn(deletions, "deleted") {
		e.State = nil
	}
	return g.versioned(e)
}

// versioned gives the event its entity's next version, or one of the earlier versions.
func (g generator) versioned(e events.Event) events.Event {
	key := fmt.Sprint(e.Entity, e.System, e.Key)
	g.versions[key]++
	e.Version = g.versions[key]
	if g.oneIn(8, "late") {
		e.Version = int64(1 + g.pick(int(e.Version), "version"))
	}
	if !e.Deleted() {
		reflect.ValueOf(e.State).Elem().FieldByName("Version").SetInt(e.Version)
	}
	return e
}

// systemGroup is a group whose list can name a phone system twice.
func (g generator) systemGroup() events.Event {
	members := make([]uuid.UUID, g.pick(4, "members"))
	for i := range members {
		members[i] = id(1 + g.pick(3, "member"))
	}
	return events.Changed(&events.Group{ID: id(90 + g.pick(2, "system group")), PhoneSystemIDs: members})
}

func (g generator) extension() events.Event {
	return events.Changed(&events.Extension{
		ID: id(10 + g.pick(2, "extension")), PhoneSystemID: g.system(), Name: fmt.Sprint("name ", g.pick(3, "name")),
	})
}

func (g generator) callGroup() events.Event {
	return events.Changed(&events.CallGroup{ID: id(20 + g.pick(2, "group")), PhoneSystemID: g.system()})
}

func (g generator) representative() events.Event {
	return events.Changed(&events.Representative{
		ID: id(70 + g.pick(2, "representative")), PhoneSystemID: g.system(), Name: fmt.Sprint("name ", g.pick(2, "name")),
	})
}

func (g generator) classification() events.Event {
	c := &events.Classification{Kind: "category", Code: fmt.Sprint("code ", 1+g.pick(2, "code")), Label: fmt.Sprint("label ", g.pick(2, "label"))}
	if g.flip("override") {
		c.PhoneSystemID = events.Some(g.system())
	}
	return events.Changed(c)
}

func (g generator) phone() events.Event {
	return events.Changed(&events.Phone{
		ID: id(50 + g.pick(2, "phone")), PhoneSystemID: g.system(), Status: []string{"", "active", "inactive"}[g.pick(3, "status")],
		CreatedAt: g.createdAt(),
	})
}

func (g generator) voicemail() events.Event {
	return events.Changed(&events.Voicemail{
		ID: id(30), PhoneSystemID: g.system(), CallSid: "CA0", RecordingSid: "RE0", CreatedAt: g.createdAt(), Listened: g.flip("listened"),
	})
}

func (g generator) analysis() events.Event {
	statuses := []string{"pending", "processing", "completed", "completed", "completed", "failed"}
	n := g.pick(4, "analysis")
	a := &events.Analysis{
		ID: id(80 + n), PhoneSystemID: g.system(), CallID: id(30 + g.ownerOf(n, calls)), CallSid: "CA0",
		Status: statuses[g.pick(len(statuses), "status")], CreatedAt: g.createdAt(),
		CoachingTips: []string{fmt.Sprint("tip ", g.pick(2, "tip"))},
	}
	if findings := g.pick(3, "findings"); findings > 0 {
		a.Category = events.Some(fmt.Sprint("code ", findings))
		a.CustomerSentiment = &events.Sentiment{Code: "mood", Score: events.Some(float64(findings))}
		a.ScorecardScore = events.Some(0.5)
	}
	if g.flip("role") {
		states := []string{"identified", "identified", "unknown", "not_analyzed"}
		a.Representative = &events.RepresentativeRole{
			State: states[g.pick(len(states), "state")], ID: events.Some(id(70 + g.pick(2, "representative"))),
			Confidence: events.Some(float64(g.pick(2, "confidence"))),
		}
	}
	return events.Changed(a)
}

// createdAt is in one of three days around the start of a year.
func (g generator) createdAt() events.Time {
	const hour = 3_600_000
	return events.Time((g.pick(5, "created") - 2) * 13 * hour)
}

// call differs from the call's event before in what it refers to, and half of the time in other values.
func (g generator) call() events.Event {
	c := &events.Call{
		ID:                    id(30 + g.pick(calls, "call")),
		PhoneSystemID:         g.system(),
		CallSid:               "CA0",
		Direction:             "inbound",
		Status:                "completed",
		AnsweredByExtensionID: g.maybe(10, 3, "answered"),
		FromExtensionID:       g.maybe(10, 3, "from"),
		CallGroupID:           g.maybe(20, 3, "group"),
	}
	if g.flip("other values") {
		c.CallSid, c.CreatedAt, c.IsEdited = fmt.Sprint("CA", g.pick(2, "sid")), g.createdAt(), g.flip("edited")
	}
	return events.Changed(c)
}

// calls is the number of calls.
const calls = 2

// ownerOf picks the owner row of a facet out of n: mostly the same one, sometimes another, which contradicts
// earlier events.
func (g generator) ownerOf(facet, n int) int {
	if g.oneIn(16, "contradiction") {
		facet++
	}
	return facet % n
}

// ownerRow returns the voicemail or one of the calls.
func (g generator) ownerRow(facet int) (call, voicemail events.Null[uuid.UUID]) {
	owner := g.ownerOf(facet, calls+1)
	if owner == calls {
		return call, events.Some(id(30))
	}
	return events.Some(id(30 + owner)), voicemail
}

func (g generator) transcript() events.Event {
	call, voicemail := g.ownerRow(g.pick(calls+1, "transcript"))
	statuses := []string{"queued", "running", "completed", "completed", "failed", "skipped", "removed"}
	transcript := &events.Transcript{
		PhoneSystemID: g.system(), CallID: call, VoicemailID: voicemail, Status: statuses[g.pick(len(statuses), "status")],
	}
	if text := g.pick(4, "text"); text > 0 {
		transcript.Text = events.Some(fmt.Sprint("text ", text))
	}
	if g.flip("turns") {
		transcript.Turns = []events.Turn{{Text: "hello", Speaker: events.Speaker{Kind: "unattributed"}}}
	}
	return events.Changed(transcript)
}

func (g generator) recording() events.Event {
	n := g.pick(6, "recording")
	call, voicemail := g.ownerRow(n)
	statuses := []string{events.RecordingProcessing, events.RecordingReady, events.RecordingUnavailable}
	r := &events.Recording{
		RecordingSid: fmt.Sprint("RE", n), PhoneSystemID: g.system(), CallID: call, VoicemailID: voicemail,
		Status: statuses[g.pick(3, "status")], CreatedAt: g.createdAt(),
		DurationSeconds: events.Some(int64(g.pick(3, "duration"))),
	}
	if r.Status == events.RecordingReady {
		r.Audio = &events.Audio{Key: "a.wav", ContentType: "audio/wav", Bytes: 1}
	}
	return events.Changed(r)
}
