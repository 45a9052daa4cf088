package projector_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/projectortest"
)

// open is how many dead letters are neither resolved nor dropped.
func (s *stage) open() int64 {
	s.TB.Helper()
	return s.QueryInt("select count(*) from control.dead_letter where resolution is null")
}

// balanced holds the ledger against the stream: nothing was read that isn't accounted for, and nothing was not read.
func (s *stage) balanced() {
	s.TB.Helper()
	if n := s.QueryInt("select count(*) from projection.message_count where read <> applied + stale + ignored + dead"); n != 0 {
		s.TB.Errorf("%d lines of the ledger don't add up", n)
	}
	info, err := s.Stream.Info(s.TB.Context())
	if err != nil {
		s.TB.Fatal(err)
	}
	if n := s.QueryInt("select sum(read)::bigint from projection.message_count"); n != int64(info.State.Msgs) {
		s.TB.Errorf("%d messages read of %d", n, info.State.Msgs)
	}
}

// A dead letter that is tried again behind other events is applied at the clock of then, and every replay does the same.
func TestProjector_RetriesADeadLetter(t *testing.T) {
	s := newStage(t)
	s.Exec("alter table projection.call_log add constraint picky check (call_sid <> 'CArefused')")
	stop := s.StartProjector()
	system := uuid.New()
	refused, good := projectortest.Call(system, uuid.New()), projectortest.Call(system, uuid.New())
	refused.CallSid = "CArefused"
	s.PublishStates(projectortest.PhoneSystem(system), refused, good)
	s.WaitUntilCaughtUp()
	s.PublishRaw(events.Subject(system, events.EntityCall), nil, "{}")
	s.WaitUntilCaughtUp()
	if n := s.open(); n != 2 {
		t.Fatalf("%d dead letters, want 2", n)
	}
	s.Exec("update control.dead_letter set retry_requested_at = now()")
	eventstest.Eventually(t, "both were tried in vain", func() bool {
		return s.QueryInt("select count(*) from control.dead_letter where retry_requested_at is not null") == 0
	})
	if n := s.open(); n != 2 {
		t.Fatalf("%d dead letters after the vain try, want 2", n)
	}
	s.Exec("alter table projection.call_log drop constraint picky")
	before := s.QueryInt("select (extract(epoch from watermark) * 1000)::bigint from projection.position where partition = $1",
		events.Partition(system, projectortest.Partitions))
	s.Exec("update control.dead_letter set retry_requested_at = now()")
	eventstest.Eventually(t, "the one is applied", func() bool { return s.open() == 1 })
	at := s.QueryInt("select (extract(epoch from updated_at) * 1000)::bigint from projection.call_log where id = $1", refused.ID)
	if at < before {
		t.Errorf("the row's time %d is behind a watermark already published, %d", at, before)
	}
	late := projectortest.Call(system, refused.ID)
	late.Version, late.CallSid = 2, "CAlate"
	s.PublishStates(late)
	s.WaitUntilCaughtUp()
	s.balanced()
	if n := s.QueryInt("select applied from projection.message_count where entity = 'call' and dead = 1"); n != 3 {
		t.Errorf("%d calls applied, want 3", n)
	}
	stop()

	kept := s.Database.Projection(t)
	s.Database.TruncateProjection(t)
	s.StartProjector()
	s.WaitUntilCaughtUp()
	s.RequireEqualTables("replayed", kept)
}

// What was a dead letter stays one in a replay, although it could be read now: the rows are those of the first time.
func TestProjector_ReplaysADeadLetterAsOne(t *testing.T) {
	s := newStage(t)
	s.Exec("alter table projection.call_log add constraint picky check (call_sid <> 'CArefused')")
	stop := s.StartProjector()
	refused := projectortest.Call(uuid.New(), uuid.New())
	refused.CallSid = "CArefused"
	s.PublishStates(refused)
	s.WaitUntilCaughtUp()
	stop()
	s.Exec("alter table projection.call_log drop constraint picky")
	kept := s.Database.Projection(t)
	s.Database.TruncateProjection(t)
	s.StartProjector()
	s.WaitUntilCaughtUp()
	s.RequireEqualTables("replayed", kept)
	s.balanced()
	if !strings.Contains(strings.Join(kept["message_count"], ""), "call,1,0,0,0,1") {
		t.Errorf("message counts %v", kept["message_count"])
	}
}

// A try in vain leaves nothing for a replay to find, so it moves no clock either.
func TestProjector_RetriesInVain(t *testing.T) {
	s := newStage(t)
	stop := s.StartProjector()
	system := uuid.New()
	s.PublishRaw(events.Subject(system, events.EntityCall), nil, "{}")
	s.WaitUntilCaughtUp()
	stop()
	// Everything that comes until then is behind a watermark: its clock is lifted by its own message, or not at all.
	s.Exec("update projection.position set watermark = now() + interval '1 second'")
	s.Exec("update control.dead_letter set retry_requested_at = now()")
	stop = s.StartProjector()
	eventstest.Eventually(t, "it was tried in vain", func() bool {
		return s.QueryInt("select count(*) from control.dead_letter where retry_requested_at is not null") == 0
	})
	s.PublishStates(projectortest.PhoneSystem(system), projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	stop()
	kept := s.Database.Projection(t)
	s.Database.TruncateProjection(t)
	s.StartProjector()
	s.WaitUntilCaughtUp()
	s.RequireEqualTables("replayed", kept)
}
