package fault_test

import (
	"strconv"
	"time"

	"callboard/projector/rebuild"
	"callboard/schema/schematest"
)

// startRebuild starts a rebuild with random options.
func (h *harness) startRebuild() command {
	h.tb.Helper()
	return h.startCommand(append([]string{"rebuild"}, h.rebuildOptions()...)...)
}

func (h *harness) rebuildOptions() []string {
	args := []string{"--workers", strconv.Itoa(1 + h.random.IntN(3))}
	if h.coinFlip() {
		args = append(args, "--keep")
	}
	return args
}

// rebuild completes a rebuild, now and then rolls it back, and verifies what is live then.
func (h *harness) rebuild() {
	h.tb.Helper()
	start := time.Now()
	var result rebuild.Result
	h.command(&result, append([]string{"rebuild"}, h.rebuildOptions()...)...)
	h.rebuildTime = time.Since(start)
	if n := len(result.Comparison.Changes); n > 0 {
		h.tb.Errorf("rebuild: %d changes, want none: %+v", n, result.Comparison)
	}
	if result.PreviousKept && h.coinFlip() {
		h.command(&result, "rollback")
	}
	h.installFailpoints()
	h.verify()
}

// The steps of a rebuild, as the queries that tell whether it has reached them.
const (
	rebuildStarts     = "select count(*) > 0 from control.generation where state = 'building'"
	rebuildLoads      = "select count(*) > 0 from pg_stat_user_tables join control.generation on schemaname = 'generation_' || id where state = 'building' and relname = 'call_log' and n_tup_ins > 0"
	rebuildIndexes    = "select count(*) > 0 from pg_indexes join control.generation on schemaname = 'generation_' || id where state = 'building' and indexname = 'call_log_created'"
	rebuildFollows    = "select count(*) > 0 from pg_stat_user_tables join control.generation on schemaname = 'generation_' || id where state = 'building' and relname = 'call_log' and last_vacuum is not null"
	rebuildWaitsToEnd = "select count(*) > 0 from pg_stat_activity where application_name like 'callboard@%' and wait_event_type = 'Lock'"
)

// beforeWritePause blocks a rebuild before the write pause; projectors go on.
const beforeWritePause = "lock table projection.position in share update exclusive mode"

func (h *harness) randomStep() string {
	steps := []string{rebuildStarts, rebuildLoads, rebuildIndexes, rebuildFollows}
	return steps[h.random.IntN(len(steps))]
}

// awaitStep waits until a rebuild has reached a step, or has exited.
func (h *harness) awaitStep(c command, step string) {
	h.tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(commandLimit)
	for reached := false; !reached && !c.HasExited(); {
		select {
		case <-limit:
			h.tb.Fatalf("rebuild has not reached this step within %s: %s", commandLimit, step)
		case <-tick.C:
		}
		reached = schematest.QueryOne[bool](h.tb, h.pool, step)
	}
}

// killRebuild kills a rebuild at a random time. The next one has to complete it.
func (h *harness) killRebuild() {
	c := h.startRebuild()
	<-time.After(time.Duration(h.random.Int64N(int64(h.rebuildTime))))
	c.killIfRunning()
	h.rebuild()
}

// killRebuildAt kills a rebuild at a step.
func killRebuildAt(step string) func(*harness) {
	return func(h *harness) {
		c := h.startRebuild()
		h.awaitStep(c, step)
		c.killIfRunning()
		h.rebuild()
	}
}

// killRebuildBeforeWritePause kills a rebuild that waits for the lock under which it switches generations.
func (h *harness) killRebuildBeforeWritePause() {
	f := h.block(beforeWritePause)
	defer f.unblock()
	c := h.startRebuild()
	h.awaitStep(c, rebuildWaitsToEnd)
	c.killIfRunning()
	f.unblock()
	h.rebuild()
}

// killProjectorInRebuild kills a projector while the rebuild reads the messages that it has applied meanwhile.
func (h *harness) killProjectorInRebuild() {
	c := h.startRebuild()
	h.awaitStep(c, rebuildFollows)
	h.killProjector()
	c.mustSucceed()
	h.installFailpoints()
	h.verify()
}

func (h *harness) killPostgresInRebuild() { h.interruptRebuild(h.killPostgres) }

func (h *harness) killNATSInRebuild() { h.interruptRebuild(h.killNATS) }

// interruptRebuild kills a server in the middle of a rebuild, which may fail. The next one has to complete it.
func (h *harness) interruptRebuild(kill func()) {
	h.tb.Helper()
	c := h.startRebuild()
	h.awaitStep(c, h.randomStep())
	kill()
	h.tb.Logf("exit code %d", c.wait())
	h.awaitCaughtUp()
	h.rebuild()
}

// repairSystem repairs a random phone system, or the rows of none, while events are published.
func (h *harness) repairSystem() {
	name := "global"
	if n := h.random.IntN(1 + len(h.load.systems())); n > 0 {
		name = h.load.systems()[n-1].String()
	}
	var result rebuild.RepairResult
	if h.command(&result, "repair", "--system", name); result.Rows == 0 {
		h.tb.Errorf("repair of %s: rows = 0, want more", name)
	}
	h.verify()
}
