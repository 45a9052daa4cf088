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
	"github.com/prometheus/client_golang/prometheus/promauto"
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

	maxIdle         time.Duration // how long a session goes on without messages
	observeInterval time.Duration // between two looks at the state of the stream
	standbyInterval time.Duration // how long the position must be unchanged before a standby writer resumes
}

// New returns a writer. It registers its metrics with config.Metrics, and panics if they are registered already.
func New(config Config) *Writer {
	if config.Retention == 0 {
		config.Retention = defaultRetention
	}
	return &Writer{
		config: config, metrics: newMetrics(config.Metrics),
		maxIdle: maxIdle, observeInterval: observeInterval, standbyInterval: standbyInterval,
	}
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
			// Another writer stores entries, and this writer takes over when the position no longer moves.
			w.standBy(ctx)

		case err != nil:
			w.noteError(err)
			projector.Pause(ctx, backOff.Next(time.Since(began)))
		}
	}
}

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
		projector.Pause(ctx, w.standbyInterval)
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
	stored, failures, dropped, lost prometheus.Counter
	pending                         prometheus.Gauge
}

func newMetrics(registry prometheus.Registerer) *metrics {
	const prefix = "callboard_projector_audit_"
	factory := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}

	return &metrics{
		stored:   counter("stored_total", "Audit entries stored."),
		failures: counter("failures_total", "Failed attempts to store audit entries or to drop old days."),
		dropped:  counter("days_dropped_total", "Days of the audit that were dropped."),
		lost:     counter("lost_messages_total", "Audit messages that the stream dropped before their entries were stored."),
		pending: factory.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "pending", Help: "Audit messages that the stream holds and no projector has stored.",
		}),
	}
}

// observeInterval is the interval at which the state of the stream is read.
const observeInterval = 5 * time.Second

// observe reports the pending messages and purges stored ones until ctx ends. It does not depend on the session,
// which can't report what it can't store. While the database does not answer, the last position counts.
func (w *Writer) observe(ctx context.Context) {
	var stored position
	for ctx.Err() == nil {
		if err := w.observeOnce(ctx, &stored); unlessEnded(ctx, err) != nil {
			w.config.Log.Debug().Err(err).Msg("reading the state of the audit stream failed")
		}
		projector.Pause(ctx, w.observeInterval)
	}
}

func (w *Writer) observeOnce(ctx context.Context, stored *position) error {
	ctx, cancel := context.WithTimeout(ctx, observeInterval)
	defer cancel()

	stream, err := w.findStream(ctx)
	if err != nil {
		return err
	}
	info := stream.CachedInfo()

	// What is behind the position is pending. While the database does not answer, the last position counts.
	recorded, _, err := w.readPosition(ctx)
	if err == nil {
		*stored = recorded
	}

	done := max(stored.sequence+1, info.State.FirstSeq) - 1
	w.metrics.pending.Set(float64(info.State.LastSeq - min(done, info.State.LastSeq)))
	if err != nil {
		return err
	}
	return purgeStored(ctx, stream, recorded)
}

// purgeStored removes the oldest quarter of the messages when the stream is three quarters full, and at least the
// older half is stored. A failover can set the position back: another quarter of the messages is there for it.
// Nothing is removed while the position is of another stream.
func purgeStored(ctx context.Context, stream jetstream.Stream, stored position) error {
	info := stream.CachedInfo()
	state, limit := info.State, info.Config.MaxBytes
	if limit <= 0 || state.Bytes < uint64(limit)/4*3 || stored.sequence < state.FirstSeq+state.Msgs/2 {
		return nil
	}

	// A position of another stream says nothing about these messages.
	if same, err := has(ctx, stream, stored); !same || err != nil {
		return err
	}

	if err := stream.Purge(ctx, jetstream.WithPurgeSequence(state.FirstSeq+state.Msgs/4)); err != nil {
		return fmt.Errorf("purge the oldest audit messages: %w", err)
	}
	return nil
}
