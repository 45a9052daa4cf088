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
	s.Change(projectortest.PhoneSystem(system), projectortest.Call(system, uuid.New()))
	s.CaughtUp()
	log := new(projectortest.Log)
	patient := s.Start(log.Instead)
	s.Change(projectortest.Call(system, uuid.New()))
	s.CaughtUp()
	if log.Has("a silent owner was ended") {
		t.Fatal("an owner that works was ended")
	}
	patient()
	before := s.Number("select sum(epoch) from projection.position")
	if err := frozen.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.Start(func(c *projector.Config) {
		c.Silence = 2 * time.Second
		log.Instead(c)
	})
	s.Change(projectortest.Call(system, uuid.New()))
	s.CaughtUp()
	eventstest.Eventually(t, "it says so", func() bool { return log.Has("a silent owner was ended") })
	if now := s.Number("select sum(epoch) from projection.position"); now <= before {
		t.Errorf("epochs %d, before %d", now, before)
	}
	if err := frozen.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.Change(projectortest.Call(system, uuid.New()))
	s.CaughtUp()
	if n := s.Number("select count(*) from projection.call_log"); n != 4 {
		t.Errorf("%d rows, want 4", n)
	}
	s.balanced()
	kept := s.Database.Projection(t)
	if err := frozen.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = frozen.Wait() // "signal: killed" is what was asked for
	s.MustEqual("after its end", kept)
}
