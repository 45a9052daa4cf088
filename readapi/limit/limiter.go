package limit

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Config configures a limiter.
type Config struct {
	// JetStream belongs to a connection that reconnects without limit and does not buffer messages while it is disconnected.
	JetStream jetstream.JetStream

	// A key's permits a minute: for each report operation, and for all operations together by its tier.
	Report, Standard, Premium int

	// Timeout is how long a decision may wait for NATS while it is connected. A decision takes at most half of the time until the request's
	// deadline. Zero means a second.
	Timeout time.Duration

	Log zerolog.Logger

	// Metrics is where the limiter's metrics are registered. Nil means nowhere.
	Metrics prometheus.Registerer

	window       time.Duration    // zero: a minute
	maxUnchecked time.Duration    // zero: a second; see [lineage.maxUnchecked]
	now          func() time.Time // nil: the local clock
}

const (
	defaultWindow       = time.Minute
	defaultTimeout      = time.Second
	defaultMaxUnchecked = time.Second
)

// Limiter takes permits from keys' budgets. It is safe for concurrent use.
type Limiter struct {
	report, standard, premium int
	window, timeout           time.Duration
	maxUnchecked              time.Duration
	store                     *store
	clock                     clock
	breaker                   *breaker
	local                     *localCounter
	metrics                   *metrics
	outage                    *outage
	log                       zerolog.Logger
	reader                    uint64        // random
	writes                    atomic.Uint64 // number of the last write

	mu       sync.Mutex
	lineages map[uuid.UUID]*lineage
	serve    func(*lineage) // serves a lineage in a goroutine; nil: the limiter does not run
}

// New returns a limiter, which sends nothing before [Limiter.Run].
func New(c Config) (*Limiter, error) {
	if c.JetStream == nil || min(c.Report, c.Standard, c.Premium) < 1 {
		return nil, errors.New("JetStream is missing, or an allowance is below 1")
	}
	if c.window == 0 {
		c.window = defaultWindow
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	c.maxUnchecked = cmp.Or(c.maxUnchecked, defaultMaxUnchecked)
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	if c.now == nil {
		c.now = time.Now
	}
	metrics, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, err
	}
	return &Limiter{
		report: c.Report, standard: c.Standard, premium: c.Premium, window: c.window, timeout: c.Timeout, maxUnchecked: c.maxUnchecked,
		store: newStore(c), clock: clock{local: c.now}, breaker: newBreaker(), local: newLocalCounter(c.window),
		metrics: metrics, outage: newOutage(c.Log), log: c.Log, reader: rand.Uint64(),
		lineages: make(map[uuid.UUID]*lineage),
	}, nil
}

// Run connects decisions to NATS until ctx ends. Without it every decision is made as if NATS did not reply. It returns an error if
// the connection is closed.
func (l *Limiter) Run(ctx context.Context) error {
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.setServe(func(k *lineage) { serving.Go(func() { l.serveLineage(ctx, k) }) })
	defer l.setServe(nil)
	return l.maintain(ctx)
}

func (l *Limiter) setServe(serve func(*lineage)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serve = serve
}

// Request is a request that needs permits.
type Request struct {
	Lineage uuid.UUID // of the key: keys that replace each other share a budget
	Premium bool
	Report  string // the id of the report operation; empty for other operations
}

// buckets returns the budgets that a request is counted in. A report operation has no more permits than the tier.
func (l *Limiter) buckets(r Request) []bucket {
	tier := bucket{policy: tierPolicy, name: tierPolicy, limit: l.standard}
	if r.Premium {
		tier.limit = l.premium
	}
	if r.Report == "" {
		return []bucket{tier}
	}
	return []bucket{{policy: reportPolicy, name: r.Report, limit: min(l.report, tier.limit)}, tier}
}

// Take takes a permit from each budget that the request is counted in, or from none. If ctx ends first, it refuses the request.
func (l *Limiter) Take(ctx context.Context, r Request) *Decision {
	began := time.Now()
	d, o := l.decide(ctx, r)
	l.metrics.count(o, began)
	return d
}

