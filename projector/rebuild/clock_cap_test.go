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

func (h *harness) requireCaps() {
	h.Helper()
	if n := h.QueryInt("select count(*) from control.clock_cap"); n == 0 {
		h.Error("clock caps on record = 0, want some")
	}
}

// What was capped is repeated by a verification, a repair and a rebuild: at the beginning of the stream, and between messages that were not.
func TestClockCaps_Repeated(t *testing.T) {
	t.Parallel()
	for name, behind := range map[string][]time.Duration{"from the first message on": {day, day, 0}, "once": {0, day, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, clock := newHarness(t), new(projectortest.Clock)
			history := sampleEvents(17, 90)
			for i, by := range behind {
				clock.Move(-by)
				stop := h.StartProjector(clock.Option, func(c *projector.Config) { c.BatchSize = 20 })
				h.Publish(history[len(history)*i/3 : len(history)*(i+1)/3]...)
				h.WaitUntilCaughtUp()
				stop()
			}
			h.requireCaps()
			h.requireVerified("after a jump")
			want := h.Database.Projection(t)
			for _, system := range systemsOf(history)[:2] {
				if _, err := rebuild.Repair(t.Context(), h.config(), system); err != nil {
					t.Fatal(err)
				}
			}
			h.RequireEqualTables("after repairs", want)
			h.requireRebuilt()
			h.requireRebuilt(smallBatches)
			h.requireVerified("after a rebuild")
		})
	}
}

// While messages are capped without an end, verifications and the follow of a rebuild read caps that are decided meanwhile.
func TestClockCaps_DecidedMeanwhile(t *testing.T) {
	t.Parallel()
	h, clock := newHarness(t), new(projectortest.Clock)
	clock.Move(-day)
	h.StartProjector(clock.Option)
	h.Publish(sampleEvents(31, 50)...)
	h.WaitUntilCaughtUp()
	stop := h.startLoad(100)
	for range 3 {
		h.requireVerified("while messages are capped")
	}
	if result := h.rebuild(); result.Comparison.Differs() {
		t.Errorf("comparison = %+v, want no difference", result.Comparison)
	}
	clock.Move(0)
	h.rollback()
	stop()
	h.WaitUntilCaughtUp()
	h.requireCaps()
	h.requireVerified("afterwards")
}

// New messages with the sequences of lost ones are not capped as those were.
func TestRun_DropsTheCapsOfLostMessages(t *testing.T) {
	t.Parallel()
	h, clock := newHarness(t), new(projectortest.Clock)
	clock.Move(-day)
	stop := h.StartProjector(clock.Option)
	h.Publish(sampleEvents(5, 60)...)
	h.WaitUntilCaughtUp()
	stop()
	before := h.QueryInt("select count(*) from control.clock_cap")
	h.Exec(`
		insert into control.clock_cap (stream, partition, first_sequence, last_sequence, last_stored_at, clock, messages)
		select stream, partition, sequence + 1, sequence + 10, now() + interval '1 day', to_timestamp(1), 1
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
	h.requireCount("clock caps", before, "select count(*) from control.clock_cap")
	h.requireVerified("rebuilt")
}

// A database that lost its caps gets others. They are what is repeated from then on.
func TestClockCaps_DecidedAgain(t *testing.T) {
	t.Parallel()
	h, clock := newHarness(t), new(projectortest.Clock)
	clock.Move(-day)
	stop := h.StartProjector(clock.Option)
	h.Publish(sampleEvents(41, 60)...)
	h.WaitUntilCaughtUp()
	stop()
	h.Exec("create table before as select partition, system_id, id, updated_at from projection.call_log")
	h.Database.ClearProjection(t)
	h.Exec("delete from control.clock_cap; delete from control.clock_adjustment; delete from control.dead_letter")
	clock.Move(-day / 2)
	stop = h.StartProjector(clock.Option)
	h.WaitUntilCaughtUp()
	stop()
	h.requireCaps()
	h.requireCount("calls with an earlier time", 0, `
		select count(*) from before b left join projection.call_log c using (partition, system_id, id)
		where c.id is null or c.updated_at < b.updated_at`)
	h.requireVerified("decided again")
	h.requireRebuilt()
}
