package projector_test

import (
	"syscall"
	"testing"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/projectortest"
)

// A frozen owner loses its partitions to a standby, and changes nothing once it continues.
func TestProjector_TakesOverFromAFrozenOwner(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	frozen := h.spawn()
	system := uuid.New()
	h.PublishStates(projectortest.PhoneSystem(system), projectortest.Call(system, uuid.New()))
	h.WaitUntilCaughtUp()
	log := new(eventstest.LogBuffer)
	stop := h.StartProjector(func(c *projector.Config) {
		c.OwnerChecks = 2000 // on a busy machine, the owner may respond slowly
		projectortest.LogTo(log)(c)
	})
	h.publishCall(system)
	if log.Contains("terminated unresponsive projector") {
		t.Fatal("an owner that responds was terminated")
	}
	stop()
	before := h.epochs()
	if err := frozen.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	h.StartProjector(func(c *projector.Config) {
		c.OwnerChecks = 40
		projectortest.LogTo(log)(c)
	})
	h.publishCall(system)
	eventstest.Eventually(t, "the termination in the log", func() bool { return log.Contains("terminated unresponsive projector") })
	if !log.Contains(`"pid":`) || !log.Contains(`"application_name":`) {
		t.Error("the log names no pid or application name")
	}
	if now := h.epochs(); now <= before {
		t.Errorf("epochs = %d, want more than %d", now, before)
	}
	if err := frozen.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	h.publishCall(system)
	h.checkCalls(4)
	h.checkMessageCounts()
	want := h.Database.Projection(t)
	eventstest.KillChild(t, frozen)
	h.RequireEqualTables("tables after the owner's end", want)
}
