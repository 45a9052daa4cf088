package limit

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// outcome is how a decision ended, the label of the metric.
type outcome string

const (
	allowed            outcome = "allowed"
	refused            outcome = "refused"
	refusedLocally     outcome = "refused_locally" // from memory: the counters that were last stored are full
	unreachableAllowed outcome = "unreachable_allowed"
	unreachableRefused outcome = "unreachable_refused"
	abandoned          outcome = "abandoned" // the client has gone
)

type metrics struct {
	decisions *prometheus.CounterVec // outcome
	waiting   prometheus.Gauge
	duration  prometheus.Histogram // seconds
}

// newMetrics registers the metrics. It panics if they are registered already.
func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	m := &metrics{
		decisions: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "callboard_readapi_limit_decisions_total",
			Help: "Decisions on budgets by outcome.",
		}, []string{"outcome"}),
		waiting: factory.NewGauge(prometheus.GaugeOpts{
			Name: "callboard_readapi_limit_waiting",
			Help: "Requests that wait for a decision on their budget.",
		}),
		duration: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "callboard_readapi_limit_seconds",
			Help:    "Time to take a permit in seconds. Requests that are refused from memory are not included.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}),
	}
	for _, o := range []outcome{allowed, refused, refusedLocally, unreachableAllowed, unreachableRefused, abandoned} {
		m.decisions.WithLabelValues(string(o))
	}
	return m
}

func (m *metrics) count(o outcome, began time.Time) {
	m.decisions.WithLabelValues(string(o)).Inc()
	if o != refusedLocally {
		m.duration.Observe(time.Since(began).Seconds())
	}
}
