package rebuild_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"callboard/projector/ingest"
	"callboard/projector/rebuild"
	"callboard/schema/schematest"
)

// Another release's projection is compared in the columns that both releases have, and no projector continues it. A
// rebuild replaces it, and then a projector continues.
func TestRun_ReplacesOtherDefinition(t *testing.T) {
	schematest.NeedOneServer(t, "it changes tables")
	history := sampleEvents(51, 60)
	half := len(history) / 2
	h := newStoppedHarness(t, history[:half])
	h.Exec(`
		update control.generation set definition = '\x0102' where state = 'live';
		update projection.generation set definition = '\x0102'`)
	requireOnlyMissing := func(operation string, c rebuild.Comparison, missing ...string) {
		t.Helper()
		if !c.OtherDefinition || c.Differs() || !slices.Equal(c.MissingColumns, missing) {
			t.Errorf("%s: comparison = %+v, want another definition, missing columns %v, no difference", operation, c, missing)
		}
	}
	requireOnlyMissing("verify", h.verify())

	h.Exec("alter table projection.call_log drop column route_summary; drop table projection.extension_entry")
	missing := []string{
		"call_log.route_summary",
		"extension_entry.partition", "extension_entry.system_id", "extension_entry.extension_id", "extension_entry.analysis",
		"extension_entry.created_at", "extension_entry.id",
	}
	requireOnlyMissing("verify", h.verify(), missing...)
	h.requireProjectorStops(ingest.DefinitionMismatch)
	before := h.Database.Projection(t)
	otherDefinition := func(err error) bool { return errors.Is(err, rebuild.ErrOtherDefinition) }
	h.requireErrors(history[0].System, otherDefinition, "repair")
	h.RequireEqualTables("refused repair", before)

	h.Publish(history[half:]...)
	requireOnlyMissing("rebuild", h.rebuild().Comparison, missing...)
	h.requireErrors(uuid.Nil, otherDefinition, "rollback")
	h.StartProjector()
	h.WaitUntilCaughtUp()
	h.requireVerified("continued")
}
