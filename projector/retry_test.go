package projector_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/projectortest"
)

// checkOpen checks the number of open dead letters.
func (h *harness) checkOpen(want int64) {
	h.Helper()
	if got := h.QueryInt("select count(*) from control.dead_letter where resolution is null"); got != want {
		h.Fatalf("open dead letters = %d, want %d", got, want)
	}
}

// checkMessageCounts checks that every message of the stream was counted, with one outcome.
func (h *harness) checkMessageCounts() {
	h.Helper()
	if n := h.QueryInt("select count(*) from projection.message_count where read <> applied + stale + ignored + dead"); n != 0 {
		h.Errorf("message counts that don't add up = %d, want 0", n)
	}
	info, err := h.Stream.Info(h.Context(), jetstream.WithSubjectFilter(events.ClockSubject))
	if err != nil {
		h.Fatal(err)
	}
	want := int64(info.State.Msgs - info.State.Subjects[events.ClockSubject])
	if got := h.QueryInt("select sum(read)::bigint from projection.message_count"); got != want {
		h.Errorf("messages read = %d, want %d", got, want)
	}
}

// A retry is applied at the clock of the message that repeats the event, after other events, and a replay does the
// same.
func TestProjector_RetriesDeadLetters(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.Exec("alter table projection.call_log add constraint refuse check (call_sid <> 'CArefused')")
	stop := h.StartProjector()
	system := uuid.New()
	refused, good := projectortest.Call(system, uuid.New()), projectortest.Call(system, uuid.New())
	refused.CallSid = "CArefused"
	h.PublishStates(projectortest.PhoneSystem(system), refused, good)
	h.WaitUntilCaughtUp()
	h.PublishRaw(events.Subject(system, events.EntityCall), nil, "{}")
	h.WaitUntilCaughtUp()
	h.checkOpen(2)
	h.RetryDeadLetters()
	h.checkOpen(2)
	h.Exec("alter table projection.call_log drop constraint refuse")
	before := h.QueryInt("select (extract(epoch from watermark) * 1000)::bigint from projection.position where partition = $1",
		events.Partition(system, projectortest.Partitions))
	h.RetryDeadLetters()
	h.checkOpen(1)
	at := h.QueryInt("select (extract(epoch from updated_at) * 1000)::bigint from projection.call_log where id = $1", refused.ID)
	if at < before {
		t.Errorf("updated_at = %d, want at least the published watermark, %d", at, before)
	}
	late := projectortest.Call(system, refused.ID)
	late.Version, late.CallSid = 2, "CAlate"
	h.PublishStates(late)
	h.WaitUntilCaughtUp()
	h.checkMessageCounts()
	// Two messages and three retries of them failed: twice the invalid one, once the refused one.
	if n := h.QueryInt("select applied from projection.message_count where entity = 'call' and dead = 5"); n != 3 {
		t.Errorf("applied calls = %d, want 3", n)
	}
	stop()
	h.RequireReplayEquals(h.Database.Projection(t))
}
