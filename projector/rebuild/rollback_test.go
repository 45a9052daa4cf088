package rebuild_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

func TestRollback_BackAndForth(t *testing.T) {
	h := newHarness(t)
	stop := h.StartProjector()
	history := sampleEvents(23, 240)
	third := len(history) / 3
	h.Publish(history[:third]...)
	h.publishPoison()
	h.WaitUntilCaughtUp()
	first := h.rebuild()

	system := uuid.New()
	h.Exec(refuseCalls)
	h.Publish(history[third : 2*third]...)
	h.publishPoison()
	h.Apply(projectortest.PhoneSystem(system), refusedCall(system))
	deadLetters := h.QueryInt("select count(*) from control.dead_letter")
	h.acceptCalls()
	h.RetryDeadLetters()
	h.Apply(projectortest.Call(system, uuid.New()))
	want := h.Database.Projection(t)
	result := h.rollback()
	if result.Generation != first.Replaced || result.Replaced != first.Generation || !result.PreviousKept {
		t.Errorf("generation = %d, replaced = %d, previous kept = %t, want %d, %d, true",
			result.Generation, result.Replaced, result.PreviousKept, first.Replaced, first.Generation)
	}
	h.RequireEqualTables("rolled back", want)
	h.requireCount("dead letters", deadLetters, "select count(*) from control.dead_letter")
	h.requireVerified("rolled back")

	h.Publish(history[2*third:]...)
	h.WaitUntilCaughtUp()
	want = h.Database.Projection(t)
	if got := h.rollback().Generation; got != first.Generation {
		t.Errorf("generation = %d, want %d", got, first.Generation)
	}
	h.RequireEqualTables("rolled forward", want)
	h.Apply(projectortest.PhoneSystem(uuid.New()))
	stop()
	h.requireVerified("rolled forward")
	h.RequireReplayEquals(h.Database.Projection(t))
}

// An open dead letter stays one after a rebuild and after a rollback, although the other generation would accept it:
// its rows would appear behind published watermarks.
func TestRollback_KeepsOpenDeadLetter(t *testing.T) {
	h := newHarness(t)
	h.StartProjector()
	system := uuid.New()
	h.Apply(projectortest.PhoneSystem(system))
	refuse := func() {
		h.Exec(refuseCalls)
		h.Apply(refusedCall(system))
	}
	refuse()
	h.requireRebuilt()
	h.requireOpenDeadLetters(1)
	h.acceptCalls()
	refuse()
	want := h.Database.Projection(t)
	if result := h.rollback(); len(result.Comparison.Unreadable) > 0 {
		t.Errorf("unreadable = %+v, want none: it was a dead letter before", result.Comparison.Unreadable)
	}
	h.RequireEqualTables("rolled back", want)
	h.requireOpenDeadLetters(2)
	h.acceptCalls()
	h.RetryDeadLetters()
	h.requireCalls(2)
	h.requireOpenDeadLetters(0)
	h.requireVerified("retried")
}

func TestRollback_Refused(t *testing.T) {
	h := newStoppedHarness(t, sampleEvents(23, 20))
	noPrevious := func(err error) bool { return errors.Is(err, rebuild.ErrNoPrevious) }
	h.requireErrors(uuid.Nil, noPrevious, "rollback")
	if _, err := rebuild.Run(t.Context(), h.config(), false); err != nil {
		t.Fatal(err)
	}
	h.requireErrors(uuid.Nil, noPrevious, "rollback")
	h.rebuild()
	before := h.Database.Projection(t)
	h.Exec("update control.generation set definition = '\\x00' where state = 'previous'")
	h.requireErrors(uuid.Nil, func(err error) bool { return errors.Is(err, rebuild.ErrOtherDefinition) }, "rollback")
	h.RequireEqualTables("refused rollback", before)
	h.requireNoLeftovers()
}

func TestDrop_Previous(t *testing.T) {
	h := newStoppedHarness(t, sampleEvents(23, 20))
	h.requireDropped(rebuild.Previous)
	h.rebuild()
	reader, err := h.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Exec(t.Context(), "select from generation_1.call_log"); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.requireDropped(rebuild.Previous, 1)
	}()
	eventstest.Eventually(t, "the drop waits for the reader", func() bool { return h.waitsForLock("relname = 'call_log'") })
	if err := reader.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	<-done
	h.requireErrors(uuid.Nil, func(err error) bool { return errors.Is(err, rebuild.ErrNoPrevious) }, "rollback")
}
