package webhook

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/projector/retry"
	"callboard/projector/webhook/fanout"
	"callboard/projector/webhook/lane"
)

// measureInterval is how often the tables are counted. The counts take a time that grows with what waits.
const measureInterval = 10 * time.Second

// Reasons for which nothing is sent.
const (
	reasonNoPhoneSystem = "no phone system"
	reasonExpired       = "expired"
)

type metrics struct {
	deliveries *prometheus.CounterVec // result
	attempts   *prometheus.CounterVec // class
	skipped    *prometheus.CounterVec // reason
	latency    prometheus.Histogram   // seconds
	lanes      *prometheus.GaugeVec   // state
	shards     prometheus.Gauge

	// Of all senders, as the tables have them.
	waiting, dead, oldestDue, held prometheus.Gauge
	endpoints                      *prometheus.GaugeVec // state
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	const prefix = "callboard_webhooks_"
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + name, Help: help})
	}
	gauges := func(name, help string, label string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, []string{label})
	}
	m := &metrics{
		deliveries: counter("deliveries_total", "Deliveries that ended, by result.", "result"),
		attempts:   counter("attempts_total", "Requests, by the class of their answer.", "class"),
		skipped:    counter("skipped_total", "Notices and deliveries that are not sent, by reason.", "reason"),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "latency_seconds", Help: "Time from the message in the stream to the 2xx of a first attempt.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 16),
		}),
		lanes:     gauges("lanes", "Endpoints that this sender sends to, by the state of their breaker.", "state"),
		shards:    gauge("shards_owned", "Shards of endpoints that this sender owns."),
		waiting:   gauge("waiting", "Deliveries that wait, of all endpoints."),
		dead:      gauge("dead", "Deliveries that were given up, of all endpoints, as long as their history is stored."),
		oldestDue: gauge("oldest_due_seconds", "For how long the oldest due delivery waits, of active endpoints that do not fail."),
		held:      gauge("held_seconds", "For how long the oldest notice waits for the databases of readers."),
		endpoints: gauges("endpoints", "Endpoints, by state.", "state"),
	}
	for _, c := range []prometheus.Collector{
		m.deliveries, m.attempts, m.skipped, m.latency, m.lanes, m.shards, m.waiting, m.dead, m.oldestDue, m.held, m.endpoints,
	} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	for _, result := range []string{delivered, dead, "skipped"} {
		m.deliveries.WithLabelValues(result)
	}
	for _, reason := range []string{reasonNoPhoneSystem, reasonExpired} {
		m.skipped.WithLabelValues(reason)
	}
	m.setLanes(nil)
	return m, nil
}

// setLanes counts the lanes by state.
func (m *metrics) setLanes(endpoints map[uuid.UUID]*endpoint) {
	count := map[string]int{"closed": 0, "open": 0, "no_secret": 0}
	for _, e := range endpoints {
		switch {
		case e.retired:
		case len(e.secrets) == 0:
			count["no_secret"]++
		case e.lane.State() == lane.Closed:
			count["closed"]++
		default:
			count["open"]++
		}
	}
	for state, n := range count {
		m.lanes.WithLabelValues(state).Set(float64(n))
	}
}

//go:embed gauges.sql
var gaugesSQL string

// measure counts the tables at intervals, until ctx ends.
func (s *Sender) measure(ctx context.Context) {
	f := fanout.New(s.config.Database, nil)
	for ctx.Err() == nil {
		if err := s.measureOnce(ctx, f); err != nil && ctx.Err() == nil {
			s.config.Log.Error().Err(err).Msg("counting webhooks failed")
		}
		retry.Pause(ctx, measureInterval)
	}
}

func (s *Sender) measureOnce(ctx context.Context, f *fanout.FanOut) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	var waiting, gaveUp, adding, active, paused, stopped int64
	var oldest float64
	if err := s.config.Database.QueryRow(ctx, gaugesSQL).Scan(&waiting, &gaveUp, &oldest, &adding, &active, &paused, &stopped); err != nil {
		return err
	}
	s.metrics.waiting.Set(float64(waiting))
	s.metrics.dead.Set(float64(gaveUp))
	s.metrics.oldestDue.Set(oldest)
	for state, n := range map[string]int64{"adding": adding, "active": active, "paused": paused, "disabled": stopped} {
		s.metrics.endpoints.WithLabelValues(state).Set(float64(n))
	}
	since, err := f.HeldSince(ctx)
	if err != nil {
		return err
	}
	held := 0.0
	if !since.IsZero() {
		held = time.Since(since).Seconds()
	}
	s.metrics.held.Set(held)
	return nil
}
