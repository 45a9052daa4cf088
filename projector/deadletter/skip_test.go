package deadletter_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/deadletter"
	"callboard/projector/projectortest"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

// A partition stops at a message that PostgreSQL refuses for another reason than its data. Skipped, it is a dead
// letter: for a projector that fails at the message, for a replay that could apply it, and until a retry applies
// it.
func TestSkip(t *testing.T) {
	schematest.NeedOneServer(t, "distributed tables have no triggers")
	h := newHarness(t)
	h.Exec(`
		create function public.refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
		create trigger refuse before insert on projection.call_log for each row when (new.call_sid like 'CArefused%')
		execute function public.refuse()`)
	const partition = 1
	system := h.NewSystemIn(partition)
	publish := func(sid string) {
		call := projectortest.Call(system, uuid.New())
		call.CallSid = sid
		h.PublishStates(call)
	}
	calls := func() int64 { return h.QueryInt("select count(*) from projection.call_log") }
	publish("CA1")
	publish("CArefused1")
	publish("CA2")
	stop := h.startProjector()
	eventstest.Eventually(t, "the call before the refused one", func() bool { return calls() == 1 })

	skipped, err := deadletter.Skip(t.Context(), h.operator, h.JetStream, events.StreamName, partition)
	if err != nil {
		t.Fatal(err)
	}
	if skipped.Sequence != 2 || skipped.Partition != partition || skipped.EventID == "" {
		t.Errorf("skipped = %+v, want message 2 of partition %d with its ce-id", skipped, partition)
	}
	eventstest.Eventually(t, "the call behind the refused one", func() bool { return calls() == 2 })
	if d := h.find(skipped.ID); d.State != deadletter.Open || d.Reason != "skipped by an operator" || len(d.Data) == 0 || d.Sequence != 2 {
		t.Errorf("dead letter = %+v, want message 2, open, with its data", d)
	}
	h.WaitUntilCaughtUp()
	stop()

	// Nothing is in the way of the message any more.
	h.Exec("drop function public.refuse() cascade")
	h.RequireReplayEquals(h.Database.Projection(t))
	h.startProjector()
	if got := h.retry(deadletter.Selection{})[skipped.ID]; got.State != deadletter.Applied {
		t.Errorf("retry = %+v, want it applied", got)
	}
	if got := calls(); got != 3 {
		t.Errorf("calls = %d, want 3", got)
	}
}

func TestSkip_NothingToSkip(t *testing.T) {
	h := newHarness(t)
	stop := h.startProjector()
	h.Apply(projectortest.PhoneSystem(h.NewSystemIn(1)))
	stop()
	for _, partition := range []int{0, 1, 2} {
		_, err := deadletter.Skip(t.Context(), h.operator, h.JetStream, events.StreamName, partition)
		var none *deadletter.NotSkippedError
		if !errors.As(err, &none) || none.Partition != partition {
			t.Errorf("partition %d: error = %v, want a NotSkippedError", partition, err)
		}
	}
}

// A projector that has taken the message before it was skipped can't commit it.
func TestSkip_FencesProjectors(t *testing.T) {
	h := newHarness(t)
	s := store.New(h.Database.ProjectorPool(t))
	position, err := s.Claim(t.Context(), h.StreamID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	h.publishInvalid(h.NewSystemIn(0))
	if _, err := deadletter.Skip(t.Context(), h.operator, h.JetStream, events.StreamName, 0); err != nil {
		t.Fatal(err)
	}
	behind := position
	behind.Sequence++
	if err := s.Advance(t.Context(), position, behind); !errors.Is(err, store.ErrFenced) {
		t.Errorf("Advance = %v, want %v", err, store.ErrFenced)
	}
}
