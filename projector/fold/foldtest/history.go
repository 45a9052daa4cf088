// Package foldtest draws random histories of phone systems for the properties that the fold and its store must have.
package foldtest

import (
	"fmt"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events"
)

// Stamped is an event with the partition's clock at it.
type Stamped struct {
	events.Event
	At events.Time
}

// ID is a UUID that a test can name by a number.
func ID(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) }

// History draws a stream of events over a few systems, calls, voicemails, recordings, extensions and call groups, small enough for
// everything to collide. Versions mostly rise; some events come twice or late.
func History(t *rapid.T) []Stamped {
	d := drawer{t: t, versions: map[string]int64{}}
	list := make([]Stamped, rapid.IntRange(1, 60).Draw(t, "length"))
	for i := range list {
		list[i] = Stamped{d.event(), events.Time(1_000_000 + i)}
	}
	return list
}

type drawer struct {
	t        *rapid.T
	versions map[string]int64
}

func (d drawer) pick(n int, label string) int { return rapid.IntRange(0, n-1).Draw(d.t, label) }

func (d drawer) flip(label string) bool { return rapid.Bool().Draw(d.t, label) }

func (d drawer) system() uuid.UUID { return ID(1 + d.pick(2, "system")) }

func (d drawer) maybe(base, n int, label string) events.Null[uuid.UUID] {
	if d.flip(label + " null") {
		return events.Null[uuid.UUID]{}
	}
	return events.Some(ID(base + d.pick(n, label)))
}

func (d drawer) event() events.Event {
	var e events.Event
	switch d.pick(8, "entity") {
	case 0:
		e = d.extension()
	case 1:
		e = d.callGroup()
	case 2, 3, 4:
		e = d.call()
	case 5:
		e = d.transcript()
	default:
		e = d.recording()
	}
	if d.pick(6, "deleted") == 0 {
		e.State = nil
	}
	return d.versioned(e)
}

// versioned gives the event its entity's next version, or now and then one that was there already.
func (d drawer) versioned(e events.Event) events.Event {
	key := fmt.Sprint(e.Entity, e.System, e.Key)
	d.versions[key]++
	e.Version = d.versions[key]
	if d.pick(8, "late") == 0 {
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

func (d drawer) call() events.Event {
	const hour = 3_600_000
	return events.Changed(&events.Call{
		ID:                    ID(30 + d.pick(3, "call")),
		PhoneSystemID:         d.system(),
		CallSid:               fmt.Sprint("CA", d.pick(2, "sid")),
		CreatedAt:             events.Time(d.pick(60, "created") * hour),
		AnsweredByExtensionID: d.maybe(10, 3, "answered"),
		FromExtensionID:       d.maybe(10, 3, "from"),
		CallGroupID:           d.maybe(20, 3, "group"),
		IsEdited:              d.flip("edited"),
	})
}

func (d drawer) owner() (call, voicemail events.Null[uuid.UUID]) {
	if d.pick(6, "owner") == 0 {
		return call, events.Some(ID(40))
	}
	return events.Some(ID(30 + d.pick(3, "call"))), voicemail
}

func (d drawer) transcript() events.Event {
	call, voicemail := d.owner()
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
	call, voicemail := d.owner()
	statuses := []string{"processing", "ready", "unavailable"}
	return events.Changed(&events.Recording{
		RecordingSid: fmt.Sprint("RE", d.pick(3, "recording")), PhoneSystemID: d.system(), CallID: call, VoicemailID: voicemail,
		Status: statuses[d.pick(3, "status")], CreatedAt: events.Time(d.pick(3, "created")),
		DurationSeconds: events.Some(int64(d.pick(3, "duration"))),
	})
}
