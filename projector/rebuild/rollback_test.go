package rebuild_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

func (s *stage) rollback() rebuild.Result {
	s.TB.Helper()
	result, err := rebuild.Rollback(s.TB.Context(), s.config())
	if err != nil {
		s.TB.Fatal(err)
	}
	return result
}

// dropConstraint takes the hand-made constraint away wherever it has got to.
func (s *stage) letGo() {
	s.TB.Helper()
	s.Exec(`do $$ declare t regclass; begin
		for t in select conrelid::regclass from pg_constraint where conname = 'picky' loop
			execute format('alter table %s drop constraint picky', t);
		end loop;
	end $$`)
}

// retry tries the open dead letters again and returns once that is done.
func (s *stage) retry() {
	s.TB.Helper()
	s.Exec("update control.dead_letter set retry_requested_at = now() where resolution is null")
	eventstest.Eventually(s.TB, "all were tried", func() bool {
		return s.QueryInt("select count(*) from control.dead_letter where retry_requested_at is not null") == 0
	})
}

func (s *stage) open() int64 {
	s.TB.Helper()
	return s.QueryInt("select count(*) from control.dead_letter where resolution is null")
}

// refused is a call that the constraint of picky refuses.
func refused(system uuid.UUID) *events.Call {
	c := projectortest.Call(system, uuid.New())
	c.CallSid = "CArefused"
	return c
}

const picky = "alter table projection.call_log add constraint picky check (call_sid <> 'CArefused')"

// Back and forth, with events, dead letters and retries in between: what is served is always what the stream says.
func TestRollback(t *testing.T) {
	s := newStage(t)
	stop := s.StartProjector()
	history := company(23, 240)
	third := len(history) / 3
	s.Publish(history[:third]...)
	s.poison()
	s.WaitUntilCaughtUp()
	first := s.rebuild()

	system := uuid.New()
	s.Exec(picky)
	s.Publish(history[third : 2*third]...)
	s.poison()
	s.PublishStates(projectortest.PhoneSystem(system), refused(system))
	s.WaitUntilCaughtUp()
	letters := s.QueryInt("select count(*) from control.dead_letter")
	s.letGo()
	s.retry()
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	before := s.Database.Projection(t)
	result := s.rollback()
	if result.Generation != first.Replaced || result.Replaced != first.Generation || !result.PreviousKept {
		t.Errorf("%+v behind %+v", result, first)
	}
	s.RequireEqualTables("rolled back", before)
	if n := s.QueryInt("select count(*) from control.dead_letter"); n != letters {
		t.Errorf("%d dead letters, want %d", n, letters)
	}
	s.mustVerify("rolled back")

	s.Publish(history[2*third:]...)
	s.WaitUntilCaughtUp()
	whole := s.Database.Projection(t)
	if again := s.rollback(); again.Generation != first.Generation {
		t.Errorf("%+v", again)
	}
	s.RequireEqualTables("rolled forward", whole)
	s.PublishStates(projectortest.PhoneSystem(uuid.New()))
	s.WaitUntilCaughtUp()
	stop()
	s.mustVerify("rolled forward")
	last := s.Database.Projection(t)
	s.RequireEqualTables("replayed", last)
	if replayed := s.Replay(); len(replayed.Diff(last)) > 0 {
		t.Error(replayed.Diff(last))
	}
}

// What the newer generation made a dead letter and a retry applied later has the retry's time in the older one as well: a reader that
// has asked for all before then would never see it otherwise.
func TestRollback_RetriedMeanwhile(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	system := uuid.New()
	s.PublishStates(projectortest.PhoneSystem(system))
	s.WaitUntilCaughtUp()
	s.rebuild()
	s.Exec(picky)
	late := refused(system)
	s.PublishStates(late)
	s.WaitUntilCaughtUp()
	eventstest.Eventually(t, "it is a dead letter", func() bool { return s.open() == 1 })
	s.letGo()
	s.retry()
	if n := s.open(); n != 0 {
		t.Fatalf("%d dead letters", n)
	}
	before := s.Database.Projection(t)
	s.rollback()
	s.RequireEqualTables("rolled back", before)
	s.mustVerify("rolled back")
}

// What is still a dead letter stays one behind a rollback, although the older generation could take it: its rows would appear behind
// watermarks that were published.
func TestRollback_OpenLetter(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	system := uuid.New()
	s.PublishStates(projectortest.PhoneSystem(system))
	s.WaitUntilCaughtUp()
	s.rebuild()
	s.Exec(picky)
	s.PublishStates(refused(system))
	s.WaitUntilCaughtUp()
	before := s.Database.Projection(t)
	s.rollback()
	s.RequireEqualTables("rolled back", before)
	if n := s.open(); n != 1 {
		t.Errorf("%d dead letters, want 1", n)
	}
	s.retry()
	if n := s.QueryInt("select count(*) from projection.call_log"); n != 1 || s.open() != 0 {
		t.Errorf("%d calls after the retry, %d open letters", n, s.open())
	}
	s.mustVerify("retried")
}

func TestRollback_NothingKept(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	s.Publish(company(23, 20)...)
	s.WaitUntilCaughtUp()
	if _, err := rebuild.Rollback(t.Context(), s.config()); !errors.Is(err, rebuild.ErrNoPrevious) {
		t.Errorf("%v", err)
	}
	if _, err := rebuild.Run(t.Context(), s.config(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := rebuild.Rollback(t.Context(), s.config()); !errors.Is(err, rebuild.ErrNoPrevious) {
		t.Errorf("after a rebuild that keeps nothing: %v", err)
	}
	s.rebuild()
	before := s.Database.Projection(t)
	s.Exec("update control.generation set definition = '\\x00' where state = 'previous'")
	if _, err := rebuild.Rollback(t.Context(), s.config()); !errors.Is(err, rebuild.ErrOtherDefinition) {
		t.Errorf("another release's: %v", err)
	}
	s.RequireEqualTables("untouched", before)
	s.tidy()
}
