package projector_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/ingest"
	"callboard/projector/projectortest"
)

func TestProjector_EventsBecomeRows(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.StartProjector()
	system, id := uuid.New(), uuid.New()
	h.PublishStates(projectortest.PhoneSystem(system), projectortest.Call(system, id))
	h.WaitUntilCaughtUp()
	if n := h.QueryInt("select count(*) from projection.call_log where system_id = $1 and id = $2", system, id); n != 1 {
		t.Errorf("calls = %d, want 1", n)
	}
	want := int64(events.Partition(system, projectortest.Partitions))
	if got := h.QueryInt("select partition from projection.phone_system where id = $1", system); got != want {
		t.Errorf("partition = %d, want %d", got, want)
	}
}

func TestProjector_IdleWatermarkAdvancesAndNoRowAppearsBehindIt(t *testing.T) {
	t.Parallel()
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

func TestProjector_StandbyTakesOverAfterTheOwnerStops(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	stop := h.StartProjector(productionTick)
	system := uuid.New()
	h.publishCall(system)
	epochs := h.epochs()
	h.StartProjector(productionTick)
	h.publishCall(system)
	if now := h.epochs(); now != epochs {
		t.Errorf("epochs = %d while the owner runs, want %d", now, epochs)
	}
	stop()
	h.publishCall(system)
	if now := h.epochs(); now != epochs+projectortest.Partitions {
		t.Errorf("epochs after the takeover = %d, want %d", now, epochs+projectortest.Partitions)
	}
	h.checkCalls(3)
}

func TestProjector_RecoversFromLostConnections(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.StartProjector()
	system := uuid.New()
	h.publishCall(system)
	h.Server.Restart()
	h.publishCall(system)
	h.Exec("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'callboard_projector' and datname = current_database()")
	h.publishCall(system)
	h.checkCalls(3)
}

// Another client of the consumer costs a restart from the position, but no message.
func TestProjector_RecoversFromAnotherClientOfItsConsumer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.StartProjector()
	system := uuid.New()
	h.publishCall(system)
	var other jetstream.Consumer
	eventstest.Eventually(t, "the consumer, which a late delivery replaces", func() (found bool) {
		var err error
		other, err = h.Stream.Consumer(t.Context(), h.feedConsumer().Name)
		return err == nil
	})
	for i := range 20 {
		h.PublishStates(projectortest.Call(system, uuid.New()))
		if i%5 == 0 {
			if _, err := other.FetchNoWait(1); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.WaitUntilCaughtUp()
	h.checkCalls(21)
	eventstest.Eventually(t, "the consumer is deleted", func() bool {
		return h.Stream.DeleteConsumer(t.Context(), h.feedConsumer().Name) == nil
	})
	h.publishCall(system)
	h.checkCalls(22)
}

func TestProjector_StopsWhenTheStreamIsReplaced(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	log := new(eventstest.LogBuffer)
	stop := h.StartProjector(projectortest.LogTo(log))
	system := uuid.New()
	h.publishCall(system)
	h.ReplaceStream()
	for range 10 {
		h.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	}
	waitForReason(t, log, ingest.StreamIdentityChanged)
	stop()

	log = new(eventstest.LogBuffer)
	h.StartProjector(projectortest.LogTo(log))
	waitForReason(t, log, ingest.StreamIdentityChanged)
	h.checkCalls(1)
}

// A replica that lags could answer that no message waits.
func TestProjector_StopsWhileReplicasMayAnswer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	log := new(eventstest.LogBuffer)
	registry := prometheus.NewRegistry()
	h.StartProjector(projectortest.LogTo(log), exportTo(registry))
	h.publishCall(uuid.New())
	h.SetAllowDirect(true)
	waitForReason(t, log, ingest.StreamDirect)
	waitForSum(t, registry, "callboard_projector_stopped", projectortest.Partitions)
	h.SetAllowDirect(false)
	h.publishCall(uuid.New())
	waitForSum(t, registry, "callboard_projector_stopped", -1)
}

func TestProjector_StopsWithoutItsMigrations(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.Exec("update control.migration set version_id = version_id - 1")
	log := new(eventstest.LogBuffer)
	stop := h.StartProjector(projectortest.LogTo(log))
	h.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	waitForReason(t, log, ingest.MigrationMissing)
	stop()
	h.Exec("update control.migration set version_id = version_id + 1")
	h.StartProjector()
	h.WaitUntilCaughtUp()
}

// A message that was stored behind a published watermark moves the clock to it, and a replay repeats that.
func TestProjector_AdjustsTheClockToTheWatermark(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	stop := h.StartProjector()
	system := uuid.New()
	h.publishCall(system)
	stop()
	ahead := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	h.Exec("update projection.position set watermark = $1", ahead)
	stop = h.StartProjector()
	id := uuid.New()
	h.PublishStates(projectortest.Call(system, id))
	h.WaitUntilCaughtUp()
	stop()
	if n := h.QueryInt("select count(*) from projection.call_log where id = $1 and updated_at = $2", id, ahead); n != 1 {
		t.Errorf("calls at the watermark = %d, want 1", n)
	}
	if n := h.QueryInt("select count(*) from control.clock_adjustment where not capped"); n != 1 {
		t.Errorf("clock adjustments = %d, want 1", n)
	}
	h.RequireReplayEquals(h.Database.Projection(t))
}

// A consumer that stops delivering without an error is replaced.
func TestProjector_ReplacesAStalledConsumer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	log := new(eventstest.LogBuffer)
	h.StartProjector(projectortest.LogTo(log))
	system := uuid.New()
	h.publishCall(system)
	eventstest.Eventually(t, "the consumer is paused", func() bool {
		_, err := h.Stream.PauseConsumer(t.Context(), h.feedConsumer().Name, time.Now().Add(time.Hour))
		return err == nil
	})
	h.PublishStates(projectortest.Call(system, uuid.New()))
	eventstest.Eventually(t, "the stall in the log", func() bool { return log.Contains("stopped delivering") })
	h.WaitUntilCaughtUp()
	h.checkCalls(2)
}
