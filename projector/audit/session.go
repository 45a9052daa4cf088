package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/audit"
)

const (
	// fetchMessages is the largest number of messages per fetch.
	fetchMessages = 100
	// fetchWait is how long a fetch collects messages. Every pull ends by itself, so a delivery that stalls is requested again.
	fetchWait = 250 * time.Millisecond
	// batchTimeout bounds the work on fetched messages, also while the writer stops.
	batchTimeout = time.Minute
)

// session is the work of a writer between two errors.
type session struct {
	*Writer
	created  time.Time // of the stream
	consumer jetstream.Consumer
	opened   map[time.Time]bool // days that have a partition
}

// runSession writes entries until ctx ends or something fails. It returns nil if ctx ends.
func (w *Writer) runSession(ctx context.Context) error {
	s := &session{Writer: w, opened: make(map[time.Time]bool)}
	if err := s.open(ctx); err != nil {
		return unlessEnded(ctx, err)
	}
	for ctx.Err() == nil {
		messages, err := s.fetch()
		if err != nil {
			return err
		}
		if err := s.process(ctx, messages); err != nil {
			return err
		}
		if len(messages) > 0 { // without messages nothing has succeeded yet
			s.noteSuccess()
		}
	}
	return nil
}

// open looks up the stream and its consumer, and creates the consumer if it is missing.
func (s *session) open(ctx context.Context) error {
	stream, err := s.config.JetStream.Stream(ctx, audit.StreamName)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("stream %s does not exist: run 'callboard stream create'", audit.StreamName)
	case err != nil:
		return fmt.Errorf("stream %s: %w", audit.StreamName, err)
	}
	s.created = stream.CachedInfo().Created.Truncate(time.Microsecond)
	s.consumer, err = stream.Consumer(ctx, audit.Consumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		s.consumer, err = stream.CreateConsumer(ctx, audit.ConsumerConfig())
	}
	if err != nil {
		return fmt.Errorf("consumer %s: %w", audit.Consumer, err)
	}
	return nil
}

// fetch takes the messages that are there or arrive within fetchWait. The end of the writer's context does not interrupt it, because
// messages on their way to it would wait for their redelivery.
func (s *session) fetch() ([]jetstream.Msg, error) {
	batch, err := s.consumer.Fetch(fetchMessages, jetstream.FetchMaxWait(fetchWait))
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	var messages []jetstream.Msg
	for m := range batch.Messages() {
		messages = append(messages, m)
	}
	if err := batch.Error(); err != nil && len(messages) == 0 { // after messages, the next fetch returns the error
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return messages, nil
}

// process stores and settles messages in batches. If it fails, it returns all of them to the stream. The end of ctx does not
// interrupt it.
func (s *session) process(ctx context.Context, messages []jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTimeout)
	defer cancel()
	deliveries, err := decode(messages)
	for err == nil && len(deliveries) > 0 {
		batch := deliveries[:batchLength(deliveries)]
		err = s.processBatch(ctx, batch)
		deliveries = deliveries[len(batch):]
	}
	if err != nil {
		for _, m := range messages {
			_ = m.Nak() // if this fails, the message is settled already or is delivered again after its ack wait
		}
	}
	return err
}

func (s *session) processBatch(ctx context.Context, batch []delivery) error {
	stored, err := s.openDays(ctx, entriesOf(batch))
	if err != nil {
		return err
	}
	if err := s.insert(ctx, stored); err != nil {
		return err
	}
	return s.settle(ctx, batch)
}

// unlessEnded returns err, or nil if ctx has ended, because the end of ctx is no failure.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the error is that of the context
	}
	return err
}
