package projector_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/projectortest"
)

const day = 24 * time.Hour

// While the stream's clock is a day ahead, no row and no watermark is ahead of the projector's clock by more than a
// second. Afterwards rows have the stream's times again.
func TestProjector_CapsAJumpOfTheStreamsClock(t *testing.T) {
	h, clock := newHarness(t), new(projectortest.Clock)
	clock.Move(-day)
	registry, log := prometheus.NewRegistry(), new(eventstest.LogBuffer)
	h.StartProjector(clock.Option, projectortest.LogTo(log), func(c *projector.Config) { c.Metrics = registry })
	busy, idle := h.NewSystemIn(0), 1
	for range 5 {
		h.publishCall(busy)
		if n := h.QueryInt("select count(*) from projection.call_log where updated_at > $1", clock.Now().Add(time.Second)); n != 0 {
			t.Errorf("calls ahead of the projector's clock = %d, want 0", n)
		}
	}
	eventstest.Eventually(t, "a watermark of the idle partition", func() bool {
		return h.QueryInt("select count(*) from projection.position where partition = $1 and watermark > $2", idle, clock.Now().Add(-time.Hour)) == 1
	})
	if n := h.QueryInt("select count(*) from projection.position where watermark > $1", clock.Now().Add(time.Second)); n != 0 {
		t.Errorf("watermarks ahead of the projector's clock = %d, want 0", n)
	}
	if n := h.QueryInt("select sum(messages)::bigint from control.clock_adjustment where capped"); n != 5 {
		t.Errorf("capped messages on record = %d, want 5", n)
	}
	eventstest.Eventually(t, "the last cap in the log and in the metrics", func() bool {
		return log.Contains("messages capped") && eventstest.Metric(t, registry, "callboard_projector_clock_capped_total") >= 5
	})
	if got := eventstest.Metric(t, registry, "callboard_projector_clock_capped_total"); got != 5 {
		t.Errorf("callboard_projector_clock_capped_total = %v, want 5", got)
	}
	ahead := eventstest.Metric(t, registry, "callboard_projector_clock_ahead_seconds 0")
	if want := day.Seconds(); ahead < want-3600 || ahead > want+3600 {
		t.Errorf("callboard_projector_clock_ahead_seconds = %v, want %v, give or take an hour", ahead, want)
	}

	clock.Move(0)
	published := time.Now()
	h.publishCall(busy)
	if n := h.QueryInt("select count(*) from projection.call_log where updated_at >= $1", published.Add(-time.Second)); n != 1 {
		t.Errorf("calls at the stream's time = %d, want 1", n)
	}
}
