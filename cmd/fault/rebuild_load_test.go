package fault_test

import (
	"strings"
	"testing"
	"time"

	"callboard/projector/rebuild"
)

const (
	fullLoad       = 250   // events per second, as far as the machine allows
	fullLoadEvents = 7_500 // until the load decays
	settleMessages = 100   // applied between two commands
)

// While the projection is rebuilt, rolled back and rebuilt under load, strict clients notice nothing.
func TestRebuild_UnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	h := newHarness(t, seed(t), decaying(constant(fullLoad), fullLoadEvents))
	c := h.startClients(true)
	h.awaitApplied(settleMessages)
	for _, args := range []string{"rebuild --keep", "rollback", "rebuild"} {
		c.commandUnderLoad(strings.Fields(args))
	}
	h.load.stop()
	c.finish()
	h.verify()
	h.checkNothingLeft(true)
	h.logSummary()
}

// commandUnderLoad runs a command while clients read.
func (c *clients) commandUnderLoad(args []string) {
	h := c.harness
	h.tb.Helper()
	before, start := c.responses(), time.Now()
	var result rebuild.Result
	h.command(&result, args...)
	end, responses := time.Now(), c.responses()-before
	if len(result.Comparison.Changes) > 0 {
		h.tb.Errorf("%v: changes = %v, want none", args, result.Comparison.Changes)
	}
	h.awaitApplied(settleMessages)
	h.summary.addTotal("%s: %s (load %.1fs, index %.1fs, compare %.1fs), writes paused for %.0f and %.0f ms; %d messages; %d responses",
		strings.Join(args, " "), round(end.Sub(start)), result.Load, result.Index, result.Compare,
		result.SnapshotPause*1000, result.WritePause*1000, result.Messages, responses)
}
