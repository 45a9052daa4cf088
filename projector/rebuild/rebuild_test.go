package rebuild_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

func TestRun_GivesSameRowsAndProjectorContinues(t *testing.T) {
	t.Parallel()
	history := sampleEvents(7, 300)
	half := len(history) / 2
	h, _ := newAppliedHarness(t, history[:half])
	h.publishPoison()
	h.WaitUntilCaughtUp()
	if got, want := h.requireRebuilt().Messages, int64(half+2); got != want {
		t.Errorf("messages = %d, want %d", got, want)
	}
	h.Publish(history[half:]...)
	h.WaitUntilCaughtUp()
	h.requireCount("generations", 2, "select count(*) from control.generation where state in ('live', 'previous')")
	// With other batches, the rows are the same.
	h.requireRebuilt(func(c *rebuild.Config) { c.Batch, c.Workers = 7, 5 })
}

func TestRun_OtherOperationsAreRefusedMeanwhile(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(11, 20))
	busy := func(err error) bool { return errors.Is(err, rebuild.ErrBusy) }
	h.rebuild(onStep(rebuild.StepPlan, func() {
		var others sync.WaitGroup
		for _, operation := range []string{"rebuild", "verify", "repair", "rollback"} {
			others.Go(func() { h.requireErrors(uuid.New(), busy, operation) })
		}
		others.Wait()
	}))
}

// A partition that no projector has claimed is built up to the stream's end.
func TestRun_UnclaimedPartitions(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	history := sampleEvents(13, 80)
	h.Publish(history[:len(history)/2]...)
	h.publishPoison()
	h.requireVerified("nothing claimed, nothing served")
	h.rebuild()
	stop := h.StartProjector()
	h.Publish(history[len(history)/2:]...)
	h.WaitUntilCaughtUp()
	stop()
	h.requireVerified("continued by a projector")
	h.RequireReplayEquals(h.Database.Projection(t))
}

// A projector that claims a partition while it is built is behind the new generation at the switch. It must count
// no message twice.
func TestRun_PartitionsClaimedMeanwhile(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.Publish(sampleEvents(13, 100)...)
	h.publishPoison()
	h.rebuild(onStep(rebuild.StepIndex, func() {
		_, err := h.Pool.Exec(t.Context(), `
			insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
			select p, $1, 0, 1, to_timestamp(0), to_timestamp(0)
			from generate_series(0, $2 - 1) p`, h.StreamID(), h.Partitions)
		if err != nil {
			t.Error(err)
		}
	}))
	stop := h.StartProjector()
	h.WaitUntilCaughtUp()
	stop()
	h.requireVerified("claimed meanwhile")
	h.RequireReplayEquals(h.Database.Projection(t))
}

func TestRun_EmptyStream(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.requireVerified("empty, unclaimed")
	h.rebuild()
	h.StartProjector()
	eventstest.Eventually(t, "a watermark of every partition", func() bool {
		return h.QueryInt("select count(*) from projection.position where watermark > to_timestamp(0)") == int64(h.Partitions)
	})
	h.requireVerified("empty, claimed")
	h.rebuild()
	h.PublishStates(projectortest.PhoneSystem(uuid.New()))
	h.WaitUntilCaughtUp()
	h.requireCount("phone systems", 1, "select count(*) from projection.phone_system")
}
