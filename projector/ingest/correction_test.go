package ingest_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

// Calls are corrected before the watermark reaches the time of the correction, and not before: here by the batch that takes it there, of which one
// event is about a corrected call.
func TestApplier_Corrects(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	system := uuid.New()
	c := call(system, "CA1")
	e.publish(c)
	e.apply()
	e.exec(`insert into projection.call_log
		select (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid()))).* from projection.call_log as c, generate_series(1, 10000)`)
	e.publish(call(uuid.New(), "CA2"))
	e.apply()
	const corrected = "select count(*) from call_log where call_sid = 'CA1' and updated_at = to_timestamp($1::bigint / 1000.0)"
	at := e.applier.Position.Clock.Watermark + 1
	e.applier.Reader.Decisions.Corrections = fold.Corrections{{System: system, At: at}, {System: system, At: at + events.Time(time.Hour.Milliseconds())}}
	check(t, "corrected before", e.queryInt(corrected, int64(at)), 0)

	restated := *c
	restated.Version = 2
	e.publish(&restated, call(uuid.New(), "CA3"))
	e.apply()
	check(t, "corrected calls", e.queryInt(corrected, int64(at)), 10_001)
	check(t, "corrections that are left", int64(len(e.applier.Reader.Decisions.Corrections)), 1)
	check(t, "version of the call of the batch", e.queryInt("select max(version) from call_log where call_sid = 'CA1'"), 2)
}

// A watermark that moves without events, too.
func TestApplier_AdvanceCorrects(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	c := call(uuid.New(), "CA1")
	e.publish(c)
	e.apply()
	to := e.applier.Position
	at := to.Clock.Watermark + 1
	e.applier.Reader.Decisions.Corrections = fold.Corrections{{System: c.PhoneSystemID, Call: c.ID, At: at}}
	if e.applier.Corrects(to) {
		t.Error("a position before the correction corrects")
	}
	to.Clock.Watermark = at
	if err := e.applier.Advance(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	check(t, "updatedAt", e.queryInt("select (extract(epoch from updated_at) * 1000)::bigint from call_log"), int64(at))
}
