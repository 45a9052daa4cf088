package rebuild_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/projector"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

const day = 24 * time.Hour

// What was capped is repeated by a verification, a repair and a rebuild: at the beginning of the stream, and between
// messages that were not.
func TestClockCaps_Repeated(t *testing.T) {
	h, clock := newHarness(t), new(projectortest.Clock)
	history := sampleEvents(17, 90)
	for i, behind := range []time.Duration{day, day, 0, day, 0} {
		clock.Move(-behind)
		stop := h.StartProjector(clock.Option, func(c *projector.Config) { c.BatchSize = 20 })
		h.Publish(history[len(history)*i/5 : len(history)*(i+1)/5]...)
		h.WaitUntilCaughtUp()
		stop()
	}
	if n := h.QueryInt("select count(*) from control.clock_adjustment where capped"); n == 0 {
		t.Error("clock caps on record = 0, want some")
	}
	h.requireVerified("after a jump")
	want := h.Database.Projection(t)
	if _, err := rebuild.Repair(t.Context(), h.config(), systemsOf(history)[0]); err != nil {
		t.Fatal(err)
	}
	h.RequireEqualTables("repaired", want)
	h.requireRebuilt(smallBatches)
}

// New messages with the sequences of lost ones are not capped as those were.
func TestRun_DropsTheCapsOfLostMessages(t *testing.T) {
	h, clock := newHarness(t), new(projectortest.Clock)
	clock.Move(-day)
	stop := h.StartProjector(clock.Option)
	h.Publish(sampleEvents(5, 60)...)
	h.WaitUntilCaughtUp()
	stop()
	before := h.QueryInt("select count(*) from control.clock_adjustment where capped")
	h.Exec(`
		insert into control.clock_adjustment (stream, partition, capped, first_sequence, last_sequence, last_stored_at, clock, messages)
		select stream, partition, true, sequence + 1, sequence + 10, now() + interval '1 day', to_timestamp(1), 1
		from projection.position`)
	h.loseMessages("projection")
	system, published := uuid.New(), time.Now().Add(-time.Second)
	for range 20 {
		h.PublishStates(projectortest.Call(system, uuid.New()))
	}
	h.rebuild()
	h.StartProjector()
	h.WaitUntilCaughtUp()
	const atTheirTimes = "select count(*) from projection.call_log where system_id = $1 and updated_at > $2"
	h.requireCount("calls at their times", 20, atTheirTimes, system, published)
	h.requireCount("clock caps", before, "select count(*) from control.clock_adjustment where capped")
	h.requireVerified("rebuilt")
}
