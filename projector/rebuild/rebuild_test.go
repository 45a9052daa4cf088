package rebuild_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"

	"callboard/projector/rebuild"
)

func TestRun_GivesSameRowsAndProjectorContinues(t *testing.T) {
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

// Partitions that no projector has claimed are built up to the stream's end, also if the stream is empty.
func TestRun_UnclaimedPartitions(t *testing.T) {
	t.Parallel()
	history := sampleEvents(13, 80)
	for name, published := range map[string]int{"empty": 0, "with messages": len(history) / 2} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			if published > 0 {
				h.Publish(history[:published]...)
				h.publishPoison()
			}
			h.requireVerified("nothing claimed, nothing served")
			h.rebuild()
			stop := h.StartProjector()
			h.waitForWatermarks()
			h.requireRebuilt()
			h.Publish(history[published:]...)
			h.WaitUntilCaughtUp()
			stop()
			h.requireVerified("continued by a projector")
			h.RequireReplayEquals(h.Database.Projection(t))
		})
	}
}

// A projector that claims a partition while it is built is behind the new generation at the switch. It must count
// no message twice.
func TestRun_PartitionsClaimedMeanwhile(t *testing.T) {
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
