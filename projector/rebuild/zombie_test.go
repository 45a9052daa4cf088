package rebuild_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/eventstest"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
	"callboard/projector/store"
)

// waiting tells whether the projector, or anybody, waits for a lock.
func (s *stage) waiting(condition string) bool {
	s.TB.Helper()
	return s.QueryInt("select count(*) from pg_locks l left join pg_class c on c.oid = relation where not granted and "+condition) > 0
}

// at calls work once, at the first word of a step.
func at(step rebuild.Step, work func()) func(*rebuild.Config) {
	once := sync.OnceFunc(work)
	return func(c *rebuild.Config) {
		before := c.Progress
		c.Progress = func(p rebuild.Progress) {
			if before != nil {
				before(p)
			}
			if p.Step == step {
				once()
			}
		}
	}
}

// A projector that has read its rows before the switch and comes to its commit behind it writes into neither generation.
func TestRun_ZombieThatHasRead(t *testing.T) {
	s := newStage(t)
	log := new(eventstest.LogBuffer)
	stop := s.StartProjector(projectortest.LogTo(log))
	system := uuid.New()
	s.PublishStates(projectortest.PhoneSystem(system), projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	hold, err := s.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	late := projectortest.Call(system, uuid.New())
	result := s.rebuild(at(rebuild.StepSwitch, func() {
		if _, err := hold.Exec(t.Context(), "lock table projection.call_log in access exclusive mode"); err != nil {
			t.Error(err)
		}
		s.PublishStates(late)
		eventstest.Eventually(t, "the projector waits for its rows", func() bool { return s.waiting("relname = 'call_log'") })
	}), at(rebuild.StepDrop, func() {
		if err := hold.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
		eventstest.Eventually(t, "the projector was fenced", func() bool { return log.Count(store.ErrFenced.Error()) > 0 })
	}))
	s.WaitUntilCaughtUp()
	stop()
	old := pgx.Identifier{"generation_1", "call_log"}.Sanitize()
	if n := s.QueryInt("select count(*) from "+old+" where id = $1", late.ID); n != 0 || result.Replaced != 1 {
		t.Errorf("%d rows in generation %d", n, result.Replaced)
	}
	if n := s.QueryInt("select count(*) from projection.call_log where id = $1", late.ID); n != 1 {
		t.Errorf("%d rows in the live generation", n)
	}
	s.mustVerify("behind the switch")
	whole := s.Database.Projection(t)
	if list := s.Replay().Diff(whole); len(list) > 0 {
		t.Error(list)
	}
}

// A projector in the middle of its writing is waited for, and what it writes is in both.
func TestRun_WriterIsWaitedFor(t *testing.T) {
	s := newStage(t)
	stop := s.StartProjector()
	system := uuid.New()
	s.PublishStates(projectortest.PhoneSystem(system))
	s.WaitUntilCaughtUp()
	s.Exec(`create function public.hold() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(42); return new; end $$`)
	s.Exec("create trigger hold before insert on projection.call_log for each row execute function public.hold()")
	hold, err := s.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	late := projectortest.Call(system, uuid.New())
	released := make(chan struct{})
	s.rebuild(at(rebuild.StepSwitch, func() {
		if _, err := hold.Exec(t.Context(), "select pg_advisory_xact_lock(42)"); err != nil {
			t.Error(err)
		}
		s.PublishStates(late)
		eventstest.Eventually(t, "the projector writes", func() bool { return s.waiting("locktype = 'advisory'") })
		go func() {
			defer close(released)
			eventstest.Eventually(t, "the switch waits", func() bool { return s.waiting("relname = 'position'") })
			if err := hold.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
		}()
	}))
	<-released
	for _, table := range []string{"generation_1.call_log", "projection.call_log"} {
		if n := s.QueryInt("select count(*) from "+table+" where id = $1", late.ID); n != 1 {
			t.Errorf("%s: %d rows", table, n)
		}
	}
	s.PublishStates(projectortest.Call(system, uuid.New()))
	s.WaitUntilCaughtUp()
	stop()
	s.mustVerify("behind the switch")
	whole := s.Database.Projection(t)
	if list := s.Replay().Diff(whole); len(list) > 0 {
		t.Error(list)
	}
}
