// Package sender sends webhooks: it turns what became fetchable into requests to the endpoints that operators
// registered.
//
//	notices ── fan-out ──> webhook.delivery ── lease, due ──> requests ──> endpoints
//	                              ^                              │
//	                              └────────── record ────────────┘
//
// The table is the queue. Several senders share the endpoints: one that finds an endpoint with due deliveries leases
// it, and is alone in sending to it. A sender that ends leaves nothing behind: its leases end with its session, and
// those of a frozen one with their time. A delivery leaves the table in the transaction that records its last attempt,
// so a request whose outcome was not recorded is repeated, as the same event.
package sender

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events/webhook"
	"callboard/projector/webhook/egress"
)

// statementTimeout limits statements that record no outcomes. Without it, a statement to a host that has disappeared
// without closing the connection would wait for a quarter of an hour.
const statementTimeout = time.Minute

// readyWithin is for how long a sender is ready after it has looked for what is due.
const readyWithin = 10 * time.Second

// Config configures a sender.
type Config struct {
	Database *pgxpool.Pool // of the primary, as callboard_webhooks
	NATS     *nats.Conn    // that never stops reconnecting
	Gate     *Gate         // nil: readers use the primary; Run closes it
	Vault    *webhook.Vault
	Client   *egress.Client
	Schedule Schedule      // zero: the default one
	InFlight int           // the most requests at once; 0: 512
	Timeout  time.Duration // of a request, as the client has it: for so long a sender that ends waits for its requests; 0: 15 s
	Days     int           // for how many days history is stored; 0: 30
	Poll     time.Duration // the interval of looks at the tables, when no message tells of work; 0: 250 ms
	Log      zerolog.Logger
	Metrics  prometheus.Registerer
}

// Sender sends webhooks.
type Sender struct {
	config  Config
	metrics *metrics
	readyAt atomic.Pointer[time.Time] // when it looked for what is due; nil: it never did
	wake    chan struct{}             // there may be notices
	due     chan []uuid.UUID          // endpoints that got deliveries
	trials  sync.WaitGroup
}

// New returns a sender that has not started. It registers its metrics with config.Metrics, once for each registry.
func New(config Config) *Sender {
	config.InFlight = cmp.Or(config.InFlight, 512)
	config.Days = cmp.Or(config.Days, 30)
	config.Poll = cmp.Or(config.Poll, 250*time.Millisecond)
	config.Timeout = cmp.Or(config.Timeout, 15*time.Second)
	if len(config.Schedule.Retries) == 0 {
		config.Schedule = DefaultSchedule()
	}
	return &Sender{
		config: config, metrics: newMetrics(config.Metrics), wake: make(chan struct{}, 1), due: make(chan []uuid.UUID, 64),
	}
}

// Ready tells whether the sender reaches the database. It may send or stand by.
func (s *Sender) Ready() bool {
	at := s.readyAt.Load()
	return at != nil && time.Since(*at) < readyWithin
}

// Run sends until ctx ends; then it waits for its requests, records their outcomes and returns nil. It logs and retries
// whatever fails.
func (s *Sender) Run(ctx context.Context) error {
	if s.config.Gate != nil {
		defer s.config.Gate.Close()
	}
	if err := s.subscribe(ctx); err != nil {
		return err
	}

	// The actors beside the dispatcher end before this function does, and the tests of endpoints after them.
	var actors sync.WaitGroup
	defer s.trials.Wait()
	defer actors.Wait()
	f := newFanOut(s.config.Database, s.config.Gate)
	for _, a := range []struct {
		what     string
		interval time.Duration
		wake     <-chan struct{} // nil: nothing shortens the interval
		do       func(context.Context) error
	}{
		{"fan-out", s.config.Poll, s.wake, func(ctx context.Context) error { return s.fanOut(ctx, f) }},
		{"taking a webhook test", s.config.Poll, nil, s.try},
		{"webhook table maintenance", daysInterval, nil, s.maintainDays},
		{"counting webhooks", measureInterval, nil, s.measure},
		{"judging webhook endpoints", measureInterval, nil, s.judgeAll},
	} {
		actors.Go(func() { s.repeat(ctx, a.what, a.interval, a.wake, a.do) })
	}

	newDispatcher(s).run(ctx)
	s.config.Log.Info().Msg("webhook sender stopped")
	return nil
}

