package projector_test

import (
	"testing"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/ingest"
	"callboard/projector/projectortest"
)

// A server that is restored from a backup has lost the end of its stream. A partition without messages since
// notices it, too, however many messages the stream has received again.
func TestProjector_StopsWhenTheStreamLostItsEnd(t *testing.T) {
	h := newHarness(t)
	log, proxy := new(eventstest.LogBuffer), eventstest.NewProxy(t, h.Server.URL())
	throughProxy := func(c *projector.Config) { c.JetStream = eventstest.JetStream(t, "nats://"+proxy.Addr()) }
	h.StartProjector(projectortest.LogTo(log), throughProxy)
	busy, idle := h.NewSystemIn(0), h.NewSystemIn(1)
	h.Apply(projectortest.PhoneSystem(busy), projectortest.PhoneSystem(idle))
	restore := h.Server.Backup()
	for range 20 {
		h.PublishStates(projectortest.Call(busy, uuid.New()))
	}
	h.WaitUntilCaughtUp()
	resume := proxy.Pause()
	restore()
	for range 30 {
		h.PublishStates(projectortest.Call(idle, uuid.New()))
	}
	resume()
	waitForReason(t, log, ingest.StreamRegressed)
	if n := h.QueryInt("select count(*) from projection.call_log where system_id = $1", idle); n != 0 {
		t.Errorf("calls after the loss = %d, want 0", n)
	}
}
