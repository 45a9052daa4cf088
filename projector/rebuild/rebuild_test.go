package rebuild_test

import (
	"testing"

	"callboard/projector/rebuild"
)

func (s *stage) rebuild(change ...func(*rebuild.Config)) rebuild.Result {
	s.tb.Helper()
	config := s.config()
	for _, apply := range change {
		apply(&config)
	}
	result, err := rebuild.Run(s.tb.Context(), config, true)
	if err != nil {
		s.tb.Fatal(err)
	}
	return result
}

// A generation that is built beside the live one has the same rows, position and ledger, and the projector goes on with it.
func TestRun(t *testing.T) {
	s := newStage(t)
	s.start()
	history := company(7, 800)
	half := len(history) / 2
	s.publish(history[:half]...)
	s.poison()
	s.caughtUp()
	before := s.database.Projection(t)
	result := s.rebuild()
	t.Logf("%+v", result)
	if result.Comparison.Differs() || result.Messages != int64(half+2) {
		t.Errorf("%+v", result)
	}
	s.mustEqual("rebuilt", before)
	s.publish(history[half:]...)
	s.caughtUp()
	if n := s.number("select count(*) from control.generation where state in ('live', 'kept')"); n != 2 {
		t.Errorf("%d generations, want 2", n)
	}
	whole := s.database.Projection(t)
	if again := s.rebuild(); again.Comparison.Differs() {
		t.Errorf("%+v", again)
	}
	s.mustEqual("rebuilt again", whole)
}

// Memory for a fraction of a partition gives the same rows, part by part.
func TestRun_LittleMemory(t *testing.T) {
	s := newStage(t)
	s.start()
	s.publish(company(3, 300)...)
	s.poison()
	s.caughtUp()
	before := s.database.Projection(t)
	s.rebuild(func(c *rebuild.Config) { c.Memory = 1 })
	s.mustEqual("rebuilt", before)
	if n := s.number("select max(part) from control.generation_part"); n == 0 {
		t.Error("no partition was cut")
	}
}
