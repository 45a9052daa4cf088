package rebuild_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

// spoken is a call's transcript that travels as a claim check when s.claims publishes it.
func spoken(c *events.Call) *events.Transcript {
	return &events.Transcript{
		PhoneSystemID: c.PhoneSystemID, CallID: events.Null[uuid.UUID]{Value: c.ID, Valid: true}, Version: 1,
		Status: events.TranscriptCompleted, Text: events.Null[string]{Value: strings.Repeat("Hello? ", 400), Valid: true},
	}
}

// claims publishes transcripts as claim checks.
func (s *stage) claims(list ...*events.Transcript) {
	s.TB.Helper()
	publisher := events.NewPublisher(s.JetStream, "test", events.MaxMessage(2000))
	for _, transcript := range list {
		if err := publisher.Publish(s.TB.Context(), events.Changed(transcript)); err != nil {
			s.TB.Fatal(err)
		}
	}
}

// transcribed publishes a call with its transcript, and returns once they are in the tables.
func (s *stage) transcribed() (system uuid.UUID) {
	s.TB.Helper()
	system = uuid.New()
	owner := projectortest.Call(system, uuid.New())
	s.PublishStates(projectortest.PhoneSystem(system), owner)
	s.claims(spoken(owner))
	s.WaitUntilCaughtUp()
	return system
}

// loseBodies deletes all that was checked in, and returns what puts it back.
func (s *stage) loseBodies() (restore func()) {
	s.TB.Helper()
	bucket, err := s.JetStream.ObjectStore(s.TB.Context(), events.TranscriptBucket)
	if err != nil {
		s.TB.Fatal(err)
	}
	list, err := bucket.List(s.TB.Context())
	if err != nil {
		s.TB.Fatal(err)
	}
	bodies := make(map[string][]byte)
	for _, entry := range list {
		if bodies[entry.Name], err = bucket.GetBytes(s.TB.Context(), entry.Name); err != nil {
			s.TB.Fatal(err)
		}
		if err := bucket.Delete(s.TB.Context(), entry.Name); err != nil {
			s.TB.Fatal(err)
		}
	}
	return func() {
		s.TB.Helper()
		for name, body := range bodies {
			if _, err := bucket.PutBytes(s.TB.Context(), name, body); err != nil {
				s.TB.Fatal(err)
			}
		}
	}
}

// All that happened at the first time and that a replay can't know by itself gives the same rows again: lifts of the clock, dead
// letters of every kind, and retries behind others.
func TestRun_Record(t *testing.T) {
	s := newStage(t)
	stop := s.StartProjector()
	system := uuid.New()
	history := company(61, 100)
	s.Exec(picky)
	first, second := projectortest.Call(system, uuid.New()), refused(system)
	s.PublishStates(projectortest.PhoneSystem(system), first)
	s.claims(spoken(first), spoken(second))
	s.Publish(history[:len(history)/2]...)
	s.poison()
	s.PublishStates(second)
	s.WaitUntilCaughtUp()
	stop()
	s.Exec("update projection.position set watermark = watermark + interval '1 hour'")
	stop = s.StartProjector()
	s.Publish(history...) // the first half is stale
	slices.Reverse(history)
	s.Publish(history[:100]...)
	s.WaitUntilCaughtUp()
	s.letGo()
	s.retry()
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	if s.QueryInt("select count(*) from control.clock_adjustment") == 0 || s.open() == 0 || s.QueryInt("select count(retry_seq) from control.dead_letter") == 0 {
		t.Fatal("nothing to replay")
	}
	before := s.Database.Projection(t)
	s.mustVerify("live")
	for _, change := range []func(*rebuild.Config){func(*rebuild.Config) {}, small} {
		if result := s.rebuild(change); result.Comparison.Differs() {
			t.Errorf("%+v", result.Comparison)
		}
		s.RequireEqualTables("rebuilt", before)
	}
	if _, err := rebuild.Repair(t.Context(), s.config(), system); err != nil {
		t.Error(err)
	}
	s.RequireEqualTables("repaired", before)
	s.WaitUntilCaughtUp()
	stop()
	if list := s.Replay().Diff(before); len(list) > 0 {
		t.Error(list)
	}
}

