package projector

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"callboard/projector/fold"
	"callboard/projector/store"
)

type metrics struct {
	events      *prometheus.CounterVec   // entity, outcome
	deadLetters *prometheus.CounterVec   // partition
	commits     *prometheus.HistogramVec // partition; seconds
	position    *prometheus.GaugeVec     // partition; stream sequence
	watermark   *prometheus.GaugeVec     // partition; Unix seconds
	owned       *prometheus.GaugeVec     // partition; 0 or 1
	stopped     *prometheus.GaugeVec     // partition, reason; 1
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "callboard_projector_" + name, Help: help}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "callboard_projector_" + name, Help: help}, labels)
	}
	m := &metrics{
		events:      counter("events_total", "Events read and committed, by what became of them.", "entity", "outcome"),
		deadLetters: counter("dead_letters_total", "Messages that could not be applied.", "partition"),
		commits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "callboard_projector_commit_seconds", Help: "Time from claim checks to the last commit of a batch.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"partition"}),
		position:  gauge("position", "Stream sequence up to which the partition is in the tables.", "partition"),
		watermark: gauge("watermark_seconds", "Instant before which everything stored is in the tables.", "partition"),
		owned:     gauge("owned", "Whether this projector runs the partition.", "partition"),
		stopped:   gauge("stopped", "Whether the partition is stopped for a reason that needs an operator.", "partition", "reason"),
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.events, m.deadLetters, m.commits, m.position, m.watermark, m.owned, m.stopped} {
		errs = append(errs, registry.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return m, nil
}

// own notes that the partition runs here, whatever stopped it before.
func (m *metrics) own(partition int) {
	m.owned.WithLabelValues(label(partition)).Set(1)
	m.stopped.DeletePartialMatch(prometheus.Labels{"partition": label(partition)})
}

// release takes away what only the partition's owner can tell.
func (m *metrics) release(partition int) {
	m.owned.WithLabelValues(label(partition)).Set(0)
	m.position.DeleteLabelValues(label(partition))
	m.watermark.DeleteLabelValues(label(partition))
}

// cover counts what became of messages.
func (m *metrics) cover(c store.MessageCounts) {
	for entity, n := range c {
		for outcome, count := range map[fold.Outcome]int64{fold.Applied: n.Applied, fold.Stale: n.Stale, fold.Ignored: n.Ignored} {
			if count > 0 {
				m.events.WithLabelValues(string(entity), outcome.String()).Add(float64(count))
			}
		}
	}
}

func label(partition int) string { return strconv.Itoa(partition) }
