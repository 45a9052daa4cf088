package limit

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// outcome is how a request for a permit ended.
type outcome string

const (
	allowed            outcome = "allowed"
	refused            outcome = "refused"
	refusedLocally     outcome = "refused_locally" // without asking: the key is known to be over its budget
	unreachableAllowed outcome = "unreachable_allowed"
	unreachableRefused outcome = "unreachable_refused"
	abandoned          outcome = "abandoned" // the request ended before
)

type metrics struct {
	decisions *prometheus.CounterVec // outcome
	duration  prometheus.Histogram   // seconds
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "callboard_readapi_limit_decisions_total",
			Help: "Decisions on requests' budgets, by outcome.",
		}, []string{"outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "callboard_readapi_limit_seconds",
			Help:    "Time of asking for a permit. Requests that are refused without asking are not in it.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1},
		}),
	}
	for _, o := range []outcome{allowed, refused, refusedLocally, unreachableAllowed, unreachableRefused, abandoned} {
		m.decisions.WithLabelValues(string(o))
	}
	if err := errors.Join(registerer.Register(m.decisions), registerer.Register(m.duration)); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return m, nil
}

func (m *metrics) count(o outcome, began time.Time) {
	m.decisions.WithLabelValues(string(o)).Inc()
	if o != refusedLocally {
		m.duration.Observe(time.Since(began).Seconds())
	}
}
