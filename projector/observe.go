package projector

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

// Values that need a request are read in the background, so that collecting the metrics never waits for NATS or
// PostgreSQL. Values that can't be read stay as they are: what they depend on is then reported by the loop that needs
// it, too.
const (
	// pendingTicks is the interval of a partition's pending messages: 5 s.
	pendingTicks = 10
	// databaseTicks is the interval of what is counted in the database: 15 s.
	databaseTicks = 30
)

// every calls observe now and at an interval, until ctx ends.
func every(ctx context.Context, interval time.Duration, observe func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		observe(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// observeDatabase reports the live generation and the open dead letters until ctx ends.
func (p *Projector) observeDatabase(ctx context.Context) {
	interval := databaseTicks * p.config.Tick
	every(ctx, interval, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, interval)
		defer cancel()

		summary, err := p.control.Summary(ctx)
		if err != nil {
			p.config.Log.Debug().Err(err).Msg("reading the metrics of the database failed")
			return
		}

		p.metrics.generation.WithLabelValues().Set(float64(summary.Generation))
		p.metrics.openDeadLetters.WithLabelValues().Set(float64(summary.OpenDeadLetters))
	})
}

// observePending reports the pending messages of the partitions until ctx ends, one partition after another: for each
// count the server creates a consumer, and many at once would delay the requests with which partitions start. The
// workers can't count by themselves: they are busy with a batch just when the number matters.
func (s *supervisor) observePending(ctx context.Context) {
	every(ctx, pendingTicks*s.projector.config.Tick, func(ctx context.Context) {
		for _, w := range s.active() {
			s.observe(ctx, w)
		}
	})
}

func (s *supervisor) observe(ctx context.Context, w *worker) {
	var pending uint64
	if !w.idle.Load() {
		var err error
		if pending, err = w.countPending(ctx); err != nil {
			w.log.Debug().Err(err).Msg("reading the number of pending messages failed")
			return
		}
	}
	s.ifActive(w, func() { s.projector.metrics.pending.WithLabelValues(label(w.partition)).Set(float64(pending)) })
}

// countPending counts the partition's messages above the position: the server tells a new consumer how many there are.
// Its requests have the client's timeout.
func (w *worker) countPending(ctx context.Context) (uint64, error) {
	consumer, err := w.source.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject:     events.PartitionFilter(w.partition),
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       w.position.Load().Sequence + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		InactiveThreshold: 10 * time.Second, // the server deletes it if this process can't
	})
	if err != nil {
		return 0, err
	}

	info := consumer.CachedInfo()
	return info.NumPending, w.source.DeleteConsumer(ctx, info.Name)
}
