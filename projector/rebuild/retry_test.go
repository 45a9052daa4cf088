package rebuild_test

import (
	"errors"
	"testing"

	"callboard/projector/rebuild"
)

// A retry that was applied and can't be any more is told, and keeps a repair from throwing its rows away.
func TestRepair_RetryUnreadable(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	s.Exec("alter table projection.transcript_text add constraint picky check (length(text) < 1000)")
	system := s.transcribed()
	s.letGo()
	s.retry()
	if n := s.QueryInt("select count(*) from projection.transcript_text"); n != 1 || s.open() != 0 {
		t.Fatalf("%d texts, %d open letters", n, s.open())
	}
	s.mustVerify("retried")
	before := s.Database.Projection(t)
	s.loseBodies()
	if found := s.verify(); len(found.Unreadable) != 1 {
		t.Errorf("verification: %+v", found)
	}
	if _, err := rebuild.Repair(t.Context(), s.config(), system); !errors.Is(err, rebuild.ErrUnreadable) {
		t.Errorf("repair: %v", err)
	}
	s.RequireEqualTables("refused repair", before)
}
