package fault_test

import (
	"context"
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
	c := h.startStrictClients()
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

// startStrictClients starts a report client for each phone system, and a pager for each reader. They read from both readers
// and tolerate no refusal.
func (h *harness) startStrictClients() *clients {
	h.tb.Helper()
	return h.newClients(true, func(ctx context.Context, c *clients) {
		for _, r := range h.readers {
			p := pager{monotonicReader: c.newMonotonicReader(), reader: r}
			c.running.Go(func() { p.run(ctx) })
		}
	})
}

// commandUnderLoad runs a command while cursors are in flight, which must be good after it.
func (c *clients) commandUnderLoad(args []string) {
	h := c.harness
	h.tb.Helper()
	cursors := c.openCursors(h.tb.Context())
	before, start := c.responses(), time.Now()
	var result rebuild.Result
	h.command(&result, args...)
	end, responses := time.Now(), c.responses()-before
	if len(result.Comparison.Changes) > 0 {
		h.tb.Errorf("%v: changes = %v, want none", args, result.Comparison.Changes)
	}
	c.finishCursors(h.tb.Context(), cursors)
	h.awaitApplied(settleMessages)
	h.summary.addTotal("%s: %s (load %.1fs, index %.1fs, compare %.1fs), writes paused for %.0f and %.0f ms; %d messages; %d responses",
		strings.Join(args, " "), round(end.Sub(start)), result.Load, result.Index, result.Compare,
		result.SnapshotPause*1000, result.WritePause*1000, result.Messages, responses)
}
