package rebuild_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/ingest"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
	"callboard/schema/schematest"
)

// A rebuild replaces another release's projection while it is read. The projector, which had stopped, then
// continues by itself.
func TestRun_ReplacesOtherDefinition(t *testing.T) {
	schematest.NeedOneServer(t, "it changes tables")
	t.Parallel()
	history := sampleEvents(51, 60)
	half := len(history) / 2
	h := newOtherReleaseHarness(t, history[:half])
	h.requireOtherDefinition(nil)
	h.Exec("alter table projection.call_log drop column route_summary; drop table projection.extension_entry")
	missing := []string{
		"call_log.route_summary",
		"extension_entry.partition", "extension_entry.system_id", "extension_entry.extension_id", "extension_entry.analysis",
		"extension_entry.created_at", "extension_entry.id",
	}
	h.requireOtherDefinition(missing)
	h.startRefusedProjector(ingest.DefinitionMismatch)
	h.replaceOtherRelease(systemsOf(history), history[half:], missing)
	h.WaitUntilCaughtUp()
	h.requireVerified("continued")
}

// newOtherReleaseHarness returns a harness in which another release has built the projection of a history.
func newOtherReleaseHarness(t *testing.T, history []events.Event) *harness {
	t.Helper()
	h := newStoppedHarness(t, history)
	h.Exec("update control.generation set definition = '\\x0102' where state = 'live'; update projection.generation set definition = '\\x0102'")
	return h
}

// startRefusedProjector starts a projector and waits until it has stopped every partition for a reason. It retries
// after 10 s.
func (h *harness) startRefusedProjector(reason string) (stop func()) {
	h.Helper()
	log := new(eventstest.LogBuffer)
	stop = h.StartProjector(projectortest.LogTo(log))
	eventstest.Eventually(h.TB, "every partition stopped: "+reason, func() bool { return log.Count(reason) >= h.Partitions })
	return stop
}

// requireProjectorStops requires that a projector stops every partition for a reason.
func (h *harness) requireProjectorStops(reason string) {
	h.Helper()
	h.startRefusedProjector(reason)()
}

// requireOtherDefinition verifies another release's projection in the columns that both releases have.
func (h *harness) requireOtherDefinition(missing []string) {
	h.Helper()
	h.requireOnlyMissing("verify", h.verify(), missing)
}

func (h *harness) requireOnlyMissing(operation string, c rebuild.Comparison, missing []string) {
	h.Helper()
	if !c.OtherDefinition || c.Differs() || !slices.Equal(c.MissingColumns, missing) {
		h.Errorf("%s: comparison = %+v, want another definition, missing columns %v, no difference", operation, c, missing)
	}
}

// replaceOtherRelease rebuilds another release's projection while it is read.
func (h *harness) replaceOtherRelease(systems []uuid.UUID, rest []events.Event, missing []string) {
	h.Helper()
	before := h.Database.Projection(h.TB)
	otherDefinition := func(err error) bool { return errors.Is(err, rebuild.ErrOtherDefinition) }
	h.requireErrors(rest[0].System, otherDefinition, "repair")
	h.RequireEqualTables("refused repair", before)
	h.Publish(rest...)
	stopReaders := h.startReaders(systems...)
	h.requireOnlyMissing("rebuild", h.rebuild().Comparison, missing)
	h.requireVerified("replaced")
	stopReaders()
	h.requireErrors(uuid.Nil, otherDefinition, "rollback")
}
