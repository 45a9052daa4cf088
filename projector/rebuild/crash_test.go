package rebuild_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/rebuild"
	"callboard/schema/schematest"
)

// With these variables, the test binary runs a rebuild that kills itself at a percentage of a step.
const (
	childNATS     = "CALLBOARD_TEST_NATS"
	childDatabase = "CALLBOARD_TEST_DATABASE"
	childStep     = "CALLBOARD_TEST_STEP"
	childPercent  = "CALLBOARD_TEST_PERCENT"
)

// childApplication is the application_name of that rebuild's sessions.
const childApplication = "child"

func runChild() int {
	if err := rebuildInChild(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func rebuildInChild() error {
	pool, err := pgxpool.New(context.Background(), os.Getenv(childDatabase))
	if err != nil {
		return err
	}
	defer pool.Close()
	nc, err := nats.Connect(os.Getenv(childNATS), nats.Timeout(30*time.Second))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(30*time.Second))
	if err != nil {
		return err
	}
	var percent int64
	if _, err := fmt.Sscan(os.Getenv(childPercent), &percent); err != nil {
		return err
	}
	config := rebuild.Config{
		JetStream: js, Stream: events.StreamName, Database: pool, Progress: killAt(rebuild.Step(os.Getenv(childStep)), percent),
	}
	smallBatches(&config)
	_, err = rebuild.Run(context.Background(), config, true)
	return err
}

// killAt kills the process when a percentage of a step is done.
func killAt(step rebuild.Step, percent int64) func(rebuild.Progress) {
	return func(p rebuild.Progress) {
		if p.Step == step && p.Done*100 >= p.Total*percent {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

// startChild starts a rebuild as a process. Without a step it does not kill itself.
func (h *harness) startChild(step rebuild.Step, percent int) *exec.Cmd {
	h.Helper()
	child := exec.CommandContext(h.Context(), os.Args[0])
	child.Env = append(os.Environ(), childNATS+"="+h.URL, childDatabase+"="+h.Database.URL()+"&application_name="+childApplication,
		childStep+"="+string(step), fmt.Sprintf("%s=%d", childPercent, percent))
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		h.Fatal(err)
	}
	return child
}

// waitForChild returns whether the process was killed, when PostgreSQL has ended its sessions.
func (h *harness) waitForChild(child *exec.Cmd) (killed bool) {
	h.Helper()
	err := child.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status, ok := exit.Sys().(syscall.WaitStatus)
		killed = ok && status.Signal() == syscall.SIGKILL
	}
	if err != nil && !killed {
		h.Errorf("rebuild process: %v", err)
	}
	// PostgreSQL ends what a session executes, such as a commit or an index, before it notices that its client is gone.
	h.eventuallyNone("session of the process", "pg_stat_activity where datname = current_database() and application_name = '"+childApplication+"'")
	return killed
}

// killRebuild runs a rebuild that is killed at a percentage of a step.
func (h *harness) killRebuild(step rebuild.Step, percent int) {
	h.Helper()
	if !h.waitForChild(h.startChild(step, percent)) {
		h.Fatalf("rebuild killed at %s %d%%: it ended by itself", step, percent)
	}
}

// waitForNoOperation waits until no session holds the lock of operations.
func (h *harness) waitForNoOperation() {
	h.Helper()
	h.eventuallyNone("lock of an operation", "pg_locks where locktype = 'advisory' and objsubid = 1 and database = "+
		"(select oid from pg_database where datname = current_database())")
}

// eventuallyNone waits until there is no such row.
func (h *harness) eventuallyNone(what, rows string) {
	h.Helper()
	eventstest.Eventually(h.TB, "no "+what, func() bool { return h.QueryInt("select count(*) from "+rows) == 0 })
}

// requireResumed rebuilds and requires that what a killed rebuild has committed is not built again.
func (h *harness) requireResumed() {
	h.Helper()
	unfinished := h.QueryInt("select coalesce(max(id), 0) from control.generation where state = 'building'")
	var done int64
	if unfinished > 0 {
		done = h.QueryInt(fmt.Sprintf("select coalesce(sum(read), 0)::bigint from generation_%d.message_count", unfinished))
	}
	total := h.QueryInt("select sum(read)::bigint from projection.message_count")
	result := h.rebuild(smallBatches)
	if result.Resumed != (unfinished > 0) || result.Messages != total-done {
		h.Errorf("resumed = %t, messages = %d, want %t, %d", result.Resumed, result.Messages, unfinished > 0, total-done)
	}
	if result.Comparison.Differs() {
		h.Errorf("comparison = %+v, want no difference", result.Comparison)
	}
}

// requireNoLeftovers fails the test if there is a schema, lock, generation or consumer that a rebuild should have removed.
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

func TestRun_ResumesAfterKillAtEveryStep(t *testing.T) {
	t.Parallel()
	h, stop := newAppliedHarness(t, sampleEvents(3, 40))
	h.publishPoison()
	h.WaitUntilCaughtUp()
	stop()
	want := h.Database.Projection(t)
	for _, test := range []struct {
		step    rebuild.Step
		percent int
	}{
		{rebuild.StepPlan, 0},
		{rebuild.StepLoad, 0},
		{rebuild.StepLoad, 50},
		{rebuild.StepLoad, 100},
		{rebuild.StepIndex, 1},
		{rebuild.StepIndex, 100},
		{rebuild.StepCompare, 0},
		{rebuild.StepSwitch, 0},
		{rebuild.StepDrop, 0},
	} {
		h.killRebuild(test.step, test.percent)
		h.requireResumed()
		h.RequireEqualTables(fmt.Sprintf("killed at %s %d%%", test.step, test.percent), want)
		h.requireNoLeftovers()
	}
	h.requireVerified("after all kills")
}

func TestDrop_Unfinished(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(37, 60))
	h.requireDropped(rebuild.Unfinished)
	h.killRebuild(rebuild.StepLoad, 50)
	h.requireDropped(rebuild.Unfinished, 2)
	h.requireCount("schemas of generations", 0, "select count(*) from pg_namespace where nspname like 'generation%'")
	if result := h.rebuild(smallBatches); result.Resumed || result.Generation != 3 || result.Comparison.Differs() {
		t.Errorf("result = %+v, want generation 3, not resumed, without differences", result)
	}
}

// Rebuilds are killed at random moments while events arrive.
func TestRun_ResumesAfterRandomKills(t *testing.T) {
	t.Parallel()
	history := sampleEvents(5, 120)
	h, stop := newAppliedHarness(t, history[:len(history)/2])
	start := time.Now()
	h.rebuild(smallBatches)
	duration := time.Since(start)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	rest := history[len(history)/2:]
	killed, runs := 0, 0
	const kills = 4
	for ; runs < kills || runs < 8*kills && killed == 0; runs++ {
		if runs >= kills {
			duration /= 2 // the machine has become faster since it was measured
		}
		h.Publish(rest[min(runs, kills)*len(rest)/kills : min(runs+1, kills)*len(rest)/kills]...)
		child := h.startChild("", 0)
		moment := time.NewTimer(time.Duration(random.Int64N(int64(duration))))
		<-moment.C
		_ = child.Process.Kill() // it may have ended
		if h.waitForChild(child) {
			killed++
		}
	}
	t.Logf("seed %d: %d of %d rebuilds of %v were killed before their end", seed, killed, runs, duration)
	if killed == 0 {
		t.Errorf("killed rebuilds = 0 of %d, want some", runs)
	}
	h.WaitUntilCaughtUp()
	want := h.Database.Projection(t)
	if result := h.rebuild(smallBatches); result.Comparison.Differs() {
		t.Errorf("comparison = %+v, want no difference", result.Comparison)
	}
	h.RequireEqualTables("rebuilt", want)
	h.requireNoLeftovers()
	h.WaitUntilCaughtUp()
	stop()
	h.RequireReplayEquals(want)
}

// A rebuild that ends at any of its statements is continued by the next one, until one ends by itself.
func TestRun_InterruptedAtAnyStatement(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(9, 20))
	want := h.Database.Projection(t)
	const step = 13 // statements between two interruptions
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
