package projector

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

// Values that need a request are read in the background, so that collecting the metrics never waits for NATS or PostgreSQL. Values that
// can't be read stay as they are: what they depend on is then reported by the loop that needs it, too.
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
		timed, cancel := context.WithTimeout(ctx, interval)
		observe(timed)
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// observeDatabase reports the live generation and the open dead letters until ctx ends.
func (p *Projector) observeDatabase(ctx context.Context) {
	every(ctx, databaseTicks*p.config.Tick, func(ctx context.Context) {
		summary, err := p.control.Summary(ctx)
		if err != nil {
			p.config.Log.Debug().Err(err).Msg("reading the metrics of the database failed")
			return
		}
		p.metrics.generation.Set(float64(summary.Generation))
		p.metrics.openDeadLetters.Set(float64(summary.OpenDeadLetters))
	})
}

// observePending reports the partition's pending messages until stop is called. The worker's own loop can't: it is busy with a batch just
// when the number matters.
func (w *worker) observePending(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var observing sync.WaitGroup
	observing.Go(func() {
		every(ctx, pendingTicks*w.config.Tick, func(ctx context.Context) {
			if w.idle.Load() {
				w.metrics.pending.WithLabelValues(label(w.partition)).Set(0)
				return
			}
			pending, err := w.countPending(ctx)
			if err != nil {
				w.log.Debug().Err(err).Msg("reading the number of pending messages failed")
				return
			}
			w.metrics.pending.WithLabelValues(label(w.partition)).Set(float64(pending))
		})
	})
	return func() {
		cancel()
		observing.Wait()
	}
}

// countPending counts the partition's messages above the position: the server tells a new consumer how many there are.
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
