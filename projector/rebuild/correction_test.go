package rebuild_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

// calls are the times at which calls changed, by id.
type calls map[uuid.UUID]time.Time

func (h *harness) calls(system uuid.UUID) calls {
	h.Helper()
	rows, err := h.Pool.Query(h.Context(), "select id, updated_at from projection.call_log where system_id = $1", system)
	if err != nil {
		h.Fatal(err)
	}
	defer rows.Close()
	found := make(calls)
	for rows.Next() {
		var id uuid.UUID
		var at time.Time
		if err := rows.Scan(&id, &at); err != nil {
			h.Fatal(err)
		}
		found[id] = at
	}
	if err := rows.Err(); err != nil {
		h.Fatal(err)
	}
	return found
}

// correctionHarness has two phone systems. What the first one serves is damaged.
type correctionHarness struct {
	*harness
	damaged, intact uuid.UUID
	untouched       calls // of the intact one
}

// damages are statements that damage what is served of a phone system ($1).
func damages() map[string]string {
	return map[string]string{
		"value":      "update projection.call_log set from_name = 'wrong' where system_id = $1",
		"missing":    "delete from projection.call_log where system_id = $1 and id = (select id from projection.call_log where system_id = $1 limit 1)",
		"time":       "update projection.call_log set updated_at = to_timestamp(1) where system_id = $1",
		"transcript": "delete from projection.transcript where system_id = $1",
		"text":       "update projection.transcript_text set text = 'wrong' where system_id = $1",
		"topology":   "delete from projection.topology where kind = 'extension' and system_id = $1",
	}
}

func newCorrectionHarness(t *testing.T, damage string) *correctionHarness {
	t.Helper()
	h := &correctionHarness{harness: newHarness(t), damaged: uuid.New(), intact: uuid.New()}
	stop := h.StartProjector()
	for _, system := range []uuid.UUID{h.damaged, h.intact} {
		h.PublishStates(projectortest.PhoneSystem(system))
		for range 3 {
			call := projectortest.Call(system, uuid.New())
			call.AnsweredByExtensionID = events.Some(uuid.New())
			h.PublishStates(
				&events.Extension{
					ID: call.AnsweredByExtensionID.Value, PhoneSystemID: system, Version: 1, Number: "101", Name: "Front desk", Status: "active",
					CreatedAt: call.CreatedAt, UpdatedAt: call.CreatedAt, AssignedPhoneIDs: []uuid.UUID{},
				},
				call, transcriptOf(call))
		}
	}
	h.WaitUntilCaughtUp()
	stop()
	h.untouched = h.calls(h.intact)
	h.Exec(damage, h.damaged)
	return h
}

// watermark returns that of the damaged phone system's partition.
func (h *correctionHarness) watermark() time.Time {
	h.Helper()
	partition := events.Partition(h.damaged, h.Partitions)
	return projectortest.QueryOne[time.Time](h.Harness, "select watermark from projection.position where partition = $1", partition)
}

// requireCorrected requires that all calls of the damaged phone system changed after a watermark, and none of the
// other.
func (h *correctionHarness) requireCorrected(when string, watermark time.Time, count int) {
	h.Helper()
	now := h.calls(h.damaged)
	if len(now) != count {
		h.Errorf("%s: calls = %d, want %d", when, len(now), count)
	}
	for id, at := range now {
		if !at.After(watermark) {
			h.Errorf("%s: call %s changed at %v, want after the watermark %v", when, id, at, watermark)
		}
	}
	for id, at := range h.calls(h.intact) {
		if !at.Equal(h.untouched[id]) {
			h.Errorf("%s: call %s of the other phone system changed at %v, want %v", when, id, at, h.untouched[id])
		}
	}
	h.requireVerified(when)
}

func TestRun_Corrects(t *testing.T) {
	t.Parallel()
	for what, damage := range damages() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := newCorrectionHarness(t, damage)
			watermark := h.watermark()
			if n := h.rebuild().Comparison.ChangedSystems; n != 1 {
				t.Errorf("changed phone systems = %d, want 1", n)
			}
			h.requireCorrected("rebuilt", watermark, 3)

			// What comes until the watermark has reached the time has it, too, and a replay repeats it.
			stop := h.StartProjector()
			h.PublishStates(projectortest.Call(h.damaged, uuid.New()))
			h.WaitUntilCaughtUp()
			stop()
			h.requireCorrected("continued", watermark, 4)
			h.requireRebuilt()
			h.RequireReplayEquals(h.Database.Projection(t))
		})
	}
}

func TestRepair_Corrects(t *testing.T) {
	t.Parallel()
	h := newCorrectionHarness(t, damages()["value"])
	watermark := h.watermark()
	result, err := rebuild.Repair(t.Context(), h.config(), h.damaged)
	if err != nil {
		t.Fatal(err)
	}
	if n := result.Comparison.ChangedSystems; n != 1 {
		t.Errorf("changed phone systems = %d, want 1", n)
	}
	h.requireCorrected("repaired", watermark, 3)
	h.requireRebuilt()
}

// A rollback shows again what was corrected, and rolling forward shows it corrected.
func TestRollback_Corrects(t *testing.T) {
	t.Parallel()
	h := newCorrectionHarness(t, damages()["missing"])
	h.rebuild()
	for _, served := range []int{2, 3} {
		stop := h.StartProjector()
		h.waitForWatermarks()
		stop()
		watermark := h.watermark()
		h.rollback()
		for id, at := range h.calls(h.damaged) {
			if !at.After(watermark) {
				t.Errorf("%d calls served: call %s changed at %v, want after %v", served, id, at, watermark)
			}
		}
		if n := len(h.calls(h.damaged)); n != served {
			t.Errorf("calls = %d, want %d", n, served)
		}
	}
	h.requireVerified("rolled forward")
}
