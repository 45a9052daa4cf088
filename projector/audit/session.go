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
	// fetchMessages is how many messages are in hand at most.
	fetchMessages = 100
	// fetchWait is how long they are gathered. Each pull ends by itself, so a delivery that stalled is asked for anew.
	fetchWait = 250 * time.Millisecond
	// workTimeout bounds the work on what was fetched, a stop of the filer included.
	workTimeout = time.Minute
)

// session is a filer at work, until something fails.
type session struct {
	*Writer
	created  time.Time // of the stream
	consumer jetstream.Consumer
	opened   map[time.Time]bool // days that have a place in the tables
}

// session files entries until ctx ends (nil) or something fails.
func (f *Writer) session(ctx context.Context) error {
	s := &session{Writer: f, opened: make(map[time.Time]bool)}
	if err := s.open(ctx); err != nil {
		return unlessDone(ctx, err)
	}
	for ctx.Err() == nil {
		messages, err := s.fetch()
		if err != nil {
			return err
		}
		if err := s.work(ctx, messages); err != nil {
			return err
		}
		if len(messages) > 0 { // what failed may be on its way back
			s.worked()
		}
	}
	return nil
}

// open finds the stream, and the consumer or makes it.
func (s *session) open(ctx context.Context) error {
	stream, err := s.config.JetStream.Stream(ctx, audit.StreamName)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("there is no stream %s: 'callboard stream create' makes it", audit.StreamName)
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

// fetch takes what is there and what comes in a moment. It isn't cut short where the filer ends, since messages under way to it
// would be lost until they are delivered again.
func (s *session) fetch() ([]jetstream.Msg, error) {
	batch, err := s.consumer.Fetch(fetchMessages, jetstream.FetchMaxWait(fetchWait))
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	var messages []jetstream.Msg
	for m := range batch.Messages() {
		messages = append(messages, m)
	}
	if err := batch.Error(); err != nil && len(messages) == 0 { // behind messages, the next pull meets it again
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return messages, nil
}

// work files messages and settles them, a portion at a time, and gives back what it fails at. Work that was begun is finished
// although ctx ends.
func (s *session) work(ctx context.Context, messages []jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTimeout)
	defer cancel()
	deliveries, err := read(messages)
	for err == nil && len(deliveries) > 0 {
		portion := deliveries[:fitting(deliveries)]
		err = s.finish(ctx, portion)
		deliveries = deliveries[len(portion):]
	}
	if err != nil {
		for _, m := range messages {
			_ = m.Nak() // settled before, or delivered again later
		}
	}
	return err
}

// finish files a portion and settles it.
func (s *session) finish(ctx context.Context, portion []delivery) error {
	placed, err := s.placed(ctx, entries(portion))
	if err != nil {
		return err
	}
	if err := s.file(ctx, placed); err != nil {
		return err
	}
	return s.settle(ctx, portion)
}

// unlessDone is err, or nil where it only says that ctx ended.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end was asked for
	}
	return err
}
