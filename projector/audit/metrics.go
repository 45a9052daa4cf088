package audit

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	filed       prometheus.Counter
	batches     prometheus.Counter
	failures    prometheus.Counter
	deadLetters prometheus.Counter
	dropped     prometheus.Counter
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "callboard_projector_audit_" + name, Help: help})
	}
	return &metrics{
		filed:       counter("filed_total", "Audit entries filed."),
		batches:     counter("batches_total", "Transactions that filed audit entries."),
		failures:    counter("failures_total", "Failures to file audit entries or to drop old days, each tried again."),
		deadLetters: counter("dead_letters_total", "Audit messages that could not be filed whole."),
		dropped:     counter("days_dropped_total", "Days of the audit that were forgotten."),
	}
}

func (m *metrics) register(registry prometheus.Registerer) error {
	var errs []error
	for _, c := range []prometheus.Collector{m.filed, m.batches, m.failures, m.deadLetters, m.dropped} {
		errs = append(errs, registry.Register(c))
	}
	return errors.Join(errs...)
}
