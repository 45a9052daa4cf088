package projector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"

	"callboard/projector/feed"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

// Config configures a projector.
type Config struct {
	JetStream   jetstream.JetStream // of a connection that never stops reconnecting
	Stream      string              // its name
	Database    *pgxpool.Pool       // of the primary, as callboard_projector, with the projection on its search path; for batches
	Control     *pgxpool.Pool       // as Database, for statements that don't wait for batches; nil: Database
	Partitions  []int               // that this projector may own; nil: all of the stream's
	BatchSize   int                 // the most messages in one transaction; 0: 2000
	FeedBytes   int64               // the most bytes of messages in memory, for all partitions; 0: 128 MiB
	Clock       time.Duration       // how old the newest clock message may be until the projector publishes another one; 0: 1 s
	Tick        time.Duration       // the interval at which the projector checks its partitions and other owners; 0: 500 ms
	OwnerChecks int                 // after how many checks without a statement of an owner a standby takes over, one check per tick; 0: 20
	Now         func() time.Time    // this host's wall clock; nil: time.Now
	Log         zerolog.Logger
	Metrics     prometheus.Registerer
	Tracer      trace.Tracer // of the commits' spans; nil: there are none
}

// Projector writes one projection.
type Projector struct {
	config  Config
	store   *store.Store
	control *store.Store
	metrics *metrics
	ready   atomic.Pointer[error] // to nil: the projector is ready; nil: it has not started

	batches chan struct{} // has a value for each batch that is read and committed now, of all partitions: one for each connection at most
}

// New returns a projector that has not started. It registers its metrics with config.Metrics, and panics if they are
// registered already.
func New(config Config) *Projector {
	config.BatchSize = cmp.Or(config.BatchSize, 2000)
	config.Tick = cmp.Or(config.Tick, 500*time.Millisecond)
	config.Clock = cmp.Or(config.Clock, time.Second)
	config.FeedBytes = cmp.Or(config.FeedBytes, 128<<20)
	config.OwnerChecks = cmp.Or(config.OwnerChecks, 20)

	if config.Now == nil {
		config.Now = time.Now
	}
	config.Control = cmp.Or(config.Control, config.Database)

	return &Projector{
		config: config, store: store.New(config.Database), control: store.New(config.Control),
		metrics: newMetrics(config.Metrics), batches: make(chan struct{}, config.Database.Config().MaxConns),
	}
}

// Ready returns nil if the projector reaches the stream and the database. It may own partitions or stand by.
func (p *Projector) Ready() error {
	if err := p.ready.Load(); err != nil {
		return *err
	}
	return errors.New("the projector starts")
}

// Run owns the partitions that no other projector owns, until ctx ends; then it finishes its transactions and returns
// nil. It logs and retries whatever fails.
func (p *Projector) Run(ctx context.Context) error {
	var observing sync.WaitGroup
	observing.Go(func() { p.observeDatabase(ctx) })
	defer observing.Wait()

	for backOff := NewBackOff(); ; {
		began := time.Now()
		err := p.session(ctx)
		p.ready.Store(&err)

		if ctx.Err() != nil {
			p.config.Log.Info().AnErr("session", err).Msg("projector stopped")
			return nil
		}

		wait := backOff.Next(time.Since(began))
		p.config.Log.Error().Err(err).Dur("retry_in", wait).Msg("session lost")
		Pause(ctx, wait)
	}
}

// lockTicks is how many ticks apart an owner of all its partitions queries its locks, to tell others that it lives: 2
// s.
const lockTicks = 4

