package rebuild_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"callboard/events/eventstest"
	"callboard/projector/rebuild"
	"callboard/schema/schematest"
)

// interruptRebuild ends a rebuild at a percentage of a step.
func (h *harness) interruptRebuild(step rebuild.Step, percent int64) {
	h.Helper()
	ctx, cancel := context.WithCancel(h.Context())
	defer cancel()
	config := h.config()
	smallBatches(&config)
	config.Progress = func(p rebuild.Progress) {
		if p.Step == step && p.Done*100 >= p.Total*percent {
			cancel()
		}
	}
	if _, err := rebuild.Run(ctx, config, true); !errors.Is(err, context.Canceled) {
		h.Fatalf("rebuild interrupted at %s %d%%: error = %v, want %v", step, percent, err, context.Canceled)
	}
	h.waitForNoOperation()
}

// waitForNoOperation waits until no session holds the lock of operations.
func (h *harness) waitForNoOperation() {
	h.Helper()
	const locks = `
		select count(*) from pg_locks
		where locktype = 'advisory' and objsubid = 1 and database = (select oid from pg_database where datname = current_database())`
	eventstest.Eventually(h.TB, "no lock of an operation", func() bool { return h.QueryInt(locks) == 0 })
}

// requireNoLeftovers fails the test if there is a schema, lock, generation or consumer that a rebuild should have
// removed.
func (h *harness) requireNoLeftovers() {
	h.Helper()
	h.requireCount("schemas without a previous generation", 0, `
		select count(*) from pg_namespace where nspname like 'generation%'
		and nspname not in (select 'generation_' || id from control.generation where state = 'previous')`)
	h.waitForNoOperation()
	h.requireCount("generations", 2, "select count(*) from control.generation where state in ('live', 'previous')")
	for consumer := range h.Stream.ListConsumers(h.Context()).Info() {
		if !strings.HasPrefix(consumer.Name, "projector-") && consumer.Config.InactiveThreshold <= 0 {
			h.Errorf("consumer %s does not expire", consumer.Name)
		}
	}
}

func (h *harness) requireDropped(state rebuild.State, want ...int64) {
	h.Helper()
	if got, err := rebuild.Drop(h.Context(), h.config(), state); err != nil || !slices.Equal(got, want) {
		h.Errorf("dropped = %v, error = %v, want %v", got, err, want)
	}
}

// What interrupted rebuilds have committed is not built again.
func TestRun_ResumesAfterInterruptions(t *testing.T) {
	h := newStoppedHarness(t, sampleEvents(19, 100))
	want := h.Database.Projection(t)
	h.interruptRebuild(rebuild.StepLoad, 0)
	h.interruptRebuild(rebuild.StepLoad, 50)
	done := h.QueryInt("select sum(read)::bigint from generation_2.message_count")
	total := h.QueryInt("select sum(read)::bigint from projection.message_count")
	for _, step := range []rebuild.Step{rebuild.StepIndex, rebuild.StepCompare, rebuild.StepSwitch} {
		h.interruptRebuild(step, 0)
	}

	result := h.rebuild(smallBatches)
	if !result.Resumed || result.Messages > total-done || result.Comparison.Differs() {
		t.Errorf("result = %+v, want resumed, with at most %d of %d messages and no difference", result, total-done, total)
	}
	h.RequireEqualTables("resumed", want)
	h.requireNoLeftovers()
}

func TestDrop_Unfinished(t *testing.T) {
	h := newStoppedHarness(t, sampleEvents(37, 60))
	h.requireDropped(rebuild.Unfinished)
	h.interruptRebuild(rebuild.StepLoad, 50)
	h.requireDropped(rebuild.Unfinished, 2)
	h.requireCount("schemas of generations", 0, "select count(*) from pg_namespace where nspname like 'generation%'")
	if result := h.rebuild(smallBatches); result.Resumed || result.Generation != 3 || result.Comparison.Differs() {
		t.Errorf("result = %+v, want generation 3, not resumed, without differences", result)
	}
}

// A rebuild that ends at any of its statements is continued by the next one, until one ends by itself.
func TestRun_InterruptedAtAnyStatement(t *testing.T) {
	h := newStoppedHarness(t, sampleEvents(9, 20))
	want := h.Database.Projection(t)
	const step = 41 // statements between two interruptions
	for at := int64(1); ; at += step {
		ctx, cancel := context.WithCancel(t.Context())
		var statements atomic.Int64
		count := func(string, []any) {
			if statements.Add(1) == at {
				cancel()
			}
		}
		config := h.config()
		config.Database = schematest.OpenTracedPool(t, h.Pool, &schematest.Tracer{Statement: count, BatchStatement: count})
		config.Batch = 20
		_, err := rebuild.Run(ctx, config, true)
		cancel()
		config.Database.Close()
		h.waitForNoOperation()
		if err == nil {
			t.Logf("%d statements without an interruption", statements.Load())
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted at statement %d: error = %v, want %v", at, err, context.Canceled)
		}
	}
	h.RequireEqualTables("after all interruptions", want)
	h.requireVerified("after all interruptions")
	h.requireNoLeftovers()
}
