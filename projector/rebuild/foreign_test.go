package rebuild_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector"
	"callboard/projector/rebuild"
)

// otherRelease makes the live projection another release's.
func (s *stage) otherRelease() {
	s.tb.Helper()
	s.exec("update control.generation set definition = '\\x0102' where state = 'live'; update projection.generation set definition = '\\x0102'")
}

// A projection of an earlier release is read until a rebuild puts this one's in its place, and then the projector goes on by itself.
func TestRun_AnotherRelease(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	history := company(51, 60)
	s.grown(history[:len(history)/2])
	s.mustBeForeign(nil)
	s.exec("alter table projection.call_log drop column route_summary; drop table projection.extension_call")
	missing := []string{"call_log.route_summary", "extension_call"}
	s.mustBeForeign(missing)
	log := new(journal)
	s.start(log.instead)
	await(t, "the projector has noticed", func() bool { return log.count(projector.ProjectionForeign) >= partitions })
	s.goesOver(systemsOf(history), history[len(history)/2:], missing)
	s.caughtUp()
	s.mustVerify("goes on")
}

// The release before generations had no tables for them, nor a ledger, nor turns.
func TestRun_FirstRelease(t *testing.T) {
	s := newStage(t)
	history := company(52, 60)
	s.grown(history[:len(history)/2])
	s.exec("drop table projection.coverage, projection.generation; alter table projection.position drop column turn")
	s.mustBeForeign(nil)
	log := new(journal)
	stop := s.start(log.instead)
	await(t, "the projector has noticed", func() bool { return log.count(projector.ProjectionForeign) >= partitions })
	stop()
	s.goesOver(systemsOf(history), history[len(history)/2:], nil)
	s.start()
	s.caughtUp()
	s.mustVerify("goes on")
}

// grown is another release's projection of a history.
func (s *stage) grown(history []events.Event) {
	s.tb.Helper()
	stop := s.start()
	s.publish(history...)
	s.caughtUp()
	stop()
	s.otherRelease()
}

// mustBeForeign verifies what another release built, in what both have.
func (s *stage) mustBeForeign(missing []string) {
	s.tb.Helper()
	if found := s.verify(); !found.Foreign || found.Differs() || !slices.Equal(found.Missing, missing) {
		s.tb.Errorf("%+v; want %v to be missing", found, missing)
	}
}

// goesOver rebuilds another release's projection while it is read.
func (s *stage) goesOver(systems []uuid.UUID, rest []events.Event, missing []string) {
	s.tb.Helper()
	before := s.database.Projection(s.tb)
	if _, err := rebuild.Repair(s.tb.Context(), s.config(), rest[0].System); !errors.Is(err, rebuild.ErrForeign) {
		s.tb.Errorf("repair: %v", err)
	}
	s.mustEqual("refused repair", before)
	s.publish(rest...)
	stopCrowd := s.crowd(systems...)
	result := s.rebuild()
	if !result.Comparison.Foreign || result.Comparison.Differs() || !slices.Equal(result.Comparison.Missing, missing) {
		s.tb.Errorf("%+v", result.Comparison)
	}
	s.mustVerify("this release's")
	s.tb.Logf("%d answers", stopCrowd())
	if _, err := rebuild.Rollback(s.tb.Context(), s.config()); !errors.Is(err, rebuild.ErrForeign) {
		s.tb.Errorf("rollback: %v", err)
	}
}
