package projector_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/projector"
)

// An owner that is frozen loses its partitions to one that stands by, in the middle of a transaction too, and does no harm once it
// thaws.
func TestProjector_TakesOverFromAFrozenOne(t *testing.T) {
	s := newStage(t)
	frozen := s.spawn()
	system := uuid.New()
	s.publish(phoneSystem(system), call(system, uuid.New()))
	s.caughtUp()
	log := newLog()
	s.start(func(c *projector.Config) {
		c.Silence = 2 * time.Second
		c.Log = log.logger()
	})
	s.publish(call(system, uuid.New()))
	s.caughtUp()
	if log.has("a silent owner was ended") {
		t.Fatal("an owner that works was ended")
	}
	before := s.number("select sum(epoch) from projection.position")
	if err := frozen.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.publish(call(system, uuid.New()))
	s.caughtUp()
	await(t, "it says so", func() bool { return log.has("a silent owner was ended") })
	if now := s.number("select sum(epoch) from projection.position"); now <= before {
		t.Errorf("epochs %d, before %d", now, before)
	}
	if err := frozen.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.publish(call(system, uuid.New()))
	s.caughtUp()
	if n := s.number("select count(*) from projection.call_log"); n != 4 {
		t.Errorf("%d rows, want 4", n)
	}
	s.balanced()
	kept := s.database.Projection(t)
	if err := frozen.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = frozen.Wait() // "signal: killed" is what was asked for
	s.mustEqual("after its end", kept)
}
