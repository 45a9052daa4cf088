package audit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/projector/retry"
)

// Config is what a filer works with.
type Config struct {
	JetStream jetstream.JetStream // of a connection that reconnects for ever
	Database  *pgxpool.Pool       // the primary, as callboard_projector
	Retention int                 // whole days that are kept before today's; 0: 90
	Log       zerolog.Logger
	Metrics   prometheus.Registerer
}

const defaultRetention = 90

// Writer files audit entries.
type Writer struct {
	config  Config
	metrics *metrics
	failure string // what the latest failure said; empty: all is well
}

// New is a filer that has not started. Its metrics are registered with config.Metrics.
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

// Run files entries, and forgets the days that are over, until ctx ends; then it finishes the messages in hand and returns nil.
// Whatever fails is logged, once for as long as it is the same, and tried again.
func (f *Writer) Run(ctx context.Context) error {
	var forgetting sync.WaitGroup
	forgetting.Go(func() { f.forget(ctx) })
	defer forgetting.Wait()
	for backOff := retry.NewBackOff(); ; {
		began := time.Now()
		err := f.session(ctx)
		if err != nil {
			f.failed(err)
		}
		if ctx.Err() != nil {
			return nil
		}
		retry.Pause(ctx, backOff.Next(time.Since(began)))
	}
}

// failed notes and counts a failure.
func (f *Writer) failed(err error) {
	f.metrics.failures.Inc()
	if f.failure != err.Error() {
		f.config.Log.Error().Err(err).Msg("audit entries can't be filed")
	}
	f.failure = err.Error()
}

// worked notes that messages were filed.
func (f *Writer) worked() {
	if f.failure != "" {
		f.config.Log.Info().Msg("audit entries are filed again")
	}
	f.failure = ""
}
