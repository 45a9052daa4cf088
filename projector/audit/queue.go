package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/audit"
	"callboard/projector/retry"
)

// queueInterval is how often a writer looks whether there is a work queue of an earlier release.
const queueInterval = 10 * time.Second

// queueConsumer is the configuration of the queue's consumer, which the projectors of all releases share.
func queueConsumer() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       audit.QueueConsumer,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       10 * time.Second,
		MaxDeliver:    -1,
		MaxAckPending: 200,
	}
}

// drainQueue stores what readers of an earlier release send, until ctx ends. What is not acknowledged is delivered again.
func (w *Writer) drainQueue(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.drain(ctx)
		if !queueGone(err) && unlessEnded(ctx, err) != nil {
			w.metrics.failures.Inc()
			w.config.Log.Error().Err(err).Dur("retry_in", queueInterval).Msg("storing audit entries of an earlier release failed")
		}
		retry.Pause(ctx, queueInterval)
	}
}

// queueGone reports whether there is no queue, or it may have been deleted meanwhile. Then nobody answers the request for its messages.
func queueGone(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, nats.ErrNoResponders)
}

func (w *Writer) drain(ctx context.Context) error {
	queue, err := w.config.JetStream.Stream(ctx, audit.QueueName)
	if err != nil {
		return fmt.Errorf("stream %s: %w", audit.QueueName, err)
	}
	consumer, err := queue.Consumer(ctx, audit.QueueConsumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = queue.CreateConsumer(ctx, queueConsumer())
	}
	if err != nil {
		return fmt.Errorf("consumer of stream %s: %w", audit.QueueName, err)
	}
	s := newStorage(w, queue.CachedInfo().Created)
	for ctx.Err() == nil {
		messages, err := fetch(consumer)
		if err != nil {
			return err
		}
		if err := storeInBatches(messages, func(batch []delivery) error { return s.storeQueued(ctx, batch) }); err != nil {
			return err
		}
	}
	return nil
}

// storeQueued stores a batch of the queue and acknowledges its messages.
func (s storage) storeQueued(ctx context.Context, batch []delivery) error {
	if err := s.store(ctx, batch, func(pgx.Tx) error { return nil }); err != nil {
		return err
	}
	for _, d := range batch {
		if err := d.Ack(); err != nil { // the message is delivered again, and its entries are found stored
			s.config.Log.Debug().Err(err).Msg("acknowledging an audit message failed")
		}
	}
	return nil
}
