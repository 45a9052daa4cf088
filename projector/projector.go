package projector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/projector/store"
)

// Config is what a projector works with.
type Config struct {
	JetStream    jetstream.JetStream // of a connection that reconnects for ever
	Stream       string
	Database     *pgxpool.Pool // the primary, as callboard_projector, with the projection on its search path
	Partitions   []int         // this projector's share; nil: all of the stream's
	BatchSize    int           // messages in one transaction at most; 0: 2000
	Tick         time.Duration // how often an idle partition moves its watermark; 0: 500 ms
	OwnerTimeout time.Duration // after which an owner that does nothing loses its partitions; 0: 10 s
	Log          zerolog.Logger
	Metrics      prometheus.Registerer
}

// Projector keeps one projection.
type Projector struct {
	config  Config
	store   *store.Store
	metrics *metrics
	ready   atomic.Bool
}

// New is a projector that has not started. Its metrics are registered with config.Metrics.
func New(config Config) (*Projector, error) {
	if config.BatchSize == 0 {
		config.BatchSize = 2000
	}
	if config.Tick == 0 {
		config.Tick = 500 * time.Millisecond
	}
	if config.OwnerTimeout == 0 {
		config.OwnerTimeout = 10 * time.Second
	}
	metrics, err := newMetrics(config.Metrics)
	if err != nil {
		return nil, err
	}
	return &Projector{config: config, store: store.New(config.Database), metrics: metrics}, nil
}

// Ready tells whether the projector reaches the stream and the database, owning partitions or standing by.
func (p *Projector) Ready() bool { return p.ready.Load() }

// Run owns what it can of its share and keeps it, until ctx ends; then it finishes its transactions and returns nil.
// Whatever fails is logged and tried again.
func (p *Projector) Run(ctx context.Context) error {
	for retry := newRetry(); ; {
		began := time.Now()
		err := p.session(ctx)
		p.ready.Store(false)
		if ctx.Err() != nil {
			p.config.Log.Info().AnErr("session", err).Msg("projector ended")
			return nil //nolint:nilerr // the end was asked for, and what it cut short is logged
		}
		if time.Since(began) > maxRetry {
			retry.Reset()
		}
		wait := retry.NextBackOff()
		p.config.Log.Error().Err(err).Dur("retry_in", wait).Msg("session lost")
		pause(ctx, wait)
	}
}

// session holds partitions on one database connection for as long as that lasts.
func (p *Projector) session(ctx context.Context) (err error) {
	share, err := p.share(ctx)
	if err != nil {
		return err
	}
	locks, err := store.NewPartitionLocks(ctx, p.config.Database)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	crew := newCrew(p, share)
	// Partitions end before their locks do, so that whoever takes over finds the last transaction finished.
	defer func() {
		cancel()
		crew.wait()
		err = errors.Join(err, locks.Close())
	}()
	p.ready.Store(true)
	tick := time.NewTicker(p.config.Tick)
	defer tick.Stop()
	for {
		if err := p.acquire(ctx, locks, crew); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case end := <-crew.ended:
			if ctx.Err() != nil {
				return nil // all were asked to end, and this one was the first
			}
			crew.end(end)
			if err := locks.Unlock(ctx, end.partition); err != nil {
				return err
			}
		case <-tick.C:
		}
	}
}

// acquire starts what partitions are to be had.
func (p *Projector) acquire(ctx context.Context, locks *store.PartitionLocks, crew *crew) error {
	idle := crew.idle()
	taken, err := locks.TryLock(ctx, idle)
	if err != nil {
		return err
	}
	crew.start(ctx, taken)
	if len(taken) == len(idle) {
		return nil
	}
	terminated, err := locks.TerminateUnresponsive(ctx, p.config.OwnerTimeout)
	for _, session := range terminated {
		p.config.Log.Warn().Int32("pid", session.PID).Str("application_name", session.Application).Msg("terminated unresponsive projector")
	}
	if errors.Is(err, store.ErrNotMigrated) {
		return nil // each partition reports it
	}
	return err
}

// share are the partitions that this projector may own.
func (p *Projector) share(ctx context.Context) ([]int, error) {
	stream, err := p.config.JetStream.Stream(ctx, p.config.Stream)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", p.config.Stream, err)
	}
	count, err := events.Partitions(stream.CachedInfo().Config)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", p.config.Stream, err)
	}
	var all []int
	for partition := range count {
		if p.config.Partitions == nil || slices.Contains(p.config.Partitions, partition) {
			all = append(all, partition)
		}
	}
	return all, nil
}

const maxRetry = 10 * time.Second

// newRetry waits from a tenth of a second up to maxRetry, for ever.
func newRetry() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(100*time.Millisecond),
		backoff.WithMaxInterval(maxRetry),
		backoff.WithMaxElapsedTime(0))
}

func pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
