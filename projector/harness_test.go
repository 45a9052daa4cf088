package projector_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/projectortest"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	eventstest.RunAtOnce(6)
	schematest.RunAndFindLeaks(m, eventstest.IgnoreObjectStoreWatcher())
}

type harness struct {
	*projectortest.Harness
}

// newHarness returns the harness of a test that runs beside others.
func newHarness(t *testing.T, options ...projectortest.Option) *harness {
	t.Helper()
	t.Parallel()
	return &harness{projectortest.NewHarness(t, options...)}
}

// productionTick makes a partition restart after a delivery that takes 20 ticks of the projector's default, which
// are ten seconds. With those of other tests, a pause of a second is enough.
func productionTick(c *projector.Config) { c.Tick = 500 * time.Millisecond }

// waitForReason waits until every partition has logged its stop reason.
func waitForReason(t *testing.T, log *eventstest.LogBuffer, reason string) {
	t.Helper()
	eventstest.Eventually(t, reason+" of every partition", func() bool { return log.Count(reason) >= projectortest.Partitions })
}

// checkCalls checks the number of calls in the tables.
func (h *harness) checkCalls(want int64) {
	h.Helper()
	if got := h.QueryInt("select count(*) from projection.call_log"); got != want {
		h.Errorf("calls = %d, want %d", got, want)
	}
}

func (h *harness) epochs() int64 {
	h.Helper()
	return h.QueryInt("select sum(epoch)::bigint from projection.position")
}

// publishCall publishes a call and waits until it is in the tables.
func (h *harness) publishCall(system uuid.UUID) {
	h.Helper()
	h.Apply(projectortest.Call(system, uuid.New()))
}
