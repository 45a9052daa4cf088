package fault_test

import (
	"testing"

	"callboard/events"
	"callboard/projector/rebuild"
)

// While a mirror takes the place of the stream of events, under load, strict clients notice nothing, and publishers wait for less than five
// seconds. Then the former stream is deleted.
func TestStreamAdopted(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	h := newHarness(t, seed(t), bursty)
	c := h.startStrictClients()
	h.awaitApplied(settleMessages)
	const successor = "PHONES2"
	var mirror any
	h.command(&mirror, "stream", "mirror", successor)
	var result rebuild.Adoption
	h.command(&result, "stream", "adopt", successor)
	if !result.Adopted || result.Replaced != events.StreamName || result.Comparison.Differs() {
		t.Errorf("adoption = %+v, want a new one without differences", result)
	}
	h.summary.addTotal("no event could be published for %.0f ms", result.Pause*1000)
	h.streamName = successor
	h.awaitApplied(settleMessages)
	if err := h.js.DeleteStream(t.Context(), events.StreamName); err != nil {
		t.Fatal(err)
	}
	h.awaitApplied(settleMessages)
	h.load.stop()
	c.finish()
	h.verify()
	h.checkNothingLeft(true)
	h.logSummary()
}
