package projector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

// feed is a partition's durable pull consumer. It hands messages on in order and without a gap, or fails.
type feed struct {
	messages chan jetstream.Msg
	failed   chan error
	done     chan struct{}
	consume  jetstream.ConsumeContext
	next     uint64 // the delivery that comes next, counted by the server from 1 at the reset
}

const (
	// prefetchBytes bounds what waits in memory for one partition.
	prefetchBytes = 16 << 20
	// batchBytes ends a batch of large messages early.
	batchBytes = 8 << 20
	ackWait    = 10 * time.Minute
)

// openFeed resets the consumer to what comes after position and starts it. The reset also empties what an earlier owner's pulls
// may have taken, and starts the delivery count anew.
func openFeed(ctx context.Context, stream jetstream.Stream, partition int, position uint64, batch int) (*feed, error) {
	name := fmt.Sprintf("projector-%d", partition)
	consumer, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:       name,
		FilterSubject: events.PartitionFilter(partition),
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckAllPolicy,
		AckWait:       ackWait,
		MaxAckPending: -1,
	})
	if err != nil {
		return nil, fmt.Errorf("consumer %s: %w", name, err)
	}
	if _, err := stream.ResetConsumerToSequence(ctx, name, position+1); err != nil {
		return nil, fmt.Errorf("consumer %s: reset: %w", name, err)
	}
	f := &feed{messages: make(chan jetstream.Msg, batch), failed: make(chan error, 1), done: make(chan struct{}), next: 1}
	f.consume, err = consumer.Consume(f.deliver,
		jetstream.PullMaxMessagesWithBytesLimit(batch, prefetchBytes),
		jetstream.ConsumeErrHandler(f.trouble))
	if err != nil {
		return nil, fmt.Errorf("consumer %s: %w", name, err)
	}
	return f, nil
}

// deliver runs on the consumer's own goroutine. Another projector's pull on the same durable would take deliveries away from
// this one, and the count shows it.
func (f *feed) deliver(m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		f.fail(fmt.Errorf("delivery: %w", err))
		return
	}
	if meta.Sequence.Consumer != f.next {
		f.fail(errGap)
		return
	}
	f.next++
	select {
	case f.messages <- m:
	case <-f.done:
	}
}

// trouble hears what the consumer can't mend by itself; missed heartbeats and reconnects it can.
func (f *feed) trouble(_ jetstream.ConsumeContext, err error) {
	if errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound) ||
		errors.Is(err, jetstream.ErrBadRequest) {
		f.fail(fmt.Errorf("consumer: %w", err))
	}
}

func (f *feed) fail(err error) {
	select {
	case f.failed <- err:
	default:
	}
}

// take is first and what has come behind it, up to a batch. It never waits: batches grow with the backlog by themselves.
func (f *feed) take(first jetstream.Msg, limit int) []jetstream.Msg {
	batch := append(make([]jetstream.Msg, 0, len(f.messages)+1), first)
	size := len(first.Data())
	for len(batch) < limit && size < batchBytes {
		select {
		case m := <-f.messages:
			batch = append(batch, m)
			size += len(m.Data())
		default:
			return batch
		}
	}
	return batch
}

func (f *feed) close() {
	close(f.done)
	f.consume.Stop()
	<-f.consume.Closed()
}
