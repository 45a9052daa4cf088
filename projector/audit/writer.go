package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/projector"
)

// Config configures a writer.
type Config struct {
	JetStream jetstream.JetStream // of a connection that reconnects without limit
	Database  *pgxpool.Pool       // the primary, as callboard_projector
	Retention int                 // whole days to keep before today; zero means 90
	Log       zerolog.Logger
	Metrics   prometheus.Registerer
}

const defaultRetention = 90

// Writer writes audit entries to PostgreSQL.
type Writer struct {
	config    Config
	metrics   *metrics
	lastError string // the text of the latest error; empty after a success
}

// New returns a writer and registers its metrics with config.Metrics.
func New(config Config) (*Writer, error) {
	if config.Retention == 0 {
		config.Retention = defaultRetention
	}
	metrics := newMetrics()
	if err := metrics.register(config.Metrics); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return &Writer{config: config, metrics: metrics}, nil
}

// Run writes entries and drops days older than the retention until ctx ends, and returns nil. It retries after every
// error, and logs an error once for as long as its text does not change.
func (w *Writer) Run(ctx context.Context) error {
	var background sync.WaitGroup
	background.Go(func() { w.dropOldDays(ctx) })
	background.Go(func() { w.observe(ctx) })
	defer background.Wait()

	for backOff := projector.NewBackOff(); ; {
		began := time.Now()
		err := w.runSession(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errMoved):
			w.standBy(ctx)
		case err != nil:
			w.noteError(err)
			projector.Pause(ctx, backOff.Next(time.Since(began)))
		}
	}
}

// standbyInterval is how long the position must be unchanged before a standby writer resumes.
const standbyInterval = 2 * time.Second

// standBy waits while another writer stores entries. Two at a time would both be right, since the position admits one
// transaction after the other, but one of them would read for nothing.
func (w *Writer) standBy(ctx context.Context) {
	for seen := (position{}); ; {
		p, _, err := w.readPosition(ctx)
		if ctx.Err() != nil || err != nil || p.same(seen) {
			return // the next session reports the error
		}
		seen = p
		projector.Pause(ctx, standbyInterval)
	}
}

func (w *Writer) noteError(err error) {
	w.metrics.failures.Inc()
	if w.lastError != err.Error() {
		w.config.Log.Error().Err(err).Msg("storing audit entries failed")
	}
	w.lastError = err.Error()
}

func (w *Writer) noteSuccess() {
	if w.lastError != "" {
		w.config.Log.Info().Msg("storing audit entries resumed")
	}
	w.lastError = ""
}

type metrics struct {
	stored      prometheus.Counter
	batches     prometheus.Counter
	failures    prometheus.Counter
	deadLetters prometheus.Counter
	dropped     prometheus.Counter
	lost        prometheus.Counter
	pending     prometheus.Gauge
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "callboard_projector_audit_" + name, Help: help})
	}
	return &metrics{
		stored:      counter("stored_total", "Audit entries stored."),
		batches:     counter("batches_total", "Transactions that stored audit entries."),
		failures:    counter("failures_total", "Failed attempts to store audit entries or to drop old days."),
		deadLetters: counter("dead_letters_total", "Audit messages that became dead letters."),
		dropped:     counter("days_dropped_total", "Days of the audit that were dropped."),
		lost:        counter("lost_messages_total", "Audit messages that the stream dropped before their entries were stored."),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "callboard_projector_audit_pending", Help: "Audit messages that the stream holds and no projector has stored.",
		}),
	}
}

func (m *metrics) register(registry prometheus.Registerer) error {
	return errors.Join(registry.Register(m.stored), registry.Register(m.batches), registry.Register(m.failures),
		registry.Register(m.deadLetters), registry.Register(m.dropped), registry.Register(m.lost), registry.Register(m.pending))
}
