package status_test

import (
	"testing"

	"github.com/google/uuid"

	"callboard/projector/status"
	"callboard/schema/schematest"
)

// Late calls count where a call frontier says that they are late.
func TestRead_LateCalls(t *testing.T) {
	h := newHarness(t)
	if late := h.read().LateCalls; late != (status.LateCalls{}) {
		t.Errorf("without call frontiers: late calls = %+v, want none", late)
	}
	for number, counts := range [][]int{{}, {2, 3}, {1}} {
		system := uuid.New()
		h.Exec("insert into projection.call_frontier (partition, system_id, version, through) values ($1, $2, 1, now())", number, system)
		for month, n := range counts {
			h.Exec(`
				insert into projection.month_count (partition, system_id, list, subset, month, count)
				values ($1, $2, 'late_call', '', '2026-01-01'::date + $3 * interval '1 month', $4)`, number, system, month, n)
		}
	}
	if late, want := h.read().LateCalls, (status.LateCalls{Calls: 6, PhoneSystems: 2}); late != want {
		t.Errorf("late calls = %+v, want %+v", late, want)
	}
}

// A generation of an earlier release has no call frontiers.
func TestRead_NoCallFrontiers(t *testing.T) {
	schematest.NeedOneServer(t, "it drops a table")
	h := newHarness(t)
	h.Exec("drop table projection.call_frontier")
	if late := h.read().LateCalls; late != (status.LateCalls{}) {
		t.Errorf("late calls = %+v, want none", late)
	}
}
