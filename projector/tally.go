package projector

import (
	"callboard/events"
	"callboard/projector/fold"
)

// tally counts what became of a batch's events.
type tally map[tallied]int

type tallied struct {
	entity  events.Entity
	outcome fold.Outcome
}

func (t tally) count(m *metrics) {
	for what, n := range t {
		m.events.WithLabelValues(string(what.entity), what.outcome.String()).Add(float64(n))
	}
}
