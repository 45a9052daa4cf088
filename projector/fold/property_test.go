package fold_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/fold"
)

// history draws a stream of events over a few systems, calls, voicemails, recordings, extensions and call groups, small enough for
// everything to collide. Versions mostly rise; some events come twice or late.
func history(t *rapid.T) []stamped {
	d := drawer{t: t, versions: map[string]int64{}}
	list := make([]stamped, rapid.IntRange(1, 60).Draw(t, "length"))
	for i := range list {
		list[i] = stamped{d.event(), events.Time(1_000_000 + i)}
	}
	return list
}

type drawer struct {
	t        *rapid.T
	versions map[string]int64
}

func (d drawer) pick(n int, label string) int { return rapid.IntRange(0, n-1).Draw(d.t, label) }

func (d drawer) flip(label string) bool { return rapid.Bool().Draw(d.t, label) }

func (d drawer) system() uuid.UUID { return id(1 + d.pick(2, "system")) }

func (d drawer) maybe(base, n int, label string) events.Null[uuid.UUID] {
	if d.flip(label + " null") {
		return events.Null[uuid.UUID]{}
	}
	return events.Some(id(base + d.pick(n, label)))
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
		ID: id(10 + d.pick(2, "extension")), PhoneSystemID: d.system(), Name: fmt.Sprint("name ", d.pick(3, "name")),
	})
}

func (d drawer) callGroup() events.Event {
	return events.Changed(&events.CallGroup{ID: id(20 + d.pick(2, "group")), PhoneSystemID: d.system()})
}

func (d drawer) call() events.Event {
	const hour = 3_600_000
	return events.Changed(&events.Call{
		ID:                    id(30 + d.pick(3, "call")),
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
		return call, events.Some(id(40))
	}
	return events.Some(id(30 + d.pick(3, "call"))), voicemail
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

func applied(batches ...[]stamped) *world {
	w := newWorld()
	for _, batch := range batches {
		w.apply(batch...)
	}
	return w
}

func mustEqual(t *rapid.T, got, want *world, clocks bool) {
	t.Helper()
	if list := got.differences(want, clocks); len(list) > 0 {
		t.Fatalf("differs in %v", list)
	}
}

func TestFold_AnyBatchingGivesTheSameRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := history(t)
		var batches [][]stamped
		for rest := list; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
			batches, rest = append(batches, rest[:n]), rest[n:]
		}
		mustEqual(t, applied(batches...), applied(list), true)
	})
}

func TestFold_OnceMoreChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := history(t)
		var twice []stamped
		for _, e := range list {
			again := e
			again.at += 500_000
			twice = append(twice, e, again)
		}
		got, want := applied(twice), applied(list)
		got.dead, want.dead = 0, 0
		mustEqual(t, got, want, true)
	})
}

func TestFold_APrefixReplayedAfterTheWholeChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := history(t)
		prefix := slices.Clone(list[:rapid.IntRange(0, len(list)).Draw(t, "prefix")])
		for i := range prefix {
			prefix[i].at += 500_000
		}
		got, want := applied(list, prefix), applied(list)
		got.dead, want.dead = 0, 0
		mustEqual(t, got, want, true)
	})
}

// One entity's events keep their order; those of different entities may come in any.
func TestFold_AnyInterleavingGivesTheSameRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := history(t)
		queues := map[string][]stamped{}
		for _, e := range list {
			key := fmt.Sprint(e.Entity, e.System, e.Key)
			queues[key] = append(queues[key], e)
		}
		keys := slices.Sorted(maps.Keys(queues))
		shuffled := make([]stamped, 0, len(list))
		for len(shuffled) < len(list) {
			i := rapid.IntRange(0, len(keys)-1).Draw(t, "queue")
			queue := queues[keys[i]]
			if len(queue) == 0 {
				keys = slices.Delete(keys, i, i+1)
				continue
			}
			shuffled, queues[keys[i]] = append(shuffled, queue[0]), queue[1:]
		}
		mustEqual(t, applied(shuffled), applied(list), false)
	})
}

func TestFold_CountsAreThoseOfTheRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for _, e := range history(t) {
			w.apply(e)
			counts, calls := w.recount()
			if !maps.Equal(w.counts, counts) {
				t.Fatalf("day_count %v, rows say %v", w.counts, counts)
			}
			if !maps.Equal(w.extensionCalls, calls) {
				t.Fatalf("extension_call %v, rows say %v", w.extensionCalls, calls)
			}
		}
	})
}

// A row's time moves at an event if, and only if, the row shows something else after it; references to what isn't there show null.
func TestFold_UpdatedAtMovesExactlyWithTheReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for _, e := range history(t) {
			before := maps.Clone(w.callLogs)
			w.apply(e)
			for key, now := range w.callLogs {
				was, existed := before[key]
				moved := !existed || shown(w, was) != shown(w, now)
				want := was.UpdatedAt
				if moved {
					want = e.at
				}
				if now.UpdatedAt != want {
					t.Fatalf("after %s: updatedAt %d, want %d", e.Type(), now.UpdatedAt, want)
				}
			}
		}
	})
}

// shown is what a report row serves, spelled out.
func shown(w *world, row fold.CallLog) string {
	resolve := func(table map[fold.Key]bool, id events.Null[uuid.UUID]) any {
		if !id.Valid || !table[fold.Key{System: row.System, ID: id.Value}] {
			return nil
		}
		return id.Value
	}
	extensions, groups := map[fold.Key]bool{}, map[fold.Key]bool{}
	for key := range w.extensions {
		extensions[key] = true
	}
	for key := range w.callGroups {
		groups[key] = true
	}
	return fmt.Sprint(row.CallSid, row.CreatedAt, row.IsEdited, row.Tags, row.RecordingSid, row.RecordingDuration,
		row.Transcription, resolve(groups, row.CallGroupID), resolve(extensions, row.AnsweredByExtensionID),
		resolve(extensions, row.FromExtensionID))
}
