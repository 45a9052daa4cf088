package rebuild_test

import (
	"testing"

	"callboard/projector/rebuild"
)

func (s *stage) rebuild(change ...func(*rebuild.Config)) rebuild.Result {
	s.TB.Helper()
	config := s.config()
	for _, apply := range change {
		apply(&config)
	}
	result, err := rebuild.Run(s.TB.Context(), config, true)
	if err != nil {
		s.TB.Fatal(err)
	}
	return result
}

// A generation that is built beside the live one has the same rows, position and ledger, and the projector goes on with it.
func TestRun(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	history := company(7, 800)
	half := len(history) / 2
	s.Publish(history[:half]...)
	s.poison()
	s.WaitUntilCaughtUp()
	before := s.Database.Projection(t)
	result := s.rebuild()
	t.Logf("%+v", result)
	if result.Comparison.Differs() || result.Messages != int64(half+2) {
		t.Errorf("%+v", result)
	}
	s.RequireEqualTables("rebuilt", before)
	s.Publish(history[half:]...)
	s.WaitUntilCaughtUp()
	if n := s.QueryInt("select count(*) from control.generation where state in ('live', 'previous')"); n != 2 {
		t.Errorf("%d generations, want 2", n)
	}
	whole := s.Database.Projection(t)
	if again := s.rebuild(); again.Comparison.Differs() {
		t.Errorf("%+v", again)
	}
	s.RequireEqualTables("rebuilt again", whole)
}

// Memory for a fraction of a partition gives the same rows, part by part.
func TestRun_LittleMemory(t *testing.T) {
	s := newStage(t)
	s.StartProjector()
	s.Publish(company(3, 300)...)
	s.poison()
	s.WaitUntilCaughtUp()
	before := s.Database.Projection(t)
	s.rebuild(func(c *rebuild.Config) { c.Memory = 1 })
	s.RequireEqualTables("rebuilt", before)
	if n := s.QueryInt("select max(part) from control.generation_part"); n == 0 {
		t.Error("no partition was cut")
	}
}
