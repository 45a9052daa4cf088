package webhook

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/projector/retry"
	"callboard/projector/webhook/egress"
	"callboard/projector/webhook/fanout"
	"callboard/projector/webhook/lane"
	"callboard/projector/webhook/vault"
)

// statementTimeout limits statements that record no outcomes. Without it, a statement to a host that has disappeared without closing the
// connection would wait for a quarter of an hour.
const statementTimeout = time.Minute

// readyWithin is for how long a sender is ready after it has brought its share of the shards up to date.
const readyWithin = 10 * time.Second

// Config configures a sender.
type Config struct {
	Database *pgxpool.Pool // of the primary, as callboard_webhooks
	NATS     *nats.Conn    // that never stops reconnecting
	Gate     *fanout.Gate  // nil: readers use the primary; Run closes it
	Vault    *vault.Vault
	Client   *egress.Client
	Schedule lane.Schedule // zero: the default one
	InFlight int           // the most requests at once; 0: 512
	Timeout  time.Duration // of a request, as the client has it: for so long a sender that ends waits for its requests; 0: 15 s
	Days     int           // for how many days history is stored; 0: 30
	Poll     time.Duration // the interval of looks at the tables, when no message tells of work; 0: 250 ms

	// OwnerChecks is after how many checks without a statement of a sender its session is terminated, one check every half second. 0: 14, so
	// that its shards go on within ten seconds.
	OwnerChecks int

	Log     zerolog.Logger
	Metrics prometheus.Registerer
}

// Sender sends webhooks.
type Sender struct {
	config     Config
	metrics    *metrics
	balancedAt atomic.Pointer[time.Time] // when the share of the shards was brought up to date; nil: there is no session
	wake       chan struct{}             // there may be notices
	due        chan []int16              // shards whose endpoints got deliveries
}

// New returns a sender that has not started. It registers its metrics with config.Metrics.
func New(config Config) (*Sender, error) {
	config.InFlight = cmp.Or(config.InFlight, 512)
	config.Days = cmp.Or(config.Days, 30)
	config.Poll = cmp.Or(config.Poll, 250*time.Millisecond)
	config.Timeout = cmp.Or(config.Timeout, 15*time.Second)
	config.OwnerChecks = cmp.Or(config.OwnerChecks, 14)
	if len(config.Schedule.Retries) == 0 {
		config.Schedule = lane.DefaultSchedule()
	}
	metrics, err := newMetrics(config.Metrics)
	if err != nil {
		return nil, err
	}
	return &Sender{config: config, metrics: metrics, wake: make(chan struct{}, 1), due: make(chan []int16, 64)}, nil
}

// Ready tells whether the sender reaches the database. It may own shards or stand by.
func (s *Sender) Ready() bool {
	at := s.balancedAt.Load()
	return at != nil && time.Since(*at) < readyWithin
}

// Run sends until ctx ends; then it waits for its requests, records their outcomes and returns nil. It logs and retries whatever fails.
func (s *Sender) Run(ctx context.Context) error {
	if s.config.Gate != nil {
		defer s.config.Gate.Close()
	}
	unsubscribe, err := s.subscribe()
	if err != nil {
		return err
	}
	defer unsubscribe()
	var actors sync.WaitGroup
	defer actors.Wait()
	for _, actor := range []func(context.Context){s.fanOut, s.try, s.maintainDays, s.measure} {
		actors.Go(func() { actor(ctx) })
	}
	for backOff := retry.NewBackOff(); ; {
		began := time.Now()
		err := s.session(ctx)
		s.balancedAt.Store(nil)
		if ctx.Err() != nil {
			s.config.Log.Info().AnErr("session", err).Msg("webhook sender stopped")
			return nil
		}
		wait := backOff.Next(time.Since(began))
		s.config.Log.Error().Err(err).Dur("retry_in", wait).Msg("webhook session lost")
		retry.Pause(ctx, wait)
	}
}
