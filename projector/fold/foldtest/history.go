// Package foldtest draws random histories of phone systems for the properties that the fold and its store must have.
package foldtest

import (
	"fmt"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events"
)

// TimedEvent is an event with the partition's clock at it.
type TimedEvent struct {
	events.Event
	At events.Time
}

// ID is a UUID that a test can name by a number.
func ID(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) }

// RandomHistory draws a stream of events over a few systems, calls, voicemails, their facets and what they refer to, few enough for
// everything to collide; a voicemail shares its id with a call. Versions mostly rise; some events come twice or late.
func RandomHistory(t *rapid.T) []TimedEvent {
	d := drawer{t: t, versions: map[string]int64{}}
	list := make([]TimedEvent, rapid.IntRange(1, 120).Draw(t, "length"))
	for i := range list {
		list[i] = TimedEvent{d.event(), events.Time(1_000_000 + i)}
	}
	return list
}

type drawer struct {
	t        *rapid.T
	versions map[string]int64
}

func (d drawer) pick(n int, label string) int { return rapid.IntRange(0, n-1).Draw(d.t, label) }

func (d drawer) flip(label string) bool { return rapid.Bool().Draw(d.t, label) }

// rarely is true once in so many times.
func (d drawer) rarely(one int, label string) bool { return d.pick(one, label) == one-1 }

// system is nearly always the same one: what is apart can't collide.
func (d drawer) system() uuid.UUID {
	if d.rarely(8, "system") {
		return ID(2)
	}
	return ID(1)
}

func (d drawer) maybe(base, n int, label string) events.Null[uuid.UUID] {
	if d.flip(label + " null") {
		return events.Null[uuid.UUID]{}
	}
	return events.Some(ID(base + d.pick(n, label)))
}

func (d drawer) event() events.Event {
	var e events.Event
	switch d.pick(18, "entity") {
	case 0:
		e = d.phone()
	case 1:
		e = d.classification()
	case 2:
		e = d.extension()
	case 3:
		e = d.callGroup()
	case 4:
		e = d.representative()
	case 5, 6:
		e = d.voicemail()
	case 7, 8, 9:
		e = d.call()
	case 10, 11:
		e = d.transcript()
	case 12, 13, 14:
		e = d.recording()
	default:
		e = d.analysis()
	}
	lives := 5
	if e.Entity == events.EntityCall {
		lives = 16 // it never comes back
	}
	if d.rarely(lives, "deleted") {
		e.State = nil
	}
	return d.versioned(e)
}

// versioned gives the event its entity's next version, or now and then one that was there already.
func (d drawer) versioned(e events.Event) events.Event {
	key := fmt.Sprint(e.Entity, e.System, e.Key)
	d.versions[key]++
	e.Version = d.versions[key]
	if d.rarely(8, "late") {
		e.Version = int64(1 + d.pick(int(e.Version), "version"))
	}
	e.State = withVersion(e.State, e.Version)
	return e
}

func withVersion(state events.State, version int64) events.State {
	switch s := state.(type) {
	case *events.Extension:
		s.Version = version
	case *events.CallGroup:
		s.Version = version
	case *events.Call:
		s.Version = version
	case *events.Transcript:
		s.Version = version
	case *events.Recording:
		s.Version = version
	case *events.Analysis:
		s.Version = version
	case *events.Voicemail:
		s.Version = version
	case *events.Representative:
		s.Version = version
	case *events.Classification:
		s.Version = version
	case *events.Phone:
		s.Version = version
	}
	return state
}

func (d drawer) extension() events.Event {
	return events.Changed(&events.Extension{
		ID: ID(10 + d.pick(2, "extension")), PhoneSystemID: d.system(), Name: fmt.Sprint("name ", d.pick(3, "name")),
	})
}

func (d drawer) callGroup() events.Event {
	return events.Changed(&events.CallGroup{ID: ID(20 + d.pick(2, "group")), PhoneSystemID: d.system()})
}

func (d drawer) representative() events.Event {
	return events.Changed(&events.Representative{
		ID: ID(70 + d.pick(2, "representative")), PhoneSystemID: d.system(), Name: fmt.Sprint("name ", d.pick(2, "name")),
	})
}

func (d drawer) classification() events.Event {
	c := &events.Classification{Kind: "category", Code: fmt.Sprint("code ", 1+d.pick(2, "code")), Label: fmt.Sprint("label ", d.pick(2, "label"))}
	if d.flip("override") {
		c.PhoneSystemID = events.Some(d.system())
	}
	return events.Changed(c)
}

