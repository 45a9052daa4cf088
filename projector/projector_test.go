package projector_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/ingest"
	"callboard/projector/projectortest"
)

func TestProjector_IdleWatermarkAdvancesAndNoRowAppearsBehindIt(t *testing.T) {
	h := newHarness(t)
	h.StartProjector()
	before := time.Now()
	eventstest.Eventually(t, "every watermark past the test's start", func() bool {
		return h.QueryInt("select count(*) from projection.position where watermark > $1", before) == projectortest.Partitions
	})
	system := uuid.New()
	for range 200 {
		h.PublishStates(projectortest.Call(system, uuid.New()))
	}
	h.WaitUntilCaughtUp()
	if n := h.QueryInt("select count(*) from projection.call_log where updated_at < $1", before); n != 0 {
		t.Errorf("rows behind the watermark = %d, want 0", n)
	}
	if n := h.QueryInt("select count(*) from projection.position where watermark < clock"); n != 0 {
		t.Errorf("partitions with a watermark behind their clock = %d, want 0", n)
	}
}

// A projector that stands by owns nothing, and tells nothing about partitions. It takes over when the owner stops.
func TestProjector_Standby(t *testing.T) {
	h := newHarness(t)
	owner, standby := prometheus.NewRegistry(), prometheus.NewRegistry()
	stop := h.StartProjector(productionTick, exportTo(owner))
	system := h.NewSystemIn(0)
	h.publishCall(system)
	waitForSum(t, owner, "callboard_projector_owned", projectortest.Partitions)
	epochs := h.epochs()
	h.StartProjector(productionTick, exportTo(standby))
	h.publishCall(system)
	waitForSum(t, standby, "callboard_projector_owned", 0)
	waitForSum(t, standby, "callboard_projector_position", -1)
	if now := h.epochs(); now != epochs {
		t.Errorf("epochs = %d while the owner runs, want %d", now, epochs)
	}

	stop()
	h.publishCall(system)
	waitForSum(t, standby, "callboard_projector_owned", projectortest.Partitions)
	waitForSum(t, owner, "callboard_projector_owned", 0)
	for _, name := range []string{"position", "pending", "watermark_seconds"} {
		waitForSum(t, owner, "callboard_projector_"+name, -1)
	}
	if now := h.epochs(); now != epochs+projectortest.Partitions {
		t.Errorf("epochs after the takeover = %d, want %d", now, epochs+projectortest.Partitions)
	}
	h.checkCalls(3)
}

// A projector goes on after its connections were lost. As after a failover, it reads the whole journal of keys again.
func TestProjector_RecoversFromLostConnections(t *testing.T) {
	h := newHarness(t)
	key, now := h.insertKey(), time.Now()
	if err := events.PublishKeyEnd(t.Context(), h.JetStream, events.KeyEnd{ID: key, RevokedAt: &now}); err != nil {
		t.Fatal(err)
	}
	revoked := func() bool { return h.revokedAt(key) != nil }
	h.StartProjector()
	system := uuid.New()
	h.publishCall(system)
	h.Server.Restart()
	h.publishCall(system)
	eventstest.Eventually(t, "the key is revoked", revoked)
	h.Exec("update access.key set revoked_at = null")
	h.Exec("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'callboard_projector' and datname = current_database()")
	h.publishCall(system)
	h.checkCalls(3)
	eventstest.Eventually(t, "the key is revoked again", revoked)
}

// What contradicts the position stops every partition, of a projector that runs and of a new one. Once it is over, a
// projector continues.
func TestProjector_Stops(t *testing.T) {
	t.Parallel()
	migrations := func(h *harness, by int) { h.Exec("update control.migration set version_id = version_id + $1", by) }
	for reason, c := range map[string]struct {
		atStart      bool // it is noticed at the start only
		change, undo func(h *harness)
	}{
		ingest.StreamDirect: {
			false, func(h *harness) { h.SetAllowDirect(true) },
			func(h *harness) { h.SetAllowDirect(false) },
		},
		ingest.StreamRepartitioned: {
			false, func(h *harness) { h.SetPartitions(2 * projectortest.Partitions) },
			func(h *harness) { h.SetPartitions(projectortest.Partitions) },
		},
		ingest.StreamIdentityChanged: {false, func(h *harness) { h.ReplaceStream() }, nil},
		ingest.MigrationMissing:      {true, func(h *harness) { migrations(h, -1) }, func(h *harness) { migrations(h, 1) }},
	} {
		t.Run(reason, func(t *testing.T) {
			h, log, registry := newHarness(t), new(eventstest.LogBuffer), prometheus.NewRegistry()
			stop := h.StartProjector(projectortest.LogTo(log), exportTo(registry))
			system := h.NewSystemIn(0)
			h.publishCall(system)
			c.change(h)
			if !c.atStart {
				waitForReason(t, log, reason)
				waitForSum(t, registry, "callboard_projector_stopped", projectortest.Partitions)
			}
			stop()
			log = new(eventstest.LogBuffer)
			began := time.Now()
			stop = h.StartProjector(projectortest.LogTo(log))
			h.PublishStates(projectortest.Call(system, uuid.New()))
			waitForReason(t, log, reason)
			h.checkCalls(1)
			for line := range strings.Lines(log.String()) { // the partitions are not tried again soon
				var stopped struct {
					NotBefore time.Time `json:"not_before"`
				}
				if !strings.Contains(line, reason) || !strings.Contains(line, "partition stopped") {
					continue
				}
				err := json.Unmarshal([]byte(line), &stopped)
				if err != nil || stopped.NotBefore.Sub(began) < projector.MaxInterval-time.Second {
					t.Errorf("log = %s, want that it is tried again after %s", line, projector.MaxInterval)
				}
			}
			if c.undo == nil {
				return
			}
			stop()
			c.undo(h)
			h.StartProjector()
			h.publishCall(system)
			const calls = "select count(*) from projection.call_log"
			if n := h.QueryInt(calls); n < 2 { // with other partitions, the second one was stored where nobody looks
				t.Errorf("calls = %d, want 2 or 3", n)
			}
		})
	}
}

// A consumer that stops delivering without an error is replaced.
func TestProjector_ReplacesAStalledConsumer(t *testing.T) {
	h := newHarness(t)
	log := new(eventstest.LogBuffer)
	h.StartProjector(projectortest.LogTo(log))
	system := uuid.New()
	h.publishCall(system)
	eventstest.Eventually(t, "the consumer is paused", func() bool {
		_, err := h.Stream.PauseConsumer(t.Context(), h.feedConsumers(0)[0], time.Now().Add(time.Hour))
		return err == nil
	})
	h.PublishStates(projectortest.Call(system, uuid.New()))
	eventstest.Eventually(t, "the stall in the log", func() bool { return log.Contains("stopped delivering") })
	h.WaitUntilCaughtUp()
	h.checkCalls(2)
}
