package auditqueue

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	recorded     prometheus.Counter
	acknowledged prometheus.Counter
	refused      prometheus.Counter
	counted      prometheus.Counter
}

// newMetrics registers the metrics.
func newMetrics(registerer prometheus.Registerer, waiting func() float64, capacity int) metrics {
	factory := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: "callboard_readapi_audit_" + name, Help: help})
	}

	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "callboard_readapi_audit_waiting", Help: "Audit entries that the stream has not acknowledged.",
	}, waiting)

	factory.NewGauge(prometheus.GaugeOpts{
		Name: "callboard_readapi_audit_capacity",
		Help: "Audit entries that can wait, an eighth of them for one lineage; requests are refused beyond that.",
	}).Set(float64(capacity))

	return metrics{
		recorded:     counter("recorded_total", "Audit entries recorded."),
		acknowledged: counter("acknowledged_total", "Audit entries acknowledged by the stream."),

		refused: counter("refused_total",
			"Requests refused because the audit queue, or their lineage's share of it, was full."),
		counted: counter("counted_total",
			"Requests without a permit, each recorded in a separate entry or counted in one."),
	}
}
