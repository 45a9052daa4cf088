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
)

// otherRelease makes the live projection another release's.
func (s *stage) otherRelease() {
	s.TB.Helper()
	s.Exec("update control.generation set definition = '\\x0102' where state = 'live'; update projection.generation set definition = '\\x0102'")
}

// A projection of an earlier release is read until a rebuild puts this one's in its place, and then the projector goes on by itself.
func TestRun_AnotherRelease(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	history := company(51, 60)
	s.grown(history[:len(history)/2])
	s.mustBeForeign(nil)
	s.Exec("alter table projection.call_log drop column route_summary; drop table projection.extension_call")
	missing := []string{"call_log.route_summary", "extension_call"}
	s.mustBeForeign(missing)
	log := new(eventstest.LogBuffer)
	s.StartProjector(projectortest.LogTo(log))
	eventstest.Eventually(t, "the projector has noticed", func() bool { return log.Count(ingest.ProjectionForeign) >= projectortest.Partitions })
	s.goesOver(systemsOf(history), history[len(history)/2:], missing)
	s.WaitUntilCaughtUp()
	s.mustVerify("goes on")
}

// The release before generations had no tables for them, nor a ledger, nor turns.
func TestRun_FirstRelease(t *testing.T) {
	s := newStage(t)
	history := company(52, 60)
	s.grown(history[:len(history)/2])
	s.Exec("drop table projection.message_count, projection.generation; alter table projection.position drop column retry_seq")
	s.mustBeForeign(nil)
	log := new(eventstest.LogBuffer)
	stop := s.StartProjector(projectortest.LogTo(log))
	eventstest.Eventually(t, "the projector has noticed", func() bool { return log.Count(ingest.ProjectionForeign) >= projectortest.Partitions })
	stop()
	s.goesOver(systemsOf(history), history[len(history)/2:], nil)
	s.StartProjector()
	s.WaitUntilCaughtUp()
	s.mustVerify("goes on")
}

// grown is another release's projection of a history.
func (s *stage) grown(history []events.Event) {
	s.TB.Helper()
	stop := s.StartProjector()
	s.Publish(history...)
	s.WaitUntilCaughtUp()
	stop()
	s.otherRelease()
}

// mustBeForeign verifies what another release built, in what both have.
func (s *stage) mustBeForeign(missing []string) {
	s.TB.Helper()
	if found := s.verify(); !found.OtherDefinition || found.Differs() || !slices.Equal(found.MissingColumns, missing) {
		s.TB.Errorf("%+v; want %v to be missing", found, missing)
	}
}

// goesOver rebuilds another release's projection while it is read.
func (s *stage) goesOver(systems []uuid.UUID, rest []events.Event, missing []string) {
	s.TB.Helper()
	before := s.Database.Projection(s.TB)
	if _, err := rebuild.Repair(s.TB.Context(), s.config(), rest[0].System); !errors.Is(err, rebuild.ErrOtherDefinition) {
		s.TB.Errorf("repair: %v", err)
	}
	s.RequireEqualTables("refused repair", before)
	s.Publish(rest...)
	stopCrowd := s.crowd(systems...)
	result := s.rebuild()
	if !result.Comparison.OtherDefinition || result.Comparison.Differs() || !slices.Equal(result.Comparison.MissingColumns, missing) {
		s.TB.Errorf("%+v", result.Comparison)
	}
	s.mustVerify("this release's")
	s.TB.Logf("%d answers", stopCrowd())
	if _, err := rebuild.Rollback(s.TB.Context(), s.config()); !errors.Is(err, rebuild.ErrOtherDefinition) {
		s.TB.Errorf("rollback: %v", err)
	}
}
