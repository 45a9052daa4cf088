// Package feed delivers the messages of a consumer in order and without a gap, or fails.
package feed

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Feed receives the messages of a pull consumer. Close it.
type Feed struct {
	// Messages are in the order of the stream.
	Messages <-chan jetstream.Msg
	// Failed gets the reason why no more messages come.
	Failed <-chan error

	messages chan jetstream.Msg
	failed   chan error
	done     chan struct{}
	consume  jetstream.ConsumeContext
	next     uint64 // number of the next delivery; the server counts from 1
	last     uint64 // stream sequence of the last delivery
}

const (
	// prefetchBytes limits the messages of one consumer that wait in memory.
	prefetchBytes = 16 << 20
	// batchBytes ends a batch of large messages early.
	batchBytes = 8 << 20
)

// ErrGap is a delivery that another client took, or that came twice.
var ErrGap = errors.New("the consumer skipped or repeated a delivery: another client may read from it")

// Open starts to receive from a consumer that has delivered nothing yet. It requests up to batch messages at a time.
func Open(consumer jetstream.Consumer, batch int) (*Feed, error) {
	f := &Feed{messages: make(chan jetstream.Msg, batch), failed: make(chan error, 1), done: make(chan struct{}), next: 1}
	f.Messages, f.Failed = f.messages, f.failed
	var err error
	f.consume, err = consumer.Consume(f.deliver,
		jetstream.PullMaxMessagesWithBytesLimit(batch, prefetchBytes),
		jetstream.ConsumeErrHandler(f.onError))
	if err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	return f, nil
}

// deliver runs on the consumer's own goroutine. Another client's pull on the same consumer would take deliveries away, which their numbers
// show. The server counts a repeated delivery as a new one, but its stream sequence is not a new one.
func (f *Feed) deliver(m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		f.fail(fmt.Errorf("delivery: %w", err))
		return
	}
	if meta.Sequence.Consumer != f.next || meta.Sequence.Stream <= f.last {
		f.fail(ErrGap)
		return
	}
	f.next++
	f.last = meta.Sequence.Stream
	select {
	case f.messages <- m:
	case <-f.done:
	}
}

// onError handles the errors that the consumer can't recover from; it recovers from missed heartbeats and reconnects.
func (f *Feed) onError(_ jetstream.ConsumeContext, err error) {
	if errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound) ||
		errors.Is(err, jetstream.ErrBadRequest) {
		f.fail(fmt.Errorf("consumer: %w", err))
	}
}

func (f *Feed) fail(err error) {
	select {
	case f.failed <- err:
	default:
	}
}

// Take returns first and the messages that have come after it, up to a limit. It never waits: batches grow with the backlog.
func (f *Feed) Take(first jetstream.Msg, limit int) []jetstream.Msg {
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

// Close ends the feed and returns once its goroutines have ended.
func (f *Feed) Close() {
	close(f.done)
	f.consume.Stop()
	<-f.consume.Closed()
}
