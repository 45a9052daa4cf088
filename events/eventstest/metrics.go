package eventstest

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics returns the values of counters and gauges, by name and labels' values:
// "callboard_readapi_watermark_seconds 0" for partition 0.
func Metrics(tb testing.TB, registry prometheus.Gatherer) map[string]float64 {
	tb.Helper()
	families, err := registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}

	values := make(map[string]float64)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			series := []string{family.GetName()}
			for _, label := range m.GetLabel() {
				series = append(series, label.GetValue())
			}

			values[strings.Join(series, " ")] = m.GetCounter().GetValue() + m.GetGauge().GetValue() // it is one of the two
		}
	}

	return values
}

// Metric returns the value of a counter or a gauge, named as [Metrics] does. The test fails if there is none.
func Metric(tb testing.TB, registry prometheus.Gatherer, series string) float64 {
	tb.Helper()
	value, exists := Metrics(tb, registry)[series]
	if !exists {
		tb.Fatalf("there is no metric %s", series)
	}
	return value
}
