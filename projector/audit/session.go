package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

const (
	// fetchMessages is the largest number of messages per fetch.
	fetchMessages = 100
	// fetchWait is how long a fetch collects messages. Every pull ends by itself, so a delivery that stalls is
	// requested again.
	fetchWait = 250 * time.Millisecond
	// batchTimeout bounds the work on a batch, and each statement beside it.
	batchTimeout = time.Minute
	// maxIdle is how long a session goes on without messages. The next one looks again where the stream ends and how
	// far it is stored: a failover of the database can have set the position back, and a stream that was set back
	// delivers nothing.
	maxIdle = 10 * time.Second
	// consumerLife is how long the server keeps the consumer of a writer that has ended without deleting it.
	consumerLife = time.Minute
)

// session is the work of a writer on the stream between two errors.
type session struct {
	*Writer
	consumer  jetstream.Consumer
	delivered uint64 // messages of the consumer
	position  position
	opened    map[time.Time]bool // days that have a partition
}

// runSession stores entries until ctx ends, nothing arrives for a while, or something fails. The error is errMoved if
// another writer stores entries.
func (w *Writer) runSession(ctx context.Context) error {
	stream, position, err := w.findPosition(ctx)
	if err != nil {
		return err
	}
	s := &session{Writer: w, position: position, opened: make(map[time.Time]bool)}
	if s.consumer, err = stream.CreateConsumer(ctx, consumerFrom(position)); err != nil {
		return fmt.Errorf("consumer of stream %s: %w", events.AuditStream, err)
	}
	defer s.deleteConsumer(ctx, stream)
	return s.run(ctx)
}

func (w *Writer) findStream(ctx context.Context) (jetstream.Stream, error) {
	stream, err := w.config.JetStream.Stream(ctx, events.AuditStream)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, fmt.Errorf("stream %s does not exist: run 'callboard stream create'", events.AuditStream)
	case err != nil:
		return nil, fmt.Errorf("stream %s: %w", events.AuditStream, err)
	}
	return stream, nil
}

// consumerFrom returns the configuration of a consumer of the messages after a position. Nothing is acknowledged: the
// position decides.
func consumerFrom(p position) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       p.sequence + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		InactiveThreshold: consumerLife,
	}
}

// deleteConsumer leaves it to the server if NATS does not answer.
func (s *session) deleteConsumer(ctx context.Context, stream jetstream.Stream) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchWait)
	defer cancel()
	_ = stream.DeleteConsumer(ctx, s.consumer.CachedInfo().Name)
}

func (s *session) run(ctx context.Context) error {
	// Without messages a session ends, so that the next one looks at the stream and the position again.
	for last := time.Now(); ctx.Err() == nil && time.Since(last) < s.maxIdle; {
		messages, err := fetch(s.consumer)
		if err != nil {
			return err
		}
		if len(messages) == 0 {
			continue
		}

		if err := s.storeInBatches(ctx, messages); err != nil {
			return err
		}

		last = time.Now()
	}
	return nil
}

// fetch takes the messages that are there or arrive within fetchWait.
func fetch(consumer jetstream.Consumer) ([]jetstream.Msg, error) {
	batch, err := consumer.Fetch(fetchMessages, jetstream.FetchMaxWait(fetchWait))
	if err != nil {
		return nil, fmt.Errorf("fetch audit messages: %w", err)
	}

	var messages []jetstream.Msg
	for m := range batch.Messages() {
		messages = append(messages, m)
	}

	if err := batch.Error(); err != nil && len(messages) == 0 { // after messages, the next fetch returns the error
		return nil, fmt.Errorf("fetch audit messages: %w", err)
	}
	return messages, nil
}

// storeInBatches decodes messages and stores them in batches.
func (s *session) storeInBatches(ctx context.Context, messages []jetstream.Msg) error {
	deliveries, err := decode(messages)
	if err != nil {
		return err
	}

	for len(deliveries) > 0 {
		batch := deliveries[:batchLength(deliveries)]
		if err := s.storeBatch(ctx, batch); err != nil {
			return err
		}
		deliveries = deliveries[len(batch):]
	}
	return nil
}

// storeBatch stores a batch in one transaction: the new position, the entries, and dead letters of what can't be
// stored. The position moves first, so that a second writer does nothing.
func (s *session) storeBatch(ctx context.Context, batch []delivery) error {
	// A gap in the consumer's numbers means that messages were lost on the way: another session reads them again.
	for _, d := range batch {
		if s.delivered++; d.meta.Sequence.Consumer != s.delivered {
			return fmt.Errorf("the delivery of message %d was interrupted", s.position.sequence+1)
		}
	}

	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()

	entries, err := s.openDays(ctx, entriesOf(batch))
	if err != nil {
		return err
	}

	// PostgreSQL stores microseconds, and a position that is read back must equal the position in memory.
	last := batch[len(batch)-1].meta
	next := position{last.Sequence.Stream, last.Timestamp.Truncate(time.Microsecond)}

	var stored int64
	err = pgx.BeginFunc(ctx, s.config.Database, func(tx pgx.Tx) error {
		if err := movePosition(ctx, tx, s.position, next); err != nil {
			return err
		}

		if stored, err = insert(ctx, tx, entries); err != nil {
			return err
		}
		return insertDeadLetters(ctx, tx, batch)
	})
	if err != nil {
		return err
	}

	// Only a commit counts, so that a repetition counts nothing twice.

	s.metrics.stored.Add(float64(stored))
	s.noteSuccess()
	s.noteLost(batch)

	for _, d := range batch {
		if d.reason != "" {
			s.config.Log.Error().Uint64("sequence", d.meta.Sequence.Stream).Str("reason", d.reason).
				Msg("audit message became a dead letter")
		}
	}

	s.position = next
	return nil
}

// noteLost looks for messages that the stream has dropped before they were stored.
func (s *session) noteLost(batch []delivery) {
	previous := s.position
	for _, d := range batch {
		if first, next := previous.sequence+1, d.meta.Sequence.Stream; first < next {
			s.metrics.lost.Add(float64(next - first))
			s.config.Log.Error().Uint64("first_sequence", first).Uint64("last_sequence", next-1).
				Time("from", previous.storedAt).Time("to", d.meta.Timestamp).
				Msg("audit entries are lost: the stream dropped them before they were stored")
		}
		previous = position{d.meta.Sequence.Stream, d.meta.Timestamp}
	}
}

// unlessEnded returns err, or nil if ctx has ended, because the end of ctx is no failure.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the error is that of the context
	}
	return err
}
