package limit

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// outcome is how a decision ended, the label of the metric.
type outcome string

const (
	allowed            outcome = "allowed"
	refused            outcome = "refused"
	refusedLocally     outcome = "refused_locally" // NATS was not asked: a bucket is known to be full
	unreachableAllowed outcome = "unreachable_allowed"
	unreachableRefused outcome = "unreachable_refused"
	abandoned          outcome = "abandoned" // the client has gone
)

type metrics struct {
	decisions *prometheus.CounterVec // outcome
	duration  prometheus.Histogram   // seconds
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "callboard_readapi_limit_decisions_total",
			Help: "Decisions on budgets by outcome.",
		}, []string{"outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "callboard_readapi_limit_seconds",
			Help:    "Time to take a permit in seconds. Requests that are refused locally are not included.",
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

// minOutage is the shortest outage: an overloaded server would otherwise fill the log with begins and ends.
const minOutage = time.Second

// outage logs when something becomes unavailable and when it is available again. Its methods are cheap enough for every request.
type outage struct {
	log   zerolog.Logger
	what  string
	since atomic.Pointer[time.Time] // nil while it is available
}

func newOutage(log zerolog.Logger, what string) *outage { return &outage{log: log, what: what} }

func (o *outage) begin(err error) {
	now := time.Now()
	if o.since.CompareAndSwap(nil, &now) {
		o.log.Warn().Err(err).Msg(o.what + " unavailable")
	}
}

func (o *outage) end() {
	since := o.since.Load()
	if since == nil || time.Since(*since) < minOutage {
		return
	}
	if o.since.CompareAndSwap(since, nil) {
		o.log.Info().Dur("after", time.Since(*since)).Msg(o.what + " available again")
	}
}
