package fold_test

import (
	"testing"

	"callboard/events"
	"callboard/projector/fold"
)

// An event with the stored version conflicts if it would make another row, or none.
func TestFold_Conflicting(t *testing.T) {
	desk := func(version int64, name string) events.State {
		return &events.CallGroup{ID: id(20), PhoneSystemID: id(1), Version: version, Name: name}
	}
	edited := call(1)
	edited.Status = "busy"
	pending := analysis(80, 3, 1)
	pending.Status = "pending"
	ring := func(version int64, seconds int64) events.State {
		return &events.Recording{
			RecordingSid: "RE1", PhoneSystemID: id(1), Version: version, CallID: events.Some(id(30)), Status: "processing",
			DurationSeconds: events.Some(seconds),
		}
	}
	for name, c := range map[string]struct {
		first, second events.Event
		want          fold.Outcome
	}{
		"another name":                {events.Changed(desk(1, "Desk")), events.Changed(desk(1, "Front")), fold.Conflicting},
		"the same name":               {events.Changed(desk(1, "Desk")), events.Changed(desk(1, "Desk")), fold.Stale},
		"an older name":               {events.Changed(desk(2, "Desk")), events.Changed(desk(1, "Front")), fold.Stale},
		"changed and deleted":         {events.Changed(desk(1, "Desk")), deleted(desk(1, "")), fold.Conflicting},
		"deleted and changed":         {deleted(desk(1, "")), events.Changed(desk(1, "Desk")), fold.Conflicting},
		"deleted twice":               {deleted(desk(1, "")), deleted(desk(1, "")), fold.Stale},
		"another call":                {events.Changed(call(1)), events.Changed(edited), fold.Conflicting},
		"a deleted call":              {events.Changed(call(1)), deleted(call(1)), fold.Conflicting},
		"another analysis":            {events.Changed(analysis(80, 3, 1)), events.Changed(pending), fold.Conflicting},
		"a deleted analysis":          {deleted(analysis(80, 3, 1)), events.Changed(analysis(80, 3, 1)), fold.Conflicting},
		"another recording":           {events.Changed(ring(1, 7)), events.Changed(ring(1, 8)), fold.Conflicting},
		"the same recording":          {events.Changed(ring(1, 7)), events.Changed(ring(1, 7)), fold.Stale},
		"another text":                {transcriptEvent("completed:Hello", 1), transcriptEvent("completed:Goodbye", 1), fold.Conflicting},
		"the same text":               {transcriptEvent("completed:Hello", 1), transcriptEvent("completed:Hello", 1), fold.Stale},
		"an attempt, the text stays":  {transcriptEvent("completed:Hello", 1), transcriptEvent("queued", 1), fold.Stale},
		"removed, and deleted for it": {transcriptEvent("removed", 1), transcriptEvent("deleted", 1), fold.Stale},
	} {
		f := newFixture()
		f.apply(at(1, c.first))
		if got := f.apply(at(2, c.second))[0]; got != c.want {
			t.Errorf("%s: outcome = %s, want %s", name, got, c.want)
		}
	}
}

// What the deletion of a call removed arrives again without a conflict.
func TestFold_RemovedFacetsDoNotConflict(t *testing.T) {
	f := newFixture()
	a := events.Changed(analysis(80, 3, 1))
	checkOutcomes(t, f.apply(at(1, events.Changed(call(1))), at(2, a), at(3, deleted(call(2))), at(4, a)),
		fold.Applied, fold.Applied, fold.Applied, fold.Stale)
}
