package limit

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Decision says whether a request is allowed.
type Decision struct {
	Allowed    bool
	RetryAfter int // seconds, at least 1; only of a refusal

	outcome outcome
	buckets []bucket
	quotas  []quota // of the buckets; none if they are not known
}

// RateLimitPolicy returns the value of the RateLimit-Policy header: the budgets that the request is counted in, such as
//
//	"report";q=120;w=60, "tier";q=600;w=60
func (d *Decision) RateLimitPolicy() string {
	items := make([]string, len(d.buckets))
	for i, b := range d.buckets {
		items[i] = fmt.Sprintf("%q;q=%d;w=%d", b.policy, b.limit, seconds(window))
	}
	return strings.Join(items, ", ")
}

// RateLimit returns the value of the RateLimit header: how many permits remain, and in how many seconds the next one
// returns if one is taken, such as
//
//	"report";r=119;t=60, "tier";r=598;t=12
//
// It returns false if no quota is known, because NATS did not decide.
func (d *Decision) RateLimit() (string, bool) {
	items := make([]string, len(d.quotas))
	for i, q := range d.quotas {
		items[i] = fmt.Sprintf("%q;r=%d", q.policy, q.remaining)
		if q.wait > 0 {
			items[i] += fmt.Sprintf(";t=%d", seconds(q.wait))
		}
	}
	return strings.Join(items, ", "), len(items) > 0
}

// The names of the policies in the headers.
const (
	tierPolicy   = "tier"
	reportPolicy = "report"
)

// quota is what remains in a bucket.
type quota struct {
	policy    string
	remaining int     // permits
	wait      instant // milliseconds until the next permit returns; zero if none is taken
}

// seconds rounds up to whole seconds, and to at least one: no client is told to retry immediately.
func seconds(wait instant) int { return max(1, int((wait+second-1)/second)) }

// outcome is how a decision ended, the label of the metric.
type outcome string

const (
	allowedByNATS      outcome = "allowed"
	refusedByNATS      outcome = "refused"
	refusedFromMemory  outcome = "refused_locally" // from memory: the counters that were last stored are full
	allowedWithoutNATS outcome = "unreachable_allowed"
	refusedWithoutNATS outcome = "unreachable_refused"
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

	// A counter that has not counted yet is exported, too.
	for _, o := range []outcome{
		allowedByNATS, refusedByNATS, refusedFromMemory, allowedWithoutNATS, refusedWithoutNATS, abandoned,
	} {
		m.decisions.WithLabelValues(string(o))
	}
	return m
}

func (m *metrics) count(o outcome, began time.Time) {
	m.decisions.WithLabelValues(string(o)).Inc()
	if o != refusedFromMemory {
		m.duration.Observe(time.Since(began).Seconds())
	}
}
