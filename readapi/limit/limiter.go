package limit

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Config configures a limiter.
type Config struct {
	// JetStream belongs to a connection that reconnects without limit and does not buffer messages while it is
	// disconnected.
	JetStream jetstream.JetStream

	// A key's permits a minute: for each report operation, and for all operations together by its tier.
	Report, Standard, Premium int

	// Timeout is how long a decision may wait for NATS while it is connected. A decision takes at most half of the time
	// until the request's deadline. Zero means a second.
	Timeout time.Duration

	Log zerolog.Logger

	// Metrics is where the limiter's metrics are registered. Nil means nowhere.
	Metrics prometheus.Registerer
}

// Limiter takes permits from keys' budgets. It is safe for concurrent use.
type Limiter struct {
	config  Config
	store   *store
	clock   clock
	metrics *metrics

	mu          sync.Mutex
	lineages    map[uuid.UUID]*lineage
	unreachable error          // why NATS can't be consulted; nil: it can
	serve       func(*lineage) // serves a lineage in a goroutine; called while NATS is reachable
}

// errStarting means that it is not known yet whether NATS can be consulted. Requests wait for that.
var errStarting = errors.New("not yet checked")

// New returns a limiter, which sends nothing before [Limiter.Run].
func New(c Config) (*Limiter, error) {
	if c.JetStream == nil || min(c.Report, c.Standard, c.Premium) < 1 {
		return nil, errors.New("JetStream is missing, or an allowance is below 1")
	}
	c.Timeout = cmp.Or(c.Timeout, time.Second)

	// An overloaded server would fill the log with outages: it has ten a minute at most. Their ends are not left out.
	c.Log = c.Log.Sample(zerolog.LevelSampler{
		WarnSampler: &zerolog.BurstSampler{Burst: 10, Period: time.Minute},
	})

	return &Limiter{
		config: c, store: &store{js: c.JetStream, timeout: c.Timeout}, metrics: newMetrics(c.Metrics),
		clock:    clock{local: time.Now, tick: time.Millisecond},
		lineages: make(map[uuid.UUID]*lineage), unreachable: errStarting,
	}, nil
}

const (
	// checkInterval is how often the stream and the server's clock are looked at, and unused counters are forgotten.
	checkInterval = 10 * time.Second

	// probeInterval is how often that is while NATS can't be consulted.
	probeInterval = 100 * time.Millisecond

	// keep is how long unused counters are remembered. It is longer than the window, so that counters that the server
	// loses are not lost.
	keep = 2 * time.Minute
)

// Run connects decisions to NATS until ctx ends. Without it every decision is made as if NATS did not reply. It returns
// an error if the connection is closed.
func (l *Limiter) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)

	var serving sync.WaitGroup
	l.serve = func(k *lineage) { serving.Go(func() { l.serveLineage(ctx, k) }) }

	// Deferred calls run from the last to the first: once NATS is unreachable, no lineage is served any more.
	defer serving.Wait()
	defer cancel()
	defer l.setUnreachable(context.Canceled)

	// While NATS can't be consulted, each tick probes it.
	conn := l.config.JetStream.Conn()
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for checked := (time.Time{}); !conn.IsClosed(); {
		if l.outage() != nil || !conn.IsConnected() || time.Since(checked) >= checkInterval {
			l.prune(time.Now())
			l.check(ctx)
			checked = time.Now()
		}

		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
	return nats.ErrConnectionClosed
}

// check finds out whether NATS can be consulted: the stream counts permits, and the server decides about writes.
func (l *Limiter) check(ctx context.Context) {
	found, err := l.store.ensure(ctx, l.clock.local)
	if err == nil {
		// Decisions need the server's time, so the clock has it before NATS is reachable.
		l.clock.sample.Store(found)
		err = l.store.probe(ctx)
	}

	// The end of the limiter is no outage.
	switch {
	case ctx.Err() != nil:
	case err != nil:
		l.unavailable(err)
	case l.setReachable():
		l.config.Log.Info().Msg("budgets reachable again")
	}
}

// outage returns why NATS can't be consulted, nil if it can.
func (l *Limiter) outage() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unreachable
}

// bypassed reports whether requests are decided without NATS. The caller holds the mutex.
func (l *Limiter) bypassed() bool {
	return l.unreachable != nil && !errors.Is(l.unreachable, errStarting)
}

// setReachable lets NATS decide. It returns whether it did not before.
func (l *Limiter) setReachable() (again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unreachable == nil {
		return false
	}

	// Requests that have waited for the first check are decided now.
	again = l.bypassed()
	l.unreachable = nil
	for _, k := range l.lineages {
		k.forgetSequence()
		l.serveWaiting(k)
	}
	return again
}

// setUnreachable ends the wait of all requests: they are decided without NATS. It returns whether they were not before.
// The first of several reasons stays.
func (l *Limiter) setUnreachable(err error) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bypassed() {
		return false
	}

	l.unreachable = err

	// Requests that wait are decided without NATS at once.
	for _, k := range l.lineages {
		k.deciding, k.waiting = append(k.deciding, k.waiting...), nil
		k.end(false)
	}
	return true
}

func (l *Limiter) unavailable(err error) {
	if l.setUnreachable(err) {
		l.config.Log.Warn().Err(err).Msg("budgets unreachable")
	}
}

// failed notes why a lineage was not decided. Some reasons concern all lineages.
func (l *Limiter) failed(err error) {
	switch {
	case errors.Is(err, errDisconnected), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrNoResponders),
		errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, jetstream.ErrStreamNotFound):
		l.unavailable(err)
	default:
		l.config.Log.Warn().Err(err).Msg("budget of a key not consulted")
	}
}

// prune forgets lineages that are not used any more.
func (l *Limiter) prune(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, k := range l.lineages {
		if now.Sub(k.last) > keep {
			delete(l.lineages, id)
		}
	}
}
