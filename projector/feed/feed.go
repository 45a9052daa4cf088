// Package feed brings a partition's messages, in order and without a gap, or fails.
package feed

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Feed is a pull consumer at work. Close it.
type Feed struct {
	// Messages are the consumer's, in order.
	Messages <-chan jetstream.Msg
	// Failed says why no more come.
	Failed <-chan error

	messages chan jetstream.Msg
	failed   chan error
	done     chan struct{}
	consume  jetstream.ConsumeContext
	next     uint64 // the delivery that comes next, counted by the server from 1
	last     uint64 // the stream's sequence that came last
}

const (
	// prefetchBytes bounds what waits in memory for one partition.
	prefetchBytes = 16 << 20
	// batchBytes ends a batch of large messages early.
	batchBytes = 8 << 20
)

// ErrGap is a delivery that went elsewhere, or came twice.
var ErrGap = errors.New("the consumer skipped or repeated a delivery")

// Open starts a consumer that has delivered nothing yet; batch messages are asked for at a time.
func Open(consumer jetstream.Consumer, batch int) (*Feed, error) {
	f := &Feed{messages: make(chan jetstream.Msg, batch), failed: make(chan error, 1), done: make(chan struct{}), next: 1}
	f.Messages, f.Failed = f.messages, f.failed
	var err error
	f.consume, err = consumer.Consume(f.deliver,
		jetstream.PullMaxMessagesWithBytesLimit(batch, prefetchBytes),
		jetstream.ConsumeErrHandler(f.trouble))
	if err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	return f, nil
}

// deliver runs on the consumer's own goroutine. Somebody else's pull on the same consumer would take deliveries away from this
// one, and the count shows it; a message that is delivered again, since its acknowledgement was lost, is counted as a new one.
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

// trouble hears what the consumer can't mend by itself; missed heartbeats and reconnects it can.
func (f *Feed) trouble(_ jetstream.ConsumeContext, err error) {
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

// Take is first and what has come behind it, up to a limit. It never waits: batches grow with the backlog by themselves.
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

// Close ends the feed and returns once nothing of it runs.
func (f *Feed) Close() {
	close(f.done)
	f.consume.Stop()
	<-f.consume.Closed()
}
