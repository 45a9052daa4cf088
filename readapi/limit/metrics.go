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
	refusedLocally     outcome = "refused_locally" // from memory: the log that was last stored is full
	unreachableAllowed outcome = "unreachable_allowed"
	unreachableRefused outcome = "unreachable_refused"
	abandoned          outcome = "abandoned" // the client has gone
)

type metrics struct {
	decisions *prometheus.CounterVec // outcome
	refusals  *prometheus.CounterVec // reason
	writes    *prometheus.CounterVec // result
	waiting   prometheus.Gauge
	duration  prometheus.Histogram // seconds
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "callboard_readapi_limit_decisions_total",
			Help: "Decisions on budgets by outcome.",
		}, []string{"outcome"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "callboard_readapi_limit_refusals_total",
			Help: "Refused requests by reason: rate, or unreachable if NATS did not decide.",
		}, []string{"reason"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "callboard_readapi_limit_writes_total",
			Help: "Writes of logs of permits by result. One write decides about all requests of a lineage that wait.",
		}, []string{"result"}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "callboard_readapi_limit_waiting",
			Help: "Requests that wait for a decision on their budget.",
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "callboard_readapi_limit_seconds",
			Help:    "Time to take a permit in seconds. Requests that are refused from memory are not included.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}),
	}
	for _, o := range []outcome{allowed, refused, refusedLocally, unreachableAllowed, unreachableRefused, abandoned} {
		m.decisions.WithLabelValues(string(o))
	}
	for _, reason := range []string{rateReason, unreachableReason} {
		m.refusals.WithLabelValues(reason)
	}
	for _, result := range []string{writeStored, writeConflict, writeFailed} {
		m.writes.WithLabelValues(result)
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.decisions, m.refusals, m.writes, m.waiting, m.duration} {
		errs = append(errs, registerer.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return m, nil
}

// The reasons of refusals.
const (
	rateReason        = "rate"
	unreachableReason = "unreachable"
)

func (m *metrics) count(o outcome, began time.Time) {
	m.decisions.WithLabelValues(string(o)).Inc()
	switch o {
	case refusedLocally:
		m.refusals.WithLabelValues(rateReason).Inc()
		return
	case refused:
		m.refusals.WithLabelValues(rateReason).Inc()
	case unreachableRefused:
		m.refusals.WithLabelValues(unreachableReason).Inc()
	case allowed, unreachableAllowed, abandoned:
	}
	m.duration.Observe(time.Since(began).Seconds())
}

// The results of writes.
const (
	writeStored   = "stored"
	writeConflict = "conflict"
	writeFailed   = "failed"
)

func (m *metrics) countWrite(err error) {
	switch {
	case err == nil:
		m.writes.WithLabelValues(writeStored).Inc()
	case errors.Is(err, errConflict):
		m.writes.WithLabelValues(writeConflict).Inc()
	default:
		m.writes.WithLabelValues(writeFailed).Inc()
	}
}

// minOutage is the shortest outage: an overloaded server would otherwise fill the log with begins and ends.
const minOutage = time.Second

// outage logs when the limits become unavailable and when they are available again. Its methods are cheap enough for every request.
type outage struct {
	log   zerolog.Logger
	since atomic.Pointer[time.Time] // nil while it is available
}

func newOutage(log zerolog.Logger) *outage { return &outage{log: log} }

func (o *outage) begin(err error) {
	now := time.Now()
	if o.since.CompareAndSwap(nil, &now) {
		o.log.Warn().Err(err).Msg("budgets unreachable")
	}
}

func (o *outage) end() {
	since := o.since.Load()
	if since == nil || time.Since(*since) < minOutage {
		return
	}
	if o.since.CompareAndSwap(since, nil) {
		o.log.Info().Dur("after", time.Since(*since)).Msg("budgets reachable again")
	}
}
