package fold_test

import (
	"maps"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
)

func frontier(system uuid.UUID, version int64, through events.Time) events.State {
	return &events.CallFrontier{PhoneSystemID: system, Version: version, Through: through}
}

func callCreatedAt(call int, version int64, at events.Time) events.State {
	return &events.Call{
		ID: id(call), PhoneSystemID: id(1), Version: version, CallSid: "CA1", Direction: "inbound", Status: "completed", CreatedAt: at,
	}
}

// lateCalls returns how many calls of the phone system were late.
func (f *fixture) lateCalls() (n int64) {
	for key, count := range f.Counts {
		if key.List == fold.ListLateCall && key.System == id(1) {
			n += count
		}
	}
	return n
}

func (f *fixture) forgetLateCalls() {
	maps.DeleteFunc(f.Counts, func(k fold.CountKey, _ int64) bool { return k.List == fold.ListLateCall })
	maps.DeleteFunc(f.MonthCounts, func(k fold.MonthCountKey, _ int64) bool { return k.List == fold.ListLateCall })
}

func TestCallFrontier_CountsLateCalls(t *testing.T) {
	for _, test := range []struct {
		name   string
		events []events.Event
		want   int64
	}{
		{"no frontier", []events.Event{events.Changed(callCreatedAt(30, 1, 10))}, 0},
		{"at the frontier", []events.Event{events.Changed(frontier(id(1), 1, 10)), events.Changed(callCreatedAt(30, 1, 10))}, 0},
		{"before the frontier", []events.Event{events.Changed(frontier(id(1), 1, 10)), events.Changed(callCreatedAt(30, 1, 9))}, 1},
		{"published before the frontier", []events.Event{events.Changed(callCreatedAt(30, 1, 9)), events.Changed(frontier(id(1), 1, 10))}, 0},
		{
			"a later version",
			[]events.Event{
				events.Changed(callCreatedAt(30, 1, 9)), events.Changed(frontier(id(1), 1, 10)), events.Changed(callCreatedAt(30, 2, 9)),
			},
			0,
		},
		{
			"created at another time, says a later version",
			[]events.Event{
				events.Changed(callCreatedAt(30, 1, 11)), events.Changed(frontier(id(1), 1, 10)), events.Changed(callCreatedAt(30, 2, 8)),
			},
			1,
		},
		{
			"deleted afterwards",
			[]events.Event{
				events.Changed(frontier(id(1), 1, 10)), events.Changed(callCreatedAt(30, 1, 9)), deleted(callCreatedAt(30, 2, 9)),
			},
			1,
		},
		{
			"a frontier that was withdrawn",
			[]events.Event{
				events.Changed(frontier(id(1), 1, 10)), deleted(frontier(id(1), 2, 10)), events.Changed(callCreatedAt(30, 1, 9)),
			},
			0,
		},
		{
			"an older frontier does not count",
			[]events.Event{
				events.Changed(frontier(id(1), 2, 5)), events.Changed(frontier(id(1), 1, 10)), events.Changed(callCreatedAt(30, 1, 9)),
			},
			0,
		},
		{"of another phone system", []events.Event{events.Changed(frontier(id(2), 1, 10)), events.Changed(callCreatedAt(30, 1, 9))}, 0},
		{
			"two calls",
			[]events.Event{
				events.Changed(frontier(id(1), 1, 10)), events.Changed(callCreatedAt(30, 1, 9)), events.Changed(callCreatedAt(31, 1, 1)),
			},
			2,
		},
	} {
		separate, together := newFixture(), newFixture()
		var batch []foldtest.TimedEvent
		for _, e := range test.events {
			separate.apply(at(1, e))
			batch = append(batch, at(1, e))
		}
		together.apply(batch...)
		for how, f := range map[string]*fixture{"one by one": separate, "in one batch": together} {
			if got := f.lateCalls(); got != test.want {
				t.Errorf("%s, %s: late calls = %d, want %d", test.name, how, got, test.want)
			}
			if _, live := f.CallLogs[key(30)]; test.name == "before the frontier" && !live {
				t.Error("a late call has no row")
			}
		}
	}
}
