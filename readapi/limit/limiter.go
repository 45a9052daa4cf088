package limit

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
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

	tick time.Duration    // see [clock]; zero: a millisecond
	now  func() time.Time // nil: the local clock
}

// Limiter takes permits from keys' budgets. It is safe for concurrent use.
type Limiter struct {
	report, standard, premium int
	timeout                   time.Duration
	store                     *store
	clock                     clock
	breaker                   *breaker
	log                       zerolog.Logger
	metrics                   *metrics

	mu       sync.Mutex
	lineages map[uuid.UUID]*lineage
	serve    func(*lineage) // serves a lineage in a goroutine; nil: the limiter does not run
}

// maxLines is how many lines the limiter logs in a minute.
const maxLines = 10

// New returns a limiter, which sends nothing before [Limiter.Run].
func New(c Config) (*Limiter, error) {
	if c.JetStream == nil || min(c.Report, c.Standard, c.Premium) < 1 {
		return nil, errors.New("JetStream is missing, or an allowance is below 1")
	}
	if c.now == nil {
		c.now = time.Now
	}
	c.tick = cmp.Or(c.tick, time.Millisecond)
	c.Timeout = cmp.Or(c.Timeout, time.Second)
	return &Limiter{
		report: c.Report, standard: c.Standard, premium: c.Premium, timeout: c.Timeout,
		store: newStore(c), clock: clock{local: c.now, tick: c.tick}, breaker: newBreaker(),
		metrics: newMetrics(c.Metrics), lineages: make(map[uuid.UUID]*lineage),

		// An overloaded server would fill the log with outages. Their ends are not left out.
		log: c.Log.Sample(zerolog.LevelSampler{
			WarnSampler: &zerolog.BurstSampler{Burst: maxLines, Period: time.Minute},
		}),
	}, nil
}

// Run connects decisions to NATS until ctx ends. Without it every decision is made as if NATS did not reply. It returns
// an error if the connection is closed.
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
	Report  Report
}

// buckets returns the budgets that a request is counted in. A report operation has no more permits than the tier.
func (l *Limiter) buckets(r Request) []bucket {
	tier := bucket{policy: tierPolicy, limit: l.standard}
	if r.Premium {
		tier.limit = l.premium
	}
	if r.Report == NoReport {
		return []bucket{tier}
	}
	return []bucket{{policy: reportPolicy, counter: r.Report, limit: min(l.report, tier.limit)}, tier}
}

// Take takes a permit from each budget that the request is counted in, or from none. If ctx ends first, it refuses the
// request.
func (l *Limiter) Take(ctx context.Context, r Request) *Decision {
	began := time.Now()
	d := l.decide(ctx, r, began)
	l.metrics.count(d.outcome, began)
	return d
}

func (l *Limiter) decide(ctx context.Context, r Request, began time.Time) *Decision {
	k, w := l.lineage(r.Lineage), &waiter{buckets: l.buckets(r), decided: make(chan struct{})}
	if d := k.refuseFull(w, l.clock.now()); d != nil {
		return d
	}

	// The request needs the other half of its time for its answer.
	timeout := l.timeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline)/2)
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	l.metrics.waiting.Inc()
	defer l.metrics.waiting.Dec()
	wait := func(changed <-chan struct{}) {
		select {
		case <-w.decided:
		case <-changed:
		case <-ctx.Done():
		case <-timer.C:
			l.noReply(began, timeout)
		}
	}

	// The first requests wait until it is known whether NATS can be consulted.
	changed, err := l.breaker.state()
	if errors.Is(err, errStarting) {
		wait(changed)
		changed, err = l.breaker.state()
	}
	if err == nil && l.enqueue(k, w) {
		wait(changed)
	}

	d := k.leave(w)
	switch {
	case d != nil:
		return d
	case ctx.Err() != nil:
		return w.refuse(abandoned, nil)
	case r.Report != NoReport:
		return w.refuse(unreachableRefused, nil)
	}
	return k.takeLocally(w, l.clock.localNow())
}

// lineage returns a lineage, which is kept while it is used.
func (l *Limiter) lineage(id uuid.UUID) *lineage {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.lineages[id]
	if k == nil {
		k = &lineage{id: id}
		l.lineages[id] = k
	}
	k.last = time.Now()
	return k
}

// enqueue makes a request wait for the lineage's counters. It returns false if it can't.
func (l *Limiter) enqueue(k *lineage, w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serve == nil {
		return false
	}
	serve, ok := k.enqueue(w)
	if serve {
		l.serve(k)
	}
	return ok
}

// serveLineage writes versions of a lineage's counters until no request waits for them, or ctx ends.
func (l *Limiter) serveLineage(ctx context.Context, k *lineage) {
	for conflicts := 0; ctx.Err() == nil; {
		w := k.next(l.clock.now(), rand.Uint64())
		if w == nil {
			return
		}

		err := l.storeVersion(ctx, k, w)
		switch {
		case err == nil:
			conflicts = 0
		case errors.Is(err, errConflict):
			conflicts++
			pauseAfter(ctx, conflicts)
		case ctx.Err() == nil:
			k.fail(w)
			l.failed(err)
		}
	}
}

// storeVersion stores a version and allows its requests. The error is [errConflict] if another version is stored; the
// lineage has then taken that over, and the requests wait again. After other errors the version may be stored or not.
func (l *Limiter) storeVersion(ctx context.Context, k *lineage, w *write) error {
	// A write without an acknowledgement is repeated once. Each has half of the time, so a slow line is no outage.
	var sequence uint64
	err := errNoReply
	for attempt := 0; attempt < 2 && errors.Is(err, errNoReply); attempt++ {
		sequence, err = l.store.write(ctx, k.id.String(), w.encode(), w.expected, l.timeout/2)
	}
	if err == nil {
		k.confirm(w, sequence)
		return nil
	}
	if !errors.Is(err, errConflict) {
		return err
	}

	// The stored version can be this one, if only its acknowledgement was lost.
	stored, err := l.store.load(ctx, k.id, l.timeout)
	if err != nil {
		return err
	}
	if stored.mark == w.mark {
		k.confirm(w, stored.sequence)
		return nil
	}
	k.replace(w, stored)
	return errConflict
}

// pauseAfter pauses for a random time after conflicts, so that readers that write one version do not meet again.
func pauseAfter(ctx context.Context, conflicts int) {
	const first, longest = 500 * time.Microsecond, 8 * time.Millisecond
	timer := time.NewTimer(rand.N(min(first<<min(conflicts, 8), longest)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
