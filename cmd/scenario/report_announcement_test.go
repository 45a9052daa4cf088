package scenario_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
)

// Calls come before what they refer to. A customer who reads windows by updatedAt meets all of them again when the directory entry comes, and
// when it comes back after a deletion, and none when it is renamed or deleted.
func TestReports_DirectoryEntryAfterItsCalls(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]lateEntry{
		"call group": {
			"callGroup",
			func(c *events.Call, id uuid.UUID) []events.State { c.CallGroupID = events.Some(id); return nil },
			func(system, id uuid.UUID, version int64, name string) events.State {
				return &events.CallGroup{ID: id, PhoneSystemID: system, Version: version, Name: name, Number: "200", Status: "active"}
			},
		},
		"answering extension": {
			"answeredByExtension",
			func(c *events.Call, id uuid.UUID) []events.State {
				c.AnsweredByExtensionID = events.Some(id)
				return nil
			}, extensionNamed,
		},
		"calling extension": {
			"fromExtension",
			func(c *events.Call, id uuid.UUID) []events.State { c.FromExtensionID = events.Some(id); return nil }, extensionNamed,
		},
		"representative": {
			"representative",
			func(c *events.Call, id uuid.UUID) []events.State {
				return []events.State{&events.Analysis{
					ID: uuid.New(), PhoneSystemID: c.PhoneSystemID, Version: 1, CallID: c.ID, CallSid: c.CallSid, Status: events.AnalysisCompleted,
					OverallScore: events.Some[int64](80), AnalyzedAt: events.Some(c.CreatedAt), CreatedAt: c.CreatedAt,
					Representative: &events.RepresentativeRole{State: "identified", ID: events.Some(id)},
				}}
			},
			func(system, id uuid.UUID, version int64, name string) events.State {
				return &events.Representative{ID: id, PhoneSystemID: system, Version: version, Name: name, Status: "active"}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			late.run(t)
		})
	}
}

func extensionNamed(system, id uuid.UUID, version int64, name string) events.State {
	return &events.Extension{ID: id, PhoneSystemID: system, Version: version, Name: name, Number: "101", Status: "active"}
}

// lateEntry is a kind of directory entry that calls refer to.
type lateEntry struct {
	member string                                            // of a report row
	refer  func(c *events.Call, id uuid.UUID) []events.State // makes a call refer to the entry, by itself or by other events
	define func(system, id uuid.UUID, version int64, name string) events.State
}

func (l lateEntry) run(t *testing.T) {
	t.Helper()
	h := newHarness(t)
	d := &reportRun{harness: h, system: uuid.New(), floor: time.Now(), progress: sync.NewCond(new(sync.Mutex))}
	h.apply(changed(phoneSystem(d.system, 1, "A"))...)
	d.key = h.systemKey(d.system)
	id, calls := uuid.New(), 0
	var list []events.Event
	for ; calls < 7; calls++ {
		c := call(d.system, uuid.New(), 1)
		others := l.refer(c, id)
		list = append(list, changed(append([]events.State{c}, others...)...)...)
	}
	h.apply(append(list, changed(call(d.system, uuid.New(), 1))...)...) // the last one refers to nothing
	customer := newConsumer(d, "updatedAt", d.floor.Add(-time.Minute))
	step := func(what string, want int, shown any, event ...events.Event) {
		t.Helper()
		h.apply(event...)
		customer.rows = make(map[string]string)
		if err := customer.walk(t.Context(), d.present(), 3); err != nil {
			t.Fatal(err)
		}
		if got := len(customer.rows); got != want {
			t.Errorf("%s: rows in the window = %d, want %d", what, got, want)
		}
		for _, row := range customer.rows {
			if got := l.shownIn(t, row); len(event) > 0 && got != fmt.Sprint(shown) {
				t.Errorf("%s: %s = %s, want %v", what, l.member, got, shown)
			}
		}
	}
	define := func(version int64, name string) events.Event {
		return changed(l.define(d.system, id, version, name))[0]
	}
	step("the calls", calls+1, nil)
	step("nothing", 0, nil)
	step("the entry", calls, id, define(1, "Desk"))
	step("another name", 0, nil, define(2, "Front desk"))
	step("the deletion", 0, nil, deleted(l.define(d.system, id, 3, "")))
	step("the entry again", calls, id, define(4, "Desk"))
}

// shownIn returns the id that a row shows.
func (l lateEntry) shownIn(t *testing.T, row string) string {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(row), &members); err != nil {
		t.Fatal(err)
	}
	reference, _ := members[l.member].(map[string]any)
	return fmt.Sprint(reference["id"])
}
