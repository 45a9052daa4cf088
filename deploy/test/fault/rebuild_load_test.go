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

// strictClients read from both readers and tolerate no refusal.
type strictClients struct {
	*clients
	watchers []*detailWatcher
}

// startStrictClients starts a report client for each phone system, and a pager and a detail watcher for each reader.
func (h *harness) startStrictClients() *strictClients {
	h.tb.Helper()
	s := &strictClients{}
	s.clients = h.newClients(true, func(ctx context.Context, c *clients) {
		for _, r := range h.readers {
			p, w := pager{monotonicReader: c.newMonotonicReader(), reader: r}, c.newDetailWatcher(r)
			s.watchers = append(s.watchers, w)
			c.running.Go(func() { p.run(ctx) })
			c.running.Go(func() { w.run(ctx) })
		}
	})
	return s
}

// finish is [clients.finish] with the check of watched details.
func (s *strictClients) finish() {
	h := s.harness
	h.tb.Helper()
	s.clients.finish()
	unchanged, all := 0, 0
	for _, w := range s.watchers {
		all += len(w.details)
		unchanged += w.countUnchanged(h.tb.Context())
	}
	if unchanged == 0 {
		h.tb.Errorf("unchanged details = 0 of %d, want some to compare", all)
	}
	h.summary.addTotal("%d of %d watched details did not change", unchanged, all)
}

// commandUnderLoad runs a command while cursors are in flight, which must be good after it.
func (s *strictClients) commandUnderLoad(args []string) {
	h := s.harness
	h.tb.Helper()
	cursors := s.openCursors(h.tb.Context())
	before, start := s.responses(), time.Now()
	var result rebuild.Result
	h.command(&result, args...)
	end, responses := time.Now(), s.responses()-before
	if len(result.Comparison.Changes) > 0 {
		h.tb.Errorf("%v: changes = %v, want none", args, result.Comparison.Changes)
	}
	s.finishCursors(h.tb.Context(), cursors)
	h.awaitApplied(settleMessages)
	h.summary.addTotal("%s: %s (load %.1fs, index %.1fs, compare %.1fs), writes paused for %.0f and %.0f ms; %d messages; %d responses",
		strings.Join(args, " "), round(end.Sub(start)), result.Load, result.Index, result.Compare,
		result.SnapshotPause*1000, result.WritePause*1000, result.Messages, responses)
}
