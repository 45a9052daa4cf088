package memory

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

func (b *Budget) register(c Config) error {
	const waitingName, waitingHelp = "callboard_readapi_body_waiting",
		"Requests that wait for memory for their response, by queue: lineage, for their lineage's share, or bytes, for the memory of all."
	queue := func(name string) prometheus.Labels { return prometheus.Labels{"queue": name} }
	b.waiting = prometheus.NewGauge(prometheus.GaugeOpts{Name: waitingName, Help: waitingHelp, ConstLabels: queue("lineage")})
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: waitingName, Help: waitingHelp, ConstLabels: queue("bytes")},
		func() float64 { return float64(b.bytes.Waiting()) })
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "callboard_readapi_body_bytes", Help: "Bytes that are reserved for responses, until their last byte is written.",
	}, func() float64 { return float64(b.bytes.Held()) })
	capacity := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "callboard_readapi_body_capacity_bytes", Help: "Bytes that can be reserved for responses.",
	})
	capacity.Set(float64(c.Capacity))
	var errs []error
	for _, collector := range []prometheus.Collector{b.waiting, waiting, held, capacity} {
		errs = append(errs, c.Metrics.Register(collector))
	}
	return errors.Join(errs...)
}
