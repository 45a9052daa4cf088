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

// Config is what a limiter is made of.
type Config struct {
	// JetStream is that of a connection which reconnects for ever.
	JetStream jetstream.JetStream

	// Permits a minute of a key: for each report operation, and for all operations together by its tier.
	Report, Standard, Premium int

	// DecisionTimeout is how long a decision may take. Zero means 50 ms.
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

// Limiter takes permits from keys' budgets. Its methods may be called from several goroutines.
type Limiter struct {
	standard, premium *ledger
	wire              *wire
	gates             *gates
	local             *local
	metrics           *metrics
	trouble           *outage // of asking
	window            time.Duration
	decisionTimeout   time.Duration
	missing           chan struct{} // a nudge: there may be no stream
}

// New is a limiter; it asks nobody before it runs. The error says what in the configuration can't be metered.
func New(c Config) (*Limiter, error) {
	if c.JetStream == nil || min(c.Report, c.Standard, c.Premium) < 1 {
		return nil, errors.New("no JetStream, or no permits")
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
	standard, err := newLedger(c, c.Standard)
	if err != nil {
		return nil, err
	}
	premium, err := newLedger(c, c.Premium)
	if err != nil {
		return nil, err
	}
	metrics, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, err
	}
	return &Limiter{
		standard: standard, premium: premium,
		wire: newWire(c.JetStream.Conn()), gates: newGates(), local: newLocal(c.window),
		metrics: metrics, trouble: newOutage(c.Log, "rate limits"),
		window: c.window, decisionTimeout: c.DecisionTimeout, missing: make(chan struct{}, 1),
	}, nil
}

// Run serves the decisions until ctx ends. While it doesn't run, NATS is out of their reach. The error is a connection that was
// closed.
func (l *Limiter) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.wire.run(ctx) })
	group.Go(func() error { l.keep(ctx); return nil })
	return group.Wait()
}

// Request is a request for a permit.
type Request struct {
	Lineage uuid.UUID // of the key: keys that replace each other share a budget
	Premium bool
	Report  string // the ID of the report operation, a token of a subject; empty for other operations
}

// Take takes a permit from each budget that the request is counted in, or from none. It decides within the limiter's patience whatever NATS does.
// Should ctx end before, the request is refused, since nobody waits for it.
func (l *Limiter) Take(ctx context.Context, a Request) *Decision {
	began := time.Now()
	d, o := l.decide(ctx, a, began)
	l.metrics.count(o, began)
	return d
}

func (l *Limiter) decide(ctx context.Context, a Request, began time.Time) (*Decision, outcome) {
	ledger := l.standard
	if a.Premium {
		ledger = l.premium
	}
	r := &request{Limiter: l, ledger: ledger, buckets: ledger.buckets(a), deadline: began.Add(l.decisionTimeout)}
	if full := l.gates.closed(r.buckets, began); len(full) > 0 {
		return refuse(r.policy(), full...), refusedLocally
	}
	if ledger.unfit.Load() {
		return l.alone(a, r)
	}
	d, err := r.take(ctx)
	switch {
	case err == nil && d.Allowed:
		return d, allowed
	case err == nil:
		return d, refused
	case ctx.Err() != nil:
		return refuse(r.policy()), abandoned
	}
	l.trouble.begin(err)
	l.nudge() // silence too may mean that there is no stream: whoever listens in on its subjects hides that from the server
	return l.alone(a, r)
}

// alone decides where NATS can't be asked, or can't say.
func (l *Limiter) alone(a Request, r *request) (*Decision, outcome) {
	if a.Report != "" {
		return refuse(r.policy()), unreachableRefused
	}
	left, ok := l.local.take(a.Lineage, r.buckets[0], time.Now())
	if !ok {
		return refuse(r.policy(), left), unreachableRefused
	}
	return allow(r.policy(), func() []standing { return []standing{left} }), unreachableAllowed
}

// nudge has the streams looked up soon.
func (l *Limiter) nudge() {
	select {
	case l.missing <- struct{}{}:
	default:
	}
}