// repeat does something at once and then at intervals, until ctx ends. What failed is tried again sooner.
func (s *Sender) repeat(
	ctx context.Context, what string, interval time.Duration, wake <-chan struct{}, do func(context.Context) error,
) {
	for backOff := newBackOff(); ctx.Err() == nil; {
		wait, wakes := interval, wake
		if err := do(ctx); err != nil && ctx.Err() == nil {
			wait, wakes = backOff.NextBackOff(), nil
			s.config.Log.Error().Err(err).Dur("retry_in", wait).Msg(what + " failed")
		} else {
			backOff.Reset()
		}

		select {
		case <-ctx.Done():
		case <-wakes:
		case <-time.After(wait):
		}
	}
}

// newBackOff yields the intervals after failures in a row: from a tenth of a second up to ten seconds, with jitter.
func newBackOff() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(100*time.Millisecond),
		backoff.WithMaxInterval(10*time.Second),
		backoff.WithMaxElapsedTime(0))
}

// query executes a statement that returns a single value.
func query[T any](ctx context.Context, s *Sender, sql string, arguments ...any) (value T, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	err = s.config.Database.QueryRow(ctx, sql, arguments...).Scan(&value)
	return value, err
}

// subscribe makes messages wake the sender, until ctx ends. Both subjects are hints: the sender looks at the tables at
// intervals all the same.
func (s *Sender) subscribe(ctx context.Context) error {
	for subject, handle := range map[string]nats.MsgHandler{
		webhook.WakeSubject: func(*nats.Msg) {
			select {
			case s.wake <- struct{}{}:
			default: // a wake-up is waiting already
			}
		},
		webhook.DueSubject: func(m *nats.Msg) {
			var endpoints []uuid.UUID
			if json.Unmarshal(m.Data, &endpoints) == nil {
				s.tellDue(endpoints)
			}
		},
	} {
		subscription, err := s.config.NATS.Subscribe(subject, handle)
		if err != nil {
			return fmt.Errorf("subscribe to %s: %w", subject, err)
		}
		context.AfterFunc(ctx, func() { _ = subscription.Unsubscribe() }) // fails without a connection
	}
	return nil
}

// tellDue makes the dispatcher look for deliveries of endpoints. A hint that finds no room is dropped.
func (s *Sender) tellDue(endpoints []uuid.UUID) {
	select {
	case s.due <- endpoints:
	default:
	}
}

// fanOut fans notices out until no released notice is left.
func (s *Sender) fanOut(ctx context.Context, f *fanOut) error {
	for more := true; more; {
		result, err := step(ctx, f)
		if err != nil {
			return err
		}
		more = result.More
		s.metrics.skipped.WithLabelValues(reasonNoPhoneSystem).Add(float64(result.Skipped))
		if len(result.Endpoints) > 0 {
			s.publishDue(result.Endpoints)
		}
	}
	return nil
}

// step takes one step, in a limited time.
func step(ctx context.Context, f *fanOut) (fanOutResult, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	return f.step(ctx)
}

// publishDue tells this sender and the others which endpoints got deliveries. Without NATS the others find them at
// their next look.
func (s *Sender) publishDue(endpoints []uuid.UUID) {
	s.tellDue(endpoints)
	data, _ := json.Marshal(endpoints) // ids can be encoded
	if err := s.config.NATS.Publish(webhook.DueSubject, data); err != nil {
		s.config.Log.Debug().Err(err).Msg("publishing due endpoints failed")
	}
}
