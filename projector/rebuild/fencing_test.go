package rebuild_test

import (
	"testing"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

// waitsForLock reports whether a session waits for a lock of the condition.
func (h *harness) waitsForLock(condition string) bool {
	h.Helper()
	return h.QueryInt(`
		select count(*)
		from pg_locks l
		left join pg_class c on c.oid = relation
		where not granted
		  and l.database = (select oid from pg_database where datname = current_database())
		  and `+condition) > 0
}

// A projector that reads its rows before the switch and commits after it writes into neither generation.
func TestRun_FencesProjectorThatHasReadRows(t *testing.T) {
	h := newHarness(t)
	log := new(eventstest.LogBuffer)
	stop := h.StartProjector(projectortest.LogTo(log))
	system := uuid.New()
	h.Apply(projectortest.PhoneSystem(system), projectortest.Call(system, uuid.New()))
	lock, err := h.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	late := projectortest.Call(system, uuid.New())
	released := make(chan struct{})
	result := h.rebuild(onStep(rebuild.StepSwitch, func() {
		if _, err := lock.Exec(t.Context(), "lock table projection.call_log in access exclusive mode"); err != nil {
			t.Error(err)
		}
		h.PublishStates(late)
		eventstest.Eventually(t, "the projector waits for its rows", func() bool { return h.waitsForLock("relname = 'call_log'") })
		go func() {
			defer close(released)
			eventstest.Eventually(t, "the switch", func() bool {
				return h.QueryInt("select id from control.generation where state = 'live'") != 1
			})
			if err := lock.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
		}()
	}))
	<-released
	eventstest.Eventually(t, "the projector is fenced", func() bool { return log.Contains(store.ErrFenced.Error()) })
	h.WaitUntilCaughtUp()
	stop()
	if result.Replaced != 1 {
		t.Errorf("replaced = %d, want 1", result.Replaced)
	}
	h.requireCount("rows in the previous generation", 0, "select count(*) from generation_1.call_log where id = $1", late.ID)
	h.requireCount("rows in the live generation", 1, "select count(*) from projection.call_log where id = $1", late.ID)
	h.requireVerified("after the switch")
	h.RequireReplayEquals(h.Database.Projection(t))
}

// The switch waits for a commit that has begun, and both generations have its rows.
func TestRun_SwitchWaitsForCommit(t *testing.T) {
	schematest.NeedOneServer(t, "it needs a trigger")
	h := newHarness(t)
	stop := h.StartProjector()
	system := uuid.New()
	h.Apply(projectortest.PhoneSystem(system))
	h.Exec("create function public.hold() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(42); return new; end $$")
	h.Exec("create trigger hold before insert on projection.call_log for each row execute function public.hold()")
	lock, err := h.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	late := projectortest.Call(system, uuid.New())
	released := make(chan struct{})
	h.rebuild(onStep(rebuild.StepSwitch, func() {
		if _, err := lock.Exec(t.Context(), "select pg_advisory_xact_lock(42)"); err != nil {
			t.Error(err)
		}
		h.PublishStates(late)
		eventstest.Eventually(t, "the projector writes", func() bool { return h.waitsForLock("locktype = 'advisory'") })
		go func() {
			defer close(released)
			defer func() { // also if the switch does not wait: the rebuild would never end
				if err := lock.Rollback(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			eventstest.Eventually(t, "the switch waits", func() bool { return h.waitsForLock("relname = 'position'") })
		}()
	}))
	<-released
	for _, table := range []string{"generation_1.call_log", "projection.call_log"} {
		h.requireCount("rows in "+table, 1, "select count(*) from "+table+" where id = $1", late.ID)
	}
	h.Apply(projectortest.Call(system, uuid.New()))
	stop()
	h.requireVerified("after the switch")
	h.RequireReplayEquals(h.Database.Projection(t))
}