// session owns partitions by the locks of one database connection, for as long as that lasts.
func (p *Projector) session(ctx context.Context) (err error) {
	source, err := ingest.OpenSource(ctx, p.config.JetStream, p.config.Stream)
	if err != nil {
		return err
	}
	count, err := source.Partitions()
	if err != nil {
		return err
	}

	share, err := p.partitions(count)
	if err != nil {
		return err
	}

	locks, err := NewLocks(ctx, p.config.Database)
	if err != nil {
		return err
	}

	// The feed, the supervisor and the actors exist for this session alone.
	ctx, cancel := context.WithCancel(ctx)
	shared := feed.NewSharedFeed(feed.Config{
		Conn: p.config.JetStream.Conn(), Stream: source, Partitions: count, Bytes: p.config.FeedBytes,
		Stall: stallTicks * p.config.Tick,
	})
	supervisor := newSupervisor(p, source, shared, share)
	clock := &clockActor{projector: p, supervisor: supervisor, feed: shared}
	keys := &journalActor{projector: p}

	var actors sync.WaitGroup
	for _, run := range []func(context.Context){
		shared.Run, supervisor.moveIdle, supervisor.checkStream, supervisor.observePending, clock.run, keys.run,
	} {
		actors.Go(func() { run(ctx) })
	}

	// Workers end before their locks are released, so that the next owner finds the last transaction finished.
	defer func() {
		cancel()
		actors.Wait()
		supervisor.wait()
		err = errors.Join(err, locks.Close())
	}()

	p.ready.Store(new(error))
	return p.holdPartitions(ctx, locks, supervisor)
}

// holdPartitions acquires partitions, and releases those whose workers have ended, until ctx ends.
func (p *Projector) holdPartitions(ctx context.Context, locks *Locks, supervisor *supervisor) (err error) {
	tick := time.NewTicker(p.config.Tick)
	defer tick.Stop()

	complete := false
	for ticks := 0; ; ticks++ {
		// While other projectors own partitions, each tick tries to lock these partitions. Otherwise a query now and
		// then tells other projectors that this owner lives.
		if !complete || ticks%lockTicks == 0 || len(supervisor.startable()) > 0 {
			if complete, err = p.acquirePartitions(ctx, locks, supervisor); err != nil {
				return err
			}
		}

		select {
		case <-ctx.Done():
			return nil
		case e := <-supervisor.exits:
			// The end of the session releases all locks together.
			if ctx.Err() != nil {
				return nil
			}
			supervisor.exited(e)
			if err := locks.Unlock(ctx, e.partition); err != nil {
				return err
			}

		// While other projectors own partitions, each tick checks that these projectors still send statements.
		case <-tick.C:
			if complete {
				continue
			}
			if err := p.terminateUnresponsive(ctx, locks); err != nil {
				return err
			}
		}
	}
}

// acquirePartitions locks the partitions that are free, and starts their workers. It tells whether no other projector
// owns any.
func (p *Projector) acquirePartitions(
	ctx context.Context, locks *Locks, supervisor *supervisor,
) (complete bool, err error) {
	startable := supervisor.startable()
	locked, err := locks.TryLock(ctx, startable)
	if err != nil {
		return false, err
	}
	supervisor.start(ctx, locked)
	supervisor.ownedElsewhere(startable, locked)
	return len(locked) == len(startable), nil
}

// terminateUnresponsive checks the other owners once.
func (p *Projector) terminateUnresponsive(ctx context.Context, locks *Locks) error {
	terminated, err := locks.TerminateUnresponsive(ctx, p.config.OwnerChecks)
	for _, session := range terminated {
		p.config.Log.Warn().Int32("pid", session.PID).Str("application_name", session.Application).
			Msg("terminated unresponsive projector")
	}
	return err
}

// partitions returns those of a stream's partitions that this projector may own. It logs those that the stream doesn't
// have.
func (p *Projector) partitions(count int) (list []int, err error) {
	for partition := range count {
		if p.config.Partitions == nil || slices.Contains(p.config.Partitions, partition) {
			list = append(list, partition)
		}
	}

	if len(list) == 0 {
		return nil, fmt.Errorf("none of the partitions %v of CALLBOARD_PARTITIONS is the stream's, which has 0-%d: "+
			"correct the setting",
			p.config.Partitions, count-1)
	}

	surplus := slices.DeleteFunc(slices.Clone(p.config.Partitions), func(partition int) bool { return partition < count })
	if len(surplus) > 0 {
		p.config.Log.Error().Ints("surplus", surplus).Int("last_partition", count-1).
			Msg("partitions of CALLBOARD_PARTITIONS are not the stream's")
	}
	return list, nil
}
