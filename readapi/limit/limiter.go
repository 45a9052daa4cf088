package limit

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

// Config configures a limiter.
type Config struct {
	// JetStream belongs to a connection that reconnects without limit.
	JetStream jetstream.JetStream

	// A key's permits a minute: for each report operation, and for all operations together by its tier.
	Report, Standard, Premium int

	// DecisionTimeout is the longest time for a decision. Zero means 50 ms.
	DecisionTimeout time.Duration

	Log zerolog.Logger

	// Metrics is where the limiter's metrics are registered. Nil means nowhere.
	Metrics prometheus.Registerer

	window time.Duration // zero: a minute
}

const (
	defaultWindow          = time.Minute
	defaultDecisionTimeout = 50 * time.Millisecond
)

// Limiter takes permits from keys' budgets. It is safe for concurrent use.
type Limiter struct {
	standard, premium *tierStream
	client            *client
	blocked           *blocked
	local             *localCounter
	metrics           *metrics
	outage            *outage // of decisions by NATS
	window            time.Duration
	decisionTimeout   time.Duration
	lookup            chan struct{} // has an element if a stream may be missing
}

// New returns a limiter, which sends nothing before [Limiter.Run]. The error says what in the configuration cannot be metered.
func New(c Config) (*Limiter, error) {
	if c.JetStream == nil || min(c.Report, c.Standard, c.Premium) < 1 {
		return nil, errors.New("JetStream is missing, or an allowance is below 1")
	}
	if c.window == 0 {
		c.window = defaultWindow
	}
	if c.DecisionTimeout == 0 {
		c.DecisionTimeout = defaultDecisionTimeout
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	standard, err := newTierStream(c, c.Standard)
	if err != nil {
		return nil, err
	}
	premium, err := newTierStream(c, c.Premium)
	if err != nil {
		return nil, err
	}
	metrics, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, err
	}
	return &Limiter{
		standard: standard, premium: premium,
		client: newClient(c.JetStream.Conn()), blocked: newBlocked(), local: newLocalCounter(c.window),
		metrics: metrics, outage: newOutage(c.Log, "rate limits"),
		window: c.window, decisionTimeout: c.DecisionTimeout, lookup: make(chan struct{}, 1),
	}, nil
}

// Run connects decisions to NATS until ctx ends. Without it every decision is made as if NATS did not reply. It returns an error if
// the connection is closed.
func (l *Limiter) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.client.run(ctx) })
	group.Go(func() error { l.maintain(ctx); return nil })
	return group.Wait()
}

// Request is a request that needs permits.
type Request struct {
	Lineage uuid.UUID // of the key: keys that replace each other share a budget
	Premium bool
	Report  string // the id of the report operation, which is a token of a subject; empty for other operations
}

// Take takes a permit from each budget that the request is counted in, or from none. It decides within the decision timeout whatever
// NATS does. If ctx ends first, it refuses the request.
func (l *Limiter) Take(ctx context.Context, r Request) *Decision {
	began := time.Now()
	d, o := l.decide(ctx, r, began)
	l.metrics.count(o, began)
	return d
}

func (l *Limiter) decide(ctx context.Context, r Request, began time.Time) (*Decision, outcome) {
	stream := l.standard
	if r.Premium {
		stream = l.premium
	}
	a := &attempt{Limiter: l, stream: stream, buckets: stream.buckets(r), deadline: began.Add(l.decisionTimeout)}
	if full := l.blocked.find(a.buckets, began); len(full) > 0 {
		return refuse(a.policy(), full...), refusedLocally
	}
	if stream.misconfigured.Load() {
		return l.decideLocally(r, a)
	}
	d, err := a.take(ctx)
	switch {
	case err == nil && d.Allowed:
		return d, allowed
	case err == nil:
		return d, refused
	case ctx.Err() != nil:
		return refuse(a.policy()), abandoned
	}
	l.outage.begin(err)
	// The stream may be missing although the server did not say so: a subscriber to its subjects hides that.
	l.triggerLookup()
	return l.decideLocally(r, a)
}

// decideLocally decides when NATS does not.
func (l *Limiter) decideLocally(r Request, a *attempt) (*Decision, outcome) {
	if r.Report != "" {
		return refuse(a.policy()), unreachableRefused
	}
	left, ok := l.local.take(r.Lineage, a.buckets[0], time.Now())
	if !ok {
		return refuse(a.policy(), left), unreachableRefused
	}
	return allow(a.policy(), func() []quota { return []quota{left} }), unreachableAllowed
}

// triggerLookup makes [Limiter.maintain] look the streams up soon. It does not wait.
func (l *Limiter) triggerLookup() {
	select {
	case l.lookup <- struct{}{}:
	default:
	}
}

const (
	// lookupInterval is how often the streams are looked up: a stream that NATS lost in a restart is created again, and the server's
	// clock is read again.
	lookupInterval = 10 * time.Second

	// minLookupPause is the shortest pause between lookups, however many requests find no stream.
	minLookupPause = 10 * time.Millisecond
)

// maintain looks the streams up and drops state that has expired, until ctx ends.
func (l *Limiter) maintain(ctx context.Context) {
	ticker := time.NewTicker(lookupInterval)
	defer ticker.Stop()
	for {
		l.prune(time.Now())
		for _, s := range []*tierStream{l.standard, l.premium} {
			l.ensure(ctx, s)
		}
		if !pause(ctx, minLookupPause) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-l.lookup:
		}
	}
}

// ensure ensures a stream. Without a connection it does nothing: the first request that finds no stream triggers a lookup.
func (l *Limiter) ensure(ctx context.Context, s *tierStream) {
	if !l.client.conn.IsConnected() {
		return
	}
	err := s.ensure(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.outage.begin(err)
	default:
		s.outage.end()
	}
}

func (l *Limiter) prune(now time.Time) {
	l.blocked.prune(now)
	l.local.prune(now)
	l.client.prune(now)
}
