package fault_test

import (
	"strings"
	"testing"
	"time"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/ingest"
	"callboard/projector/status"
	"callboard/schema/schematest"
)

// When the stream is deleted and created again, nothing of the new stream is applied and readers serve the old projection, until a
// rebuild projects the new stream.
func TestStreamReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	seed := seed(t)
	h := newHarness(t, seed, bursty)
	h.load.stop()
	h.awaitCaughtUp()
	h.awaitWatermarks(h.pool, time.Now()) // then what the load has sent last is stored, too
	before := schematest.ReadProjection(t, h.postgres.URL(liveDatabase))
	if err := h.js.DeleteStream(t.Context(), events.StreamName); err != nil {
		t.Fatal(err)
	}
	h.createStream()
	h.load = h.startLoad(seed, bursty)
	h.awaitStopReason(ingest.StreamIdentityChanged)
	h.awaitReaders()
	schematest.RequireEqual(t, "tables after the stream was replaced", schematest.ReadProjection(t, h.postgres.URL(liveDatabase)), before)
	h.startRebuild().mustSucceed()
	h.awaitApplied(settleMessages)
	h.verify()
	h.awaitReaders()
	h.load.stop()
	h.check(0, true)
	h.checkNothingLeft(false)
}

// awaitStopReason waits until status reports a stop reason for every partition.
func (h *harness) awaitStopReason(reason string) {
	h.tb.Helper()
	eventstest.Eventually(h.tb, "status reports "+reason, func() bool {
		var report status.Report
		h.command(&report, "status")
		n := 0
		for _, p := range report.Partitions {
			if strings.HasPrefix(p.StopReason, reason) {
				n++
			}
		}
		return n == partitions
	})
}
