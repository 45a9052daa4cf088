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
	"callboard/schema"
)

// stepTimeout limits a step of an actor. Without it, a statement to a host that has disappeared without closing the
// connection would wait for a quarter of an hour.
const stepTimeout = time.Minute

// readyWithin is for how long a sender is ready after it has looked for what is due.
const readyWithin = 10 * time.Second

// Config configures a sender.
type Config struct {
	Database *pgxpool.Pool // of the primary, as callboard_webhooks
	NATS     *nats.Conn    // that never stops reconnecting
	Gate     *Gate         // nil: readers use the primary; Run closes it
	Vault    *webhook.Vault
	Client   *egress.Client
	Schedule Schedule
	InFlight int           // the most requests at once
	Timeout  time.Duration // of a request, as the client has it: for so long a sender that ends waits for its requests
	Days     int           // for how many days history is stored
	Poll     time.Duration // the interval of looks at the tables, when no message tells of work
	Log      zerolog.Logger
	Metrics  prometheus.Registerer
}

// Sender sends webhooks.
type Sender struct {
	config  Config
	metrics *metrics
	nodes   schema.Nodes
	readyAt atomic.Pointer[time.Time] // when it looked for what is due; nil: it never did
	wake    chan struct{}             // there may be notices
	due     chan []uuid.UUID          // endpoints that got deliveries
	trials  sync.WaitGroup
}

// New returns a sender that has not started. It registers its metrics with config.Metrics, once for each registry.
func New(config Config) *Sender {
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

	for _, a := range []actor{
		{"fan-out", s.config.Poll, s.wake, s.fanOut},
		{"taking a webhook test", s.config.Poll, nil, s.try},
		{"webhook table maintenance", daysInterval, nil, s.maintainDays},
		{"counting webhooks", measureInterval, nil, s.measure},
		{"judging webhook endpoints", measureInterval, nil, s.judgeAll},
	} {
		actors.Go(func() { s.repeat(ctx, a) })
	}

	newDispatcher(s).run(ctx)
	s.config.Log.Info().Msg("webhook sender stopped")
	return nil
}

// actor is work beside the dispatcher that is repeated.
type actor struct {
	what     string
	interval time.Duration
	wake     <-chan struct{} // nil: nothing shortens the interval

	// step does some of the work, in a limited time. more, without an error: the next step follows at once.
	step func(context.Context) (more bool, err error)
}

// repeat takes steps at once and then at intervals, until ctx ends. What failed is tried again sooner.
func (s *Sender) repeat(ctx context.Context, a actor) {
	for backOff := newBackOff(); ctx.Err() == nil; {
		limited, cancel := context.WithTimeout(ctx, stepTimeout)
		more, err := a.step(limited)
		cancel()

		wait, wakes := a.interval, a.wake
		if err != nil && ctx.Err() == nil {
			// After a failure, a wake-up does not shorten the wait.
			wait, wakes = backOff.NextBackOff(), nil
			s.config.Log.Error().Err(err).Dur("retry_in", wait).Msg(a.what + " failed")
		} else {
			backOff.Reset()
		}

		if more {
			continue
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

// publishDue tells this sender and the others which endpoints got deliveries. Without NATS the others find them at
// their next look.
func (s *Sender) publishDue(endpoints []uuid.UUID) {
	s.tellDue(endpoints)
	data, _ := json.Marshal(endpoints) // ids can be encoded
	if err := s.config.NATS.Publish(webhook.DueSubject, data); err != nil {
		s.config.Log.Debug().Err(err).Msg("publishing due endpoints failed")
	}
}