// What PostgreSQL refused at the first time is a dead letter in a rebuild too, whatever its tables would take.
func TestRun_Refused(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	system := uuid.New()
	s.Exec(picky)
	s.PublishStates(projectortest.PhoneSystem(system), refused(system), projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	before := s.Database.Projection(t)
	for range 2 {
		if result := s.rebuild(); result.Comparison.Differs() {
			t.Errorf("%+v", result.Comparison)
		}
		s.RequireEqualTables("rebuilt", before)
	}
	s.retry()
	if n := s.QueryInt("select count(*) from projection.call_log"); n != 2 || s.open() != 0 {
		t.Errorf("%d calls, %d open letters", n, s.open())
	}
	s.mustVerify("retried in the new tables")
}

// A text that was applied and can't be had any more is told by everybody, and a repair doesn't throw away what is left of it.
func TestRun_Unreadable(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	system := s.transcribed()
	before := s.Database.Projection(t)
	restore := s.loseBodies()
	told := func(what string, c rebuild.Comparison) {
		t.Helper()
		if len(c.Unreadable) != 1 || !strings.Contains(c.Unreadable[0].Reason, "/object") ||
			!slices.Contains(c.Changes, rebuild.Change{Table: "transcript_text", Kind: rebuild.KindSurplus, Rows: 1}) {
			t.Errorf("%s: %+v", what, c)
		}
	}
	told("verification", s.verify())
	if _, err := rebuild.Repair(t.Context(), s.config(), system); !errors.Is(err, rebuild.ErrUnreadable) {
		t.Errorf("repair: %v", err)
	}
	s.RequireEqualTables("refused repair", before)
	if !s.ended(s.spawn(rebuild.StepIndex, 1)) {
		t.Fatal("it came to its end")
	}
	told("rebuild that was gone on with", s.rebuild().Comparison)
	if s.open() != 1 {
		t.Errorf("%d open letters, want 1", s.open())
	}
	s.mustVerify("now it is a dead letter")
	restore()
	s.retry()
	if n := s.QueryInt("select count(*) from projection.transcript_text"); n != 1 || s.open() != 0 {
		t.Errorf("%d texts, %d open letters", n, s.open())
	}
	s.mustVerify("retried")
	s.rollback()
	s.mustVerify("rolled back")
	s.rollback()
	s.mustVerify("rolled forward")
}

// What the new generation can't read is told although it was compared before.
func TestRun_UnreadableBehindTheComparison(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	system := uuid.New()
	first, second := projectortest.Call(system, uuid.New()), projectortest.Call(system, uuid.New())
	s.PublishStates(projectortest.PhoneSystem(system), first, second)
	s.claims(spoken(first))
	s.WaitUntilCaughtUp()
	restore := s.loseBodies()
	s.Database.TruncateProjection(t)
	s.WaitUntilCaughtUp()
	if s.open() != 1 {
		t.Fatalf("%d open letters, want 1", s.open())
	}
	switched := false
	result, err := rebuild.Run(t.Context(), s.with(func(p rebuild.Progress) {
		if p.Step != rebuild.StepSwitch || switched {
			return
		}
		switched = true
		restore()
		s.retry()
		s.claims(spoken(second))
		s.WaitUntilCaughtUp()
		s.loseBodies()
	}), false)
	if err != nil {
		t.Fatal(err)
	}
	if n := s.QueryInt("select count(*) from projection.transcript_text"); n != 0 || len(result.Comparison.Unreadable) != 2 || !result.Comparison.Differs() {
		t.Errorf("%d texts, told %+v", n, result.Comparison.Unreadable)
	}
}

// What an unfinished generation took for a dead letter is not what the one takes for it that is rolled back to.
func TestRollback_BeneathAnUnfinishedRebuild(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	s.transcribed()
	restore := s.loseBodies()
	s.rebuild()
	restore()
	if !s.ended(s.spawn(rebuild.StepIndex, 1)) {
		t.Fatal("it came to its end")
	}
	s.rollback()
	result := s.rebuild()
	if n := s.QueryInt("select count(*) from projection.transcript_text"); n != 1 || result.Resumed || result.Comparison.Differs() {
		t.Errorf("%d texts: %+v", n, result)
	}
	s.mustVerify("rebuilt")
}

// A retry in vain leaves nothing behind that a replay doesn't know of: the clock included.
func TestRun_RetriedInVain(t *testing.T) {
	s := newStage(t)
	stop := s.StartProjector()
	system := uuid.New()
	s.Exec(picky)
	s.PublishStates(projectortest.PhoneSystem(system), refused(system))
	s.WaitUntilCaughtUp()
	stop()
	s.Exec("update projection.position set watermark = watermark + interval '1 hour'")
	stop = s.StartProjector()
	s.retry()
	if s.open() != 1 {
		t.Fatalf("%d open letters, want 1", s.open())
	}
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	stop()
	s.mustVerify("live")
	before := s.Database.Projection(t)
	if list := s.Replay().Diff(before); len(list) > 0 {
		t.Error(list)
	}
}