func (d drawer) phone() events.Event {
	return events.Changed(&events.Phone{
		ID: ID(50 + d.pick(2, "phone")), PhoneSystemID: d.system(), Status: []string{"", "active", "inactive"}[d.pick(3, "status")],
		CreatedAt: d.createdAt(),
	})
}

func (d drawer) voicemail() events.Event {
	return events.Changed(&events.Voicemail{
		ID: ID(30), PhoneSystemID: d.system(), CallSid: "CA0", RecordingSid: "RE0", CreatedAt: d.createdAt(), Listened: d.flip("listened"),
	})
}

func (d drawer) analysis() events.Event {
	statuses := []string{"pending", "processing", "completed", "completed", "completed", "failed"}
	n := d.pick(4, "analysis")
	a := &events.Analysis{
		ID: ID(80 + n), PhoneSystemID: d.system(), CallID: ID(30 + d.of(n, calls)), CallSid: "CA0",
		Status: statuses[d.pick(len(statuses), "status")], CreatedAt: d.createdAt(),
		CoachingTips: []string{fmt.Sprint("tip ", d.pick(2, "tip"))},
	}
	if findings := d.pick(3, "findings"); findings > 0 {
		a.Category = events.Some(fmt.Sprint("code ", findings))
		a.CustomerSentiment = &events.Sentiment{Code: "mood", Score: events.Some(float64(findings))}
		a.ScorecardScore = events.Some(0.5)
	}
	if d.flip("role") {
		states := []string{"identified", "identified", "unknown", "not_analyzed"}
		a.Representative = &events.RepresentativeRole{
			State: states[d.pick(len(states), "state")], ID: events.Some(ID(70 + d.pick(2, "representative"))),
			Confidence: events.Some(float64(d.pick(2, "confidence"))),
		}
	}
	return events.Changed(a)
}

func (d drawer) createdAt() events.Time {
	const hour = 3_600_000
	return events.Time(d.pick(5, "created") * 13 * hour)
}

func (d drawer) call() events.Event {
	return events.Changed(&events.Call{
		ID:                    ID(30 + d.pick(calls, "call")),
		PhoneSystemID:         d.system(),
		CallSid:               fmt.Sprint("CA", d.pick(2, "sid")),
		CreatedAt:             d.createdAt(),
		AnsweredByExtensionID: d.maybe(10, 3, "answered"),
		FromExtensionID:       d.maybe(10, 3, "from"),
		CallGroupID:           d.maybe(20, 3, "group"),
		IsEdited:              d.flip("edited"),
	})
}

// calls is how many calls there are.
const calls = 2

// of is which of n things a facet hangs on: always the same, save by mistake.
func (d drawer) of(facet, n int) int {
	if d.rarely(16, "mistaken") {
		facet++
	}
	return facet % n
}

// owner is the voicemail or one of the calls.
func (d drawer) owner(facet int) (call, voicemail events.Null[uuid.UUID]) {
	owner := d.of(facet, calls+1)
	if owner == calls {
		return call, events.Some(ID(30))
	}
	return events.Some(ID(30 + owner)), voicemail
}

func (d drawer) transcript() events.Event {
	call, voicemail := d.owner(d.pick(calls+1, "transcript"))
	statuses := []string{"queued", "running", "completed", "completed", "failed", "skipped", "removed"}
	transcript := &events.Transcript{
		PhoneSystemID: d.system(), CallID: call, VoicemailID: voicemail, Status: statuses[d.pick(len(statuses), "status")],
	}
	if text := d.pick(4, "text"); text > 0 {
		transcript.Text = events.Some(fmt.Sprint("text ", text))
	}
	if d.flip("turns") {
		transcript.Turns = []events.Turn{{Text: "hello", Speaker: events.Speaker{Kind: "unattributed"}}}
	}
	return events.Changed(transcript)
}

func (d drawer) recording() events.Event {
	n := d.pick(6, "recording")
	call, voicemail := d.owner(n)
	statuses := []string{"processing", "ready", "unavailable"}
	return events.Changed(&events.Recording{
		RecordingSid: fmt.Sprint("RE", n), PhoneSystemID: d.system(), CallID: call, VoicemailID: voicemail,
		Status: statuses[d.pick(3, "status")], CreatedAt: d.createdAt(),
		DurationSeconds: events.Some(int64(d.pick(3, "duration"))),
	})
}
