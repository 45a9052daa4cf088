package fault_test

import (
	"time"
)

// suffer injects a fault and waits until all of it is made good, or now and then doesn't wait, so that the next one comes before.
func (s *stage) suffer(k kind, number int) {
	s.tb.Helper()
	began := time.Now()
	s.tb.Logf("%d. %s", number, k.name)
	k.inject(s)
	over := time.Now()
	s.mustRun()
	if s.dice.IntN(4) == 0 {
		s.tb.Logf("%s, and on", brief(over.Sub(began)))
		s.figures.count(k.name)
		return
	}
	s.caughtUp()
	s.answering()
	took := time.Since(over)
	s.tb.Logf("%s, made good in %s", brief(over.Sub(began)), brief(took))
	s.figures.count(k.name, took)
}

// mustRun fails the test if something has ended that nobody has ended.
func (s *stage) mustRun() {
	s.tb.Helper()
	s.nats.mustRun()
	for _, p := range s.projectors {
		p.mustRun()
	}
	for _, r := range s.readers {
		r.mustRun()
	}
}

// answering waits until every reader answers.
func (s *stage) answering() {
	s.tb.Helper()
	client := newClient(s.tb)
	for _, r := range s.readers {
		await(s.tb, r.name+" answers", func() bool {
			got, err := client.get(s.tb.Context(), r.at.Load().url, s.keyring.group, "")
			return err == nil && got.status == 200
		})
	}
}

func brief(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
