package fault_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"callboard/projector/rebuild"
)

const (
	fullLoad       = 500    // events per second, as far as the machine allows
	fullLoadEvents = 15_000 // until the load decays
	settleMessages = 200    // applied between two commands
)

// While the projection is rebuilt, rolled back and rebuilt under load, strict clients notice nothing.
func TestRebuild_UnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	h := newHarness(t, seed(t), decaying(constant(fullLoad), fullLoadEvents))
	c := h.startStrictClients()
	monitor, stop := h.startLagMonitor()
	start := time.Now()
	h.awaitApplied(settleMessages)
	h.summary.addTotal("before: %s", monitor.between(start, time.Now()))
	for _, args := range []string{"rebuild --keep", "rollback", "rebuild"} {
		c.commandUnderLoad(monitor, strings.Fields(args))
	}
	h.load.stop()
	c.finish()
	stop()
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
func (s *strictClients) commandUnderLoad(m *lagMonitor, args []string) {
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
	h.summary.addTotal("%s: %s (fold %.1fs, index %.1fs, follow %.1fs, compare %.1fs), writes paused for %.0f and %.0f ms; %d messages folded; %d responses; %s",
		strings.Join(args, " "), round(end.Sub(start)), result.Fold, result.Index, result.Follow, result.Compare,
		result.SnapshotPause*1000, result.WritePause*1000, result.Messages, responses, m.between(start, end))
	h.summary.addTotal("  after: %s", m.between(end, time.Now()))
}

// lagMonitor samples how far the live projection is behind the stream.
type lagMonitor struct {
	harness *harness
	running sync.WaitGroup

	mu      sync.Mutex
	samples []lagSample
}

type lagSample struct {
	at      time.Time
	applied int64         // messages
	lag     int64         // messages in the stream that are not applied
	age     time.Duration // of the oldest watermark
}

const sampleInterval = 100 * time.Millisecond

const sampleQuery = `
  select (select coalesce(sum(read), 0)::bigint from projection.message_count), (clock_timestamp() - min(watermark))::interval
  from projection.position`

// startLagMonitor samples until stop is called.
func (h *harness) startLagMonitor() (m *lagMonitor, stop func()) {
	h.tb.Helper()
	m = &lagMonitor{harness: h}
	ctx, cancel := context.WithCancel(h.tb.Context())
	m.running.Go(func() {
		tick := time.NewTicker(sampleInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				m.sample(ctx)
			}
		}
	})
	stop = func() { cancel(); m.running.Wait() }
	h.tb.Cleanup(stop)
	return m, stop
}

func (m *lagMonitor) sample(ctx context.Context) {
	s := lagSample{at: time.Now()}
	err := m.harness.pool.QueryRow(ctx, sampleQuery).Scan(&s.applied, &s.age)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		m.harness.tb.Errorf("lag: %v", err)
	}
	s.lag = m.harness.load.published.Load() - s.applied
	m.mu.Lock()
	defer m.mu.Unlock()
	m.samples = append(m.samples, s)
}

// between describes the projection's progress in a period.
func (m *lagMonitor) between(from, to time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var first, last, most lagSample
	for _, s := range m.samples {
		if s.at.Before(from) || s.at.After(to) {
			continue
		}
		if first.at.IsZero() {
			first = s
		}
		last = s
		most.lag, most.age = max(most.lag, s.lag), max(most.age, s.age)
	}
	rate := 0.0
	if last.at.After(first.at) {
		rate = float64(last.applied-first.applied) / last.at.Sub(first.at).Seconds()
	}
	return fmt.Sprintf("%.0f messages/s applied, lag at most %d messages and %s", rate, most.lag, round(most.age))
}
