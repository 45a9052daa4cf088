package audit

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	recorded     prometheus.Counter
	acknowledged prometheus.Counter
	refused      prometheus.Counter
	waiting      prometheus.GaugeFunc
}

func newMetrics(waiting func() float64) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "callboard_readapi_audit_" + name, Help: help})
	}
	return &metrics{
		recorded:     counter("recorded_total", "Audit entries recorded."),
		acknowledged: counter("acknowledged_total", "Audit entries that the stream has."),
		refused:      counter("refused_total", "Requests refused since the journal was full."),
		waiting: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "callboard_readapi_audit_waiting", Help: "Audit entries that the stream has not acknowledged.",
		}, waiting),
	}
}

func (m *metrics) register(registry prometheus.Registerer) error {
	return errors.Join(registry.Register(m.recorded), registry.Register(m.acknowledged),
		registry.Register(m.refused), registry.Register(m.waiting))
}
