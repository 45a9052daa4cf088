package rebuild_test

import (
	"fmt"
	"testing"

	"callboard/projector/rebuild"
)

// losePart deletes the rows of a part of the unfinished generation, as a failover to a standby that did not have its commit. Another part of the
// partition keeps the position.
func (h *harness) losePart() {
	h.Helper()
	h.Exec(`do $$
		declare
			lost control.generation_part;
			t record;
		begin
			update control.generation_part
			set read = null
			where (generation, partition, part) = (
				select generation, partition, max(part) from control.generation_part group by 1, 2 order by max(part) desc, partition limit 1)
			returning * into lost;
			for t in
				select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'system_id'
				where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = ('generation_' || lost.generation)::regnamespace
			loop
				execute format('delete from generation_%s.%I where system_id = any ($1)', lost.generation, t.relname) using lost.systems;
			end loop;
			execute format('delete from generation_%s.phone_system where id = any ($1)', lost.generation) using lost.systems;
		end $$`)
}

// A generation that has lost a part does not go live. The next run folds the part again, or begins again where the generation has followed
// without it.
func TestRun_RefusesGenerationWithoutPart(t *testing.T) {
	t.Parallel()
	for _, follows := range []bool{false, true} {
		t.Run(fmt.Sprintf("follows = %t", follows), func(t *testing.T) {
			t.Parallel()
			h := newStoppedHarness(t, sampleEvents(46, 60))
			calls := h.QueryInt("select count(*) from projection.call_log")
			config := h.config()
			smallParts(&config)
			onStep(rebuild.StepIndex, func() {
				h.losePart()
				if follows {
					h.Exec("update control.generation_part set sequence = sequence - 1 where read is null")
				}
			})(&config)
			if _, err := rebuild.Run(t.Context(), config, false); err == nil || !contains("lacks the rows of 1 parts")(err) {
				t.Fatalf("error = %v, want that a part is lost", err)
			}
			if result := h.rebuild(smallParts); result.Resumed == follows {
				t.Errorf("resumed = %t, want %t", result.Resumed, !follows)
			}
			h.requireCalls(calls)
		})
	}
}

// A rebuild whose lock is gone, as after a failover, writes nothing more and does not switch. The next run continues.
func TestRun_EndsWithItsLock(t *testing.T) {
	t.Parallel()
	for _, step := range []rebuild.Step{rebuild.StepFold, rebuild.StepSwitch} {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			h := newStoppedHarness(t, sampleEvents(47, 10))
			config := h.config()
			onStep(step, func() {
				h.Exec(`select pg_terminate_backend(pid, 180000) from pg_locks where locktype = 'advisory' and objsubid = 1 and database =
					(select oid from pg_database where datname = current_database())`)
			})(&config)
			if _, err := rebuild.Run(t.Context(), config, false); err == nil || !contains("operation lock: its session has ended")(err) {
				t.Fatalf("error = %v, want that the lock is gone", err)
			}
			h.requireCount("done parts", 0, "select count(*) from control.generation_part where read is not null and $1", step == rebuild.StepFold)
			if !h.requireRebuilt().Resumed {
				t.Error("the unfinished generation was not resumed")
			}
		})
	}
}
