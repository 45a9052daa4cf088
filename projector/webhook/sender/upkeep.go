package sender

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const (
	daysInterval = time.Hour

	// expireSlice bounds the rows of a transaction that skips what has waited too long.
	expireSlice = 5000
)

var (
	//go:embed expire.sql
	expireSQL string

	//go:embed delete_old.sql
	deleteOldSQL string
)

const (
	openDaySQL    = "select webhook.open_day($1, $2::date)"
	dropBeforeSQL = "select webhook.drop_before($1::date)"
)

// maintainDays creates the tables of days ahead, and removes what is older than the history: waiting deliveries are
// skipped, and finished ones and notices are dropped.
func (s *Sender) maintainDays(ctx context.Context) (more bool, err error) {
	now := time.Now().UTC()

	// Days are opened ahead of time, so that rows find a table even after some failures.
	for days := range 3 {
		if err := s.openDay(ctx, now.AddDate(0, 0, days)); err != nil {
			return false, err
		}
	}

	first := now.AddDate(0, 0, -s.config.Days).Truncate(24 * time.Hour)

	var expired int
	if err := s.config.Database.QueryRow(ctx, expireSQL, first, expireSlice).Scan(&expired); err != nil {
		return false, fmt.Errorf("skip deliveries that waited too long: %w", err)
	}
	s.metrics.skipped.WithLabelValues(reasonExpired).Add(float64(expired))
	s.metrics.deliveries.WithLabelValues("skipped").Add(float64(expired))

	var dropped bool
	if err := s.config.Database.QueryRow(ctx, dropBeforeSQL, first).Scan(&dropped); err != nil {
		return false, fmt.Errorf("drop webhook days: %w", err)
	}
	if _, err := s.config.Database.Exec(ctx, deleteOldSQL, first); err != nil {
		return false, fmt.Errorf("delete removed webhook endpoints and tests: %w", err)
	}
	return dropped || expired == expireSlice, nil
}

// openDay creates the tables of a day, each in a transaction.
func (s *Sender) openDay(ctx context.Context, day time.Time) error {
	for _, kind := range []string{"notice", "finished"} {
		var open bool
		if err := s.config.Database.QueryRow(ctx, openDaySQL, kind, day).Scan(&open); err != nil {
			return fmt.Errorf("open webhook day: %w", err)
		}
		if !open {
			s.config.Log.Warn().Str("table", kind).Str("day", day.Format(time.DateOnly)).
				Msg("no table for a webhook day: its rows are in the default partition")
		}
	}
	return nil
}

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
	breakers   *prometheus.GaugeVec   // state
	leases     prometheus.Gauge

	// Of all senders, as the tables have them.
	waiting, dead, oldestDue, held prometheus.Gauge
	endpoints                      *prometheus.GaugeVec // state
}

// newMetrics registers the metrics. It panics if they are registered already.
func newMetrics(registry prometheus.Registerer) *metrics {
	const prefix = "callboard_webhooks_"
	factory := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
	}

	gauge := func(name, help string) prometheus.Gauge {
		return factory.NewGauge(prometheus.GaugeOpts{Name: prefix + name, Help: help})
	}
	gauges := func(name, help string, label string) *prometheus.GaugeVec {
		return factory.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, []string{label})
	}

	m := &metrics{
		deliveries: counter("deliveries_total", "Deliveries that ended, by result.", "result"),
		attempts:   counter("attempts_total", "Requests, by the class of their answer.", "class"),
		skipped:    counter("skipped_total", "Notices and deliveries that are not sent, by reason.", "reason"),

		latency: factory.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "latency_seconds", Help: "Time from the message in the stream to the 2xx of a first attempt.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 16),
		}),

		breakers: gauges("sender_endpoints", "Endpoints that this sender has sent to within two minutes, by breaker.",
			"state"),
		leases: gauge("leases", "Endpoints that this sender has leased."),

		// The tables have these numbers, so that all senders export the same.
		waiting: gauge("waiting", "Deliveries that wait, of all endpoints."),
		dead:    gauge("dead", "Deliveries that were given up, of all endpoints, as long as their history is stored."),

		oldestDue: gauge("oldest_due_seconds",
			"For how long the oldest due delivery waits, of active endpoints that do not fail."),
		held:      gauge("held_seconds", "For how long the oldest notice waits for the databases of readers."),
		endpoints: gauges("endpoints", "Endpoints, by state.", "state"),
	}

	// A counter that never counted is exported as 0.
	for _, result := range []string{delivered, dead, "skipped"} {
		m.deliveries.WithLabelValues(result)
	}
	for _, reason := range []string{reasonNoPhoneSystem, reasonExpired} {
		m.skipped.WithLabelValues(reason)
	}
	m.setEndpoints(nil)
	return m
}

// setEndpoints counts the endpoints of a sender by state, and its leases.
func (m *metrics) setEndpoints(endpoints map[uuid.UUID]*endpoint) {
	leases, now := 0, time.Now()
	count := map[string]int{"closed": 0, "open": 0, "no_secret": 0}

	for _, e := range endpoints {
		switch {
		case e.noSecret:
			count["no_secret"]++
		case e.health.probeAt == nil:
			count["closed"]++
		default:
			count["open"]++
		}

		if now.Before(e.leased) {
			leases++
		}
	}

	for state, n := range count {
		m.breakers.WithLabelValues(state).Set(float64(n))
	}
	m.leases.Set(float64(leases))
}

//go:embed gauges.sql
var gaugesSQL string

// measure counts the tables.
func (s *Sender) measure(ctx context.Context) (more bool, err error) {
	var waiting, gaveUp, adding, active, paused, stopped int64
	var oldest float64
	if err := s.config.Database.QueryRow(ctx, gaugesSQL).Scan(&waiting, &gaveUp, &oldest, &adding, &active, &paused, &stopped); err != nil {
		return false, err
	}

	s.metrics.waiting.Set(float64(waiting))
	s.metrics.dead.Set(float64(gaveUp))
	s.metrics.oldestDue.Set(oldest)
	for state, n := range map[string]int64{"adding": adding, "active": active, "paused": paused, "disabled": stopped} {
		s.metrics.endpoints.WithLabelValues(state).Set(float64(n))
	}

	since, err := s.heldSince(ctx)
	if err != nil {
		return false, err
	}

	held := 0.0
	if since != nil {
		held = time.Since(*since).Seconds()
	}
	s.metrics.held.Set(held)
	return false, nil
}

// judgeAll disables endpoints without a success for too long, also those to which nothing is sent any more.
func (s *Sender) judgeAll(ctx context.Context) (more bool, err error) {
	return false, s.judge(ctx, s.config.Database, nil, nil)
}
