package projector_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/projectortest"
)

// A call that is published after the call frontier has passed it gets its row, and is counted.
func TestProjector_CountsLateCalls(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	registry, log := prometheus.NewRegistry(), new(eventstest.LogBuffer)
	h.StartProjector(projectortest.LogTo(log), func(c *projector.Config) { c.Metrics = registry })
	system := h.NewSystemIn(0)
	now := time.Now()
	h.PublishStates(&events.CallFrontier{PhoneSystemID: system, Version: 1, Through: events.TimeOf(now)})
	punctual, late := projectortest.Call(system, uuid.New()), projectortest.Call(system, uuid.New())
	punctual.CreatedAt, late.CreatedAt = events.TimeOf(now), events.TimeOf(now.Add(-day))
	h.PublishStates(punctual, late)
	h.WaitUntilCaughtUp()
	if n := h.QueryInt("select count(*) from projection.call_log"); n != 2 {
		t.Errorf("calls = %d, want 2", n)
	}
	eventstest.Eventually(t, "the log says that a call was late", func() bool { return log.Contains("late calls") })
	if got := eventstest.Metric(t, registry, "callboard_projector_late_calls_total"); got != 1 {
		t.Errorf("callboard_projector_late_calls_total = %v, want 1", got)
	}
	h.RequireReplayEquals(h.Database.Projection(t))
}
