package rebuild_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
	"callboard/schema/schematest"
)

// calls are the times at which calls changed, by id.
type calls map[uuid.UUID]time.Time

func (h *harness) calls() calls {
	h.Helper()
	rows, err := h.Pool.Query(h.Context(), "select id, updated_at from projection.call_log")
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

// waitUntilCorrected waits until the watermarks have reached the times of all corrections, and requires that the calls had them before.
func (h *harness) waitUntilCorrected() {
	h.Helper()
	eventstest.Eventually(h, "corrections applied", func() bool {
		early := h.QueryInt(`
			select count(*)
			from control.correction c
			join projection.position p using (partition)
			join projection.call_log l on l.partition = p.partition and l.system_id = c.system_id and l.id = c.call_id
			where p.watermark >= c.clock
			  and l.updated_at < c.clock`)
		if early > 0 {
			h.Fatalf("%d calls have an updatedAt before their correction although the watermark has reached it", early)
		}
		return h.QueryInt(`select count(*) from control.correction c join projection.position p using (partition) where p.watermark < c.clock`) == 0
	})
}

// correctedCall is a call of which a projection serves something wrong.
type correctedCall struct {
	what      string
	damage    string // with the phone system as $1 and the call as $2
	corrected bool
}

// damages are statements that damage different calls.
func damages() []correctedCall {
	return []correctedCall{
		{"none", "select $1::uuid, $2::uuid", false},
		{"value", "update projection.call_log set from_name = 'wrong' where system_id = $1 and id = $2", true},
		{"missing", "delete from projection.call_log where system_id = $1 and id = $2", true},
		{"version", "update projection.call_log set version = version + 1 where system_id = $1 and id = $2", false},
		{"changed later than served", "update projection.call_log set updated_at = updated_at - interval '1 hour' where system_id = $1 and id = $2", true},
		{"changed earlier than served", "update projection.call_log set updated_at = updated_at + interval '1 millisecond' where system_id = $1 and id = $2", true},
		{"transcript", "delete from projection.transcript where system_id = $1 and owner_id = $2", true},
		{"text", "update projection.transcript_text set text = 'wrong' where system_id = $1 and owner_id = $2", true},
		{"extension", "delete from projection.extension where system_id = $1 and id = (select answered_by_extension_id from projection.call_log where id = $2)", true},
	}
}

// correctionHarness has a phone system with a call for each damage. The projector runs.
type correctionHarness struct {
	*harness
	stop   func()
	system uuid.UUID
	ids    []uuid.UUID // by damage
	before calls
}

func newCorrectionHarness(t *testing.T) *correctionHarness {
	t.Helper()
	h := &correctionHarness{harness: newHarness(t), system: uuid.New()}
	h.stop = h.StartProjector()
	states := []events.State{projectortest.PhoneSystem(h.system)}
	for range damages() {
		call := projectortest.Call(h.system, uuid.New())
		call.AnsweredByExtensionID = events.Some(uuid.New())
		states = append(states,
			&events.Extension{
				ID: call.AnsweredByExtensionID.Value, PhoneSystemID: h.system, Version: 1, Number: "101", Name: "Front desk", Status: "active",
				CreatedAt: call.CreatedAt, UpdatedAt: call.CreatedAt, AssignedPhoneIDs: []uuid.UUID{},
			},
			call,
			&events.Transcript{
				PhoneSystemID: h.system, CallID: events.Some(call.ID), Version: 1, Status: events.TranscriptCompleted, Text: events.Some("Hello."),
				Turns: []events.Turn{},
			})
		h.ids = append(h.ids, call.ID)
	}
	h.PublishStates(states...)
	h.WaitUntilCaughtUp()
	h.before = h.calls()
	return h
}

// watermark returns that of the phone system's partition.
func (h *correctionHarness) watermark() time.Time {
	h.Helper()
	partition := events.Partition(h.system, h.Partitions)
	return schematest.QueryOne[time.Time](h, h.Pool, "select watermark from projection.position where partition = $1", partition)
}

// damage damages all calls, while no projector runs.
func (h *correctionHarness) damage() {
	h.Helper()
	h.stop()
	for i, d := range damages() {
		h.Exec(d.damage, h.system, h.ids[i])
	}
}

// requireCorrected requires that the calls which showed something wrong changed after a watermark, and no others.
func (h *correctionHarness) requireCorrected(when string, watermark time.Time) {
	h.Helper()
	h.stop = h.StartProjector()
	h.waitUntilCorrected()
	now := h.calls()
	for i, d := range damages() {
		got, before := now[h.ids[i]], h.before[h.ids[i]]
		if moved := got.After(watermark); moved != d.corrected || !moved && !got.Equal(before) {
			h.Errorf("%s, %s: updatedAt %v, before %v, watermark %v: later = %t, want %t", when, d.what, got, before, watermark, moved, d.corrected)
		}
	}
	h.before = now
	h.requireVerified(when)
}

func (h *correctionHarness) wantChanged() (calls int64) {
	for _, d := range damages() {
		if d.corrected {
			calls++
		}
	}
	return calls
}

func TestRun_Corrects(t *testing.T) {
	t.Parallel()
	h := newCorrectionHarness(t)
	h.damage()
	watermark := h.watermark()
	found := h.verify()
	if found.ChangedCalls != h.wantChanged() || found.ChangedCallSystems != 1 {
		t.Errorf("verify: changed calls = %d of %d phone systems, want %d of 1", found.ChangedCalls, found.ChangedCallSystems, h.wantChanged())
	}
	if got := h.rebuild().Comparison.ChangedCalls; got != h.wantChanged() {
		t.Errorf("rebuild: changed calls = %d, want %d", got, h.wantChanged())
	}
	h.requireCorrected("rebuilt", watermark)
	h.stop()
	h.requireRebuilt()
	h.RequireReplayEquals(h.Database.Projection(t))
	h.requireVerified("rebuilt twice")
}

func TestRepair_Corrects(t *testing.T) {
	schematest.NeedOneServer(t, "it changes a time by a function")
	t.Parallel()
	h := newCorrectionHarness(t)
	h.damage()
	watermark := h.watermark()
	result, err := rebuild.Repair(t.Context(), h.config(), h.system, 0)
	if err != nil {
		t.Fatal(err)
	}
	if result.ChangedCalls != h.wantChanged() {
		t.Errorf("changed calls = %d, want %d", result.ChangedCalls, h.wantChanged())
	}
	h.requireCorrected("repaired", watermark)
	h.stop()
	h.requireRebuilt()
}

func TestRun_CorrectsAllOfSystem(t *testing.T) {
	t.Parallel()
	h := newCorrectionHarness(t)
	h.damage()
	watermark := h.watermark()
	h.rebuild(func(c *rebuild.Config) { c.NamedCalls = 2 })
	h.stop = h.StartProjector()
	h.waitUntilCorrected()
	for id, at := range h.calls() {
		if !at.After(watermark) {
			t.Errorf("call %s: updatedAt %v, watermark %v, want later", id, at, watermark)
		}
	}
	h.stop()
	h.requireRebuilt()
}

func TestRun_NoAnnounce(t *testing.T) {
	t.Parallel()
	h := newCorrectionHarness(t)
	h.damage()
	h.rebuild(func(c *rebuild.Config) { c.NoAnnounce = true })
	if got, want := fmt.Sprint(h.calls()), fmt.Sprint(h.before); got != want {
		t.Errorf("calls changed at %s, want %s", got, want)
	}
	h.requireCount("corrections", 0, "select count(*) from control.correction")
}

// A rollback shows again what was corrected, and rolling forward shows it corrected.
func TestRollback_Corrects(t *testing.T) {
	schematest.NeedOneServer(t, "it changes a time by a function")
	t.Parallel()
	h := newCorrectionHarness(t)
	h.damage()
	h.rebuild()
	h.stop = h.StartProjector()
	h.waitUntilCorrected()
	for _, when := range []string{"rolled back", "rolled forward"} {
		h.stop()
		before, watermark := h.calls(), h.watermark()
		h.rollback()
		h.stop = h.StartProjector()
		h.waitUntilCorrected()
		now := h.calls()
		for i, d := range damages() {
			if d.what == "missing" && when == "rolled back" {
				continue // the call is not there
			}
			if id := h.ids[i]; now[id].After(watermark) != d.corrected {
				t.Errorf("%s, %s: updatedAt %v, before %v, watermark %v", when, d.what, now[id], before[id], watermark)
			}
		}
	}
	h.stop()
	h.requireVerified("rolled forward")
}

// Before the watermark reaches a correction, calls may have its time already, and no other one.
func TestVerify_PendingCorrection(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(17, 20))
	const call = "(system_id, id) = (select system_id, id from projection.call_log order by system_id, id limit 1)"
	h.Exec(`
		insert into control.correction (stream, stream_created, partition, system_id, call_id, since, clock)
		select p.stream, p.stream_created, p.partition, l.system_id, l.id, to_timestamp(0), p.watermark + interval '2 ms'
		from projection.call_log l
		join projection.position p using (partition)
		where ` + call)
	h.requireVerified("before the correction")
	h.Exec("update projection.call_log set updated_at = (select clock from control.correction) where " + call)
	h.requireVerified("corrected")
	h.Exec("update projection.call_log set updated_at = updated_at + interval '1 ms' where " + call)
	if changes := h.verify().Changes; len(changes) != 1 || changes[0].Column != "updated_at" || changes[0].Rows != 1 {
		t.Errorf("changes = %+v, want one call with another time", changes)
	}
}