func (l *Limiter) decide(ctx context.Context, r Request) (*Decision, outcome) {
	k := l.lineage(r.Lineage)
	w := &waiter{buckets: l.buckets(r), window: l.window, decided: make(chan result, 1), began: time.Now(), timeout: l.timeoutFor(ctx)}
	timer := time.NewTimer(w.timeout)
	defer timer.Stop()
	select {
	case <-l.breaker.started:
	case <-ctx.Done():
		return w.refuse(nil), abandoned
	case <-timer.C:
		l.noReply(w)
		return l.decideLocally(r, k, w)
	}
	opened, err := l.breaker.state()
	if err == nil {
		if d := l.refuseFull(k, w, l.maxUnchecked); d != nil {
			return d, refusedLocally
		}
		if l.enqueue(k, w) {
			return l.wait(ctx, r, k, w, opened, timer.C)
		}
	}
	return l.decideLocally(r, k, w)
}

// refuseFull refuses a request if the log in memory is full and not older than allowed.
func (l *Limiter) refuseFull(k *lineage, w *waiter, oldest time.Duration) *Decision {
	if !l.clock.known() {
		return nil
	}
	return k.refuseFull(w, l.clock.earliest(), oldest)
}

// timeoutFor returns how long a decision may take. The request needs the other half of its time for its answer.
func (l *Limiter) timeoutFor(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(l.timeout, time.Until(deadline)/2)
	}
	return l.timeout
}

// lineage returns a lineage, which is kept while it is used.
func (l *Limiter) lineage(id uuid.UUID) *lineage {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.lineages[id]
	if k == nil {
		k = &lineage{id: id, window: ticks(l.window), maxUnchecked: l.maxUnchecked}
		l.lineages[id] = k
	}
	k.used = time.Now()
	return k
}

// enqueue makes a request wait for the lineage's log. It returns false if it can't.
func (l *Limiter) enqueue(k *lineage, w *waiter) bool {
	serve, ok := k.enqueue(w)
	if !serve || !ok {
		return ok
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serve == nil {
		k.stopServing()
		k.leave(w, nil)
		return false
	}
	l.serve(k)
	return true
}

// wait waits for a decision while NATS can be consulted.
func (l *Limiter) wait(
	ctx context.Context, r Request, k *lineage, w *waiter, opened <-chan struct{}, timeout <-chan time.Time,
) (*Decision, outcome) {
	l.metrics.waiting.Inc()
	defer l.metrics.waiting.Dec()
	select {
	case decided := <-w.decided:
		return l.decided(r, k, w, decided)
	case <-ctx.Done():
		if d := w.refuse(nil); k.leave(w, nil) {
			return d, abandoned
		}
		return l.decided(r, k, w, <-w.decided)
	case <-opened:
	case <-timeout:
		l.noReply(w)
	}
	d, o := l.decideLocally(r, k, w)
	if k.leave(w, d) {
		return d, o
	}
	return l.decided(r, k, w, <-w.decided)
}

func (l *Limiter) decided(r Request, k *lineage, w *waiter, decided result) (*Decision, outcome) {
	switch {
	case decided.err != nil:
		return l.decideLocally(r, k, w)
	case decided.decision.Allowed:
		return decided.decision, allowed
	}
	return decided.decision, refused
}

// decideLocally decides when NATS does not.
func (l *Limiter) decideLocally(r Request, k *lineage, w *waiter) (*Decision, outcome) {
	if d := l.refuseFull(k, w, l.window); d != nil {
		return d, refusedLocally
	}
	if r.Report != "" {
		return w.refuse(nil), unreachableRefused
	}
	now := time.Now()
	left, ok := l.local.take(r.Lineage, w.buckets[0], now)
	if !ok {
		return w.refuse([]quota{left}), unreachableRefused
	}
	d := w.allow([]quota{left})
	d.giveBack = func() { l.local.giveBack(r.Lineage, now.Add(left.wait)) }
	return d, unreachableAllowed
}
