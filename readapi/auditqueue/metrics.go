package auditqueue

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	recorded     prometheus.Counter
	acknowledged prometheus.Counter
	refused      prometheus.Counter
	counted      prometheus.Counter
	waiting      prometheus.GaugeFunc
	capacity     prometheus.Gauge
}

func newMetrics(waiting func() float64, capacity int) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "callboard_readapi_audit_" + name, Help: help})
	}
	m := &metrics{
		recorded:     counter("recorded_total", "Audit entries recorded."),
		acknowledged: counter("acknowledged_total", "Audit entries acknowledged by the stream."),
		refused:      counter("refused_total", "Requests refused because the audit queue, or their lineage's share of it, was full."),
		counted:      counter("counted_total", "Requests without a permit, each recorded in a separate entry or counted in one."),
		waiting: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "callboard_readapi_audit_waiting", Help: "Audit entries that the stream has not acknowledged.",
		}, waiting),
		capacity: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "callboard_readapi_audit_capacity",
			Help: "Audit entries that can wait, an eighth of them for one lineage; requests are refused beyond that.",
		}),
	}
	m.capacity.Set(float64(capacity))
	return m
}

func (m *metrics) register(registry prometheus.Registerer) error {
	return errors.Join(registry.Register(m.recorded), registry.Register(m.acknowledged), registry.Register(m.refused),
		registry.Register(m.counted), registry.Register(m.waiting), registry.Register(m.capacity))
}
