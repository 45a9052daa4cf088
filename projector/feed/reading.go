package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

const (
	// ConsumerPrefix begins the names of a projector's consumers.
	ConsumerPrefix = "projector-"
	// expiry is how long the server keeps a consumer that nobody reads from. A callback that waits for room waits less: for a batch, which has
	// its own limit.
	expiry = 5 * time.Minute
	// pullBytes limits the messages that the server sends ahead, beside those that are counted.
	pullBytes = 16 << 20
	// pullMessages is more than the bytes allow.
	pullMessages = 1_000_000
	// pullOverhead is how much a message has beside what the server's max_payload limits: its subjects.
	pullOverhead = 64 << 10
	// requestTimeout limits a request to JetStream.
	requestTimeout = 10 * time.Second
	// deleteTimeout limits the deletion of a consumer that nobody needs. If it fails, the consumer expires.
	deleteTimeout = 2 * time.Second
)

// reading reads the stream by a consumer that exists for it.
type reading struct {
	// receive gets the messages in order, on the consumer's goroutine. It returns false after the last one that it wants.
	receive func(events.StoredMessage) bool
	ended   chan error // nil: receive wants no more

	consumer jetstream.Consumer
	pull     *pull
	order    order // of the consumer's goroutine
	over     bool  // as order

	stopped    bool // guarded by [SharedFeed.mu], as what follows: nothing may be delivered any more
	opened     bool
	waits      bool   // for room
	deliveries uint64 // that were handled
}

func newReading(receive func(events.StoredMessage) bool) *reading {
	return &reading{receive: receive, ended: make(chan error, 1)}
}

// open creates the consumer and begins to read at a sequence. No filters: all messages of the stream.
func (r *reading) open(ctx context.Context, config Config, from uint64, filters []string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var err error
	r.consumer, err = config.Stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Name:              ConsumerPrefix + uuid.NewString(),
		FilterSubjects:    filters,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       from,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		InactiveThreshold: expiry,
	})
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	// A message that is larger than a pull would never be delivered.
	limit := max(pullBytes, int(config.Conn.MaxPayload())+pullOverhead)
	r.pull, err = openPull(config.Conn, r.consumer, pullMessages, limit, r.deliver, r.onError)
	return err
}

func (r *reading) deliver(m *nats.Msg) {
	if r.over {
		return
	}
	stored, err := r.order.check(m)
	if err == nil && r.receive(stored) {
		return
	}
	r.over = true
	r.end(err)
}

// onError also ends the reading where nobody answers for its consumer: a server that restarts loses it.
func (r *reading) onError(err error) {
	if isFinal(err) || errors.Is(err, nats.ErrNoResponders) {
		r.end(fmt.Errorf("consumer: %w", err))
	}
}

func (r *reading) end(err error) {
	select {
	case r.ended <- err:
	default: // it has ended already
	}
}

// close returns once nothing is received any more. The reading must be stopped, so that its goroutine waits for nothing.
func (r *reading) close(config Config) {
	if r.pull != nil {
		r.pull.close()
	}
	if r.consumer == nil || !config.Conn.IsConnected() {
		return
	}
	// The context of those who read may have ended.
	ctx, cancel := context.WithTimeout(context.Background(), deleteTimeout)
	defer cancel()
	_ = config.Stream.DeleteConsumer(ctx, r.consumer.CachedInfo().Name)
}
