// Package feed delivers the messages of a stream in order and without a gap, or fails.
//
// [SharedFeed] is the one feed of a projector. It reads all partitions of the projector by one consumer, and puts each message into the queue
// of its partition's [Member]:
//
//	consumer ──> is there room? ──> queue of partition 0 ──> Take ──> Done
//	                            ──> queue of partition 1 ──> Take ──> Done
//
// The bytes of all queues and of what was taken are counted, and have a limit. At the limit the feed waits, for all partitions. So that no
// partition holds up the others, one whose queue exceeds its share is detached: the feed skips its messages. It reads them by a separate
// consumer once its queue is empty, and is attached again when it has all of them.
//
// [Feed] delivers the messages of one consumer that its user has created.
package feed

import (
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

// Feed receives the messages of a pull consumer. Close it.
type Feed struct {
	// Messages are in the order of the stream.
	Messages <-chan events.StoredMessage
	// Failed gets the reason why no more messages come.
	Failed <-chan error

	messages chan events.StoredMessage
	failed   chan error
	done     chan struct{}
	pull     *pull
	order    order
}

const (
	// prefetchBytes limits the messages of one consumer that wait in memory.
	prefetchBytes = 16 << 20
	// batchBytes ends a batch of large messages early.
	batchBytes = 8 << 20
)

// Open starts to receive from a consumer that has delivered nothing yet. It requests up to batch messages at a time.
func Open(conn *nats.Conn, consumer jetstream.Consumer, batch int) (*Feed, error) {
	f := &Feed{messages: make(chan events.StoredMessage, batch), failed: make(chan error, 1), done: make(chan struct{})}
	f.Messages, f.Failed = f.messages, f.failed
	var err error
	f.pull, err = openPull(conn, consumer, batch, prefetchBytes, f.deliver, f.onError)
	return f, err
}

// deliver runs on the consumer's own goroutine.
func (f *Feed) deliver(m *nats.Msg) {
	stored, err := f.order.check(m)
	if err != nil {
		f.fail(err)
		return
	}
	select {
	case f.messages <- stored:
	case <-f.done:
	}
}

func (f *Feed) onError(err error) {
	if isFinal(err) {
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
func (f *Feed) Take(first events.StoredMessage, limit int) []events.StoredMessage {
	batch := append(make([]events.StoredMessage, 0, len(f.messages)+1), first)
	size := len(first.Data)
	for len(batch) < limit && size < batchBytes {
		select {
		case m := <-f.messages:
			batch = append(batch, m)
			size += len(m.Data)
		default:
			return batch
		}
	}
	return batch
}

// Close ends the feed and returns once its goroutines have ended.
func (f *Feed) Close() {
	close(f.done)
	f.pull.close()
}
