package projector_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/projectortest"
)

// An owner that is frozen loses its projectortest.Partitions to one that stands by, in the middle of a transaction too, and does no harm once it
// thaws.
func TestProjector_TakesOverFromAFrozenOne(t *testing.T) {
	s := newStage(t)
	frozen := s.spawn()
	system := uuid.New()
	s.PublishStates(projectortest.PhoneSystem(system), projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	log := new(eventstest.LogBuffer)
	patient := s.StartProjector(projectortest.LogTo(log))
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	if log.Contains("terminated unresponsive projector") {
		t.Fatal("an owner that works was ended")
	}
	patient()
	before := s.QueryInt("select sum(epoch) from projection.position")
	if err := frozen.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.StartProjector(func(c *projector.Config) {
		c.OwnerTimeout = 2 * time.Second
		projectortest.LogTo(log)(c)
	})
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	eventstest.Eventually(t, "it says so", func() bool { return log.Contains("terminated unresponsive projector") })
	if now := s.QueryInt("select sum(epoch) from projection.position"); now <= before {
		t.Errorf("epochs %d, before %d", now, before)
	}
	if err := frozen.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	if n := s.QueryInt("select count(*) from projection.call_log"); n != 4 {
		t.Errorf("%d rows, want 4", n)
	}
	s.balanced()
	kept := s.Database.Projection(t)
	if err := frozen.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = frozen.Wait() // "signal: killed" is what was asked for
	s.RequireEqualTables("after its end", kept)
}
