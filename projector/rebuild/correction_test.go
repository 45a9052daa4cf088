package rebuild_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

// calls returns the times at which a phone system's calls changed, by id.
func (h *harness) calls(system uuid.UUID) map[uuid.UUID]time.Time {
	h.Helper()
	rows, _ := h.Pool.Query(h.Context(), "select id, updated_at from projection.call_log where system_id = $1", system)
	found := make(map[uuid.UUID]time.Time)
	var id uuid.UUID
	var at time.Time
	_, err := pgx.ForEachRow(rows, []any{&id, &at}, func() error {
		found[id] = at
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
	return found
}

const (
	wrongValue  = "update projection.call_log set from_name = 'wrong' where system_id = $1"
	missingCall = `
		delete from projection.call_log
		where system_id = $1 and id = (select id from projection.call_log where system_id = $1 order by id limit 1)`
)

// newDamagedHarness returns a harness with a phone system for each statement, which damages what is served of it ($1),
// and one that is intact. The projector was stopped.
func newDamagedHarness(t *testing.T, damages ...string) (h *harness, damaged []uuid.UUID, intact uuid.UUID) {
	t.Helper()
	h, intact = newHarness(t), uuid.New()
	for range damages {
		damaged = append(damaged, uuid.New())
	}
	stop := h.StartProjector()
	for _, system := range append(damaged, intact) {
		h.PublishStates(projectortest.PhoneSystem(system))
		for range 3 {
			call := projectortest.Call(system, uuid.New())
			extension := &events.Extension{
				ID: uuid.New(), PhoneSystemID: system, Version: 1, Number: "101", Name: "Front desk", Status: "active",
				CreatedAt: call.CreatedAt, UpdatedAt: call.CreatedAt, AssignedPhoneIDs: []uuid.UUID{},
			}
			call.AnsweredByExtensionID = events.Some(extension.ID)
			h.PublishStates(extension, call, transcriptOf(call))
		}
	}
	h.WaitUntilCaughtUp()
	stop()
	for i, damage := range damages {
		h.Exec(damage, damaged[i])
	}
	return h, damaged, intact
}

// watermark returns a phone system's watermark.
func (h *harness) watermark(system uuid.UUID) time.Time {
	h.Helper()
	const query = "select watermark from projection.position where partition = $1"
	return projectortest.QueryOne[time.Time](h.Harness, query, events.Partition(system, h.Partitions))
}

// requireCallsAfter requires a number of calls of a phone system, which all changed after a watermark.
func (h *harness) requireCallsAfter(watermark time.Time, system uuid.UUID, count int) {
	h.Helper()
	now := h.calls(system)
	if len(now) != count {
		h.Errorf("calls = %d, want %d", len(now), count)
	}
	for id, at := range now {
		if !at.After(watermark) {
			h.Errorf("call %s changed at %v, want after the watermark %v", id, at, watermark)
		}
	}
}

// Where reports show other values after a rebuild, all calls of the phone system change after the watermark, and no
// call of another one.
func TestRun_Corrects(t *testing.T) {
	h, damaged, intact := newDamagedHarness(t,
		wrongValue,
		missingCall,
		"update projection.call_log set updated_at = to_timestamp(1) where system_id = $1",
		"delete from projection.transcript where system_id = $1",
		"update projection.transcript_text set text = 'wrong' where system_id = $1",
		"delete from projection.topology where kind = 'extension' and system_id = $1")
	watermarks, untouched := make(map[uuid.UUID]time.Time), h.calls(intact)
	for _, system := range damaged {
		watermarks[system] = h.watermark(system)
	}
	if n := h.rebuild().Comparison.ChangedSystems; n != len(damaged) {
		t.Errorf("changed phone systems = %d, want %d", n, len(damaged))
	}
	for _, system := range damaged {
		h.requireCallsAfter(watermarks[system], system, 3)
	}

	// What comes until the watermark has reached the time has it, too, and a replay repeats it.
	stop := h.StartProjector()
	h.Apply(projectortest.Call(damaged[0], uuid.New()))
	stop()
	h.requireCallsAfter(watermarks[damaged[0]], damaged[0], 4)
	if now := h.calls(intact); !maps.EqualFunc(now, untouched, time.Time.Equal) {
		t.Errorf("calls of the intact phone system changed at %v, want %v", now, untouched)
	}
	h.requireVerified("continued")
	h.requireRebuilt()
	h.RequireReplayEquals(h.Database.Projection(t))
}

func TestRepair_Corrects(t *testing.T) {
	h, damaged, intact := newDamagedHarness(t, wrongValue)
	watermark, untouched := h.watermark(damaged[0]), h.calls(intact)
	result, err := rebuild.Repair(t.Context(), h.config(), damaged[0])
	if err != nil {
		t.Fatal(err)
	}
	if n := result.Comparison.ChangedSystems; n != 1 {
		t.Errorf("changed phone systems = %d, want 1", n)
	}
	h.requireCallsAfter(watermark, damaged[0], 3)
	if now := h.calls(intact); !maps.EqualFunc(now, untouched, time.Time.Equal) {
		t.Errorf("calls of the intact phone system changed at %v, want %v", now, untouched)
	}
	h.requireRebuilt()
}

// A rollback shows again what was corrected, and rolling forward shows it corrected.
func TestRollback_Corrects(t *testing.T) {
	h, damaged, _ := newDamagedHarness(t, missingCall)
	h.rebuild()
	for _, served := range []int{2, 3} {
		stop := h.StartProjector()
		h.waitForWatermarks()
		stop()
		watermark := h.watermark(damaged[0])
		h.rollback()
		h.requireCallsAfter(watermark, damaged[0], served)
	}
	h.requireVerified("rolled forward")
}
