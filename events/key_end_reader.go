package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrNoKeyStream is a JetStream without the journal's stream.
var ErrNoKeyStream = errors.New("stream " + KeyStream + " does not exist: run 'callboard stream create'")

// keyEndAttempts and keyEndTimeout limit a publication: a leader that was just elected may not answer yet.
const (
	keyEndAttempts = 3
	keyEndTimeout  = 5 * time.Second
)

// PublishKeyEnd returns once the stream has stored an entry. The error is [ErrNoKeyStream] if there is no stream.
func PublishKeyEnd(ctx context.Context, js jetstream.JetStream, e KeyEnd) error {
	message, err := e.encode()
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, keyEndAttempts*keyEndTimeout)
	defer cancel()

	// A leader that was just elected may not answer yet, so a request without an answer is repeated.
	for range keyEndAttempts {
		attempt, cancel := context.WithTimeout(ctx, keyEndTimeout)
		_, err = js.Publish(attempt, e.subject(), message, jetstream.WithExpectStream(KeyStream))
		cancel()
		if err == nil || !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}

	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return ErrNoKeyStream
	case err != nil:
		return fmt.Errorf("publish to stream %s: %w", KeyStream, err)
	}
	return nil
}

const (
	// keyEndFetch is how many messages a request asks for, and keyEndFetchWait how long it waits for the first of them.
	keyEndFetch     = 1000
	keyEndFetchWait = 5 * time.Second
)

// KeyEndReader reads the journal, from where its last read ended. The zero value reads from the beginning.
type KeyEndReader struct {
	Last uint64 // the sequence of the last message that was read

	created time.Time // of the stream; another one has other sequences
}

// Read passes the entries that are new to work, in slices of a limited length. unreadable are messages that hold no
// entry. The error is [ErrNoKeyStream] if there is no stream. After an error the next read begins where this one
// began.
func (r *KeyEndReader) Read(
	ctx context.Context, js jetstream.JetStream, work func([]KeyEnd) error,
) (unreadable int, err error) {
	stream, err := js.Stream(ctx, KeyStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, ErrNoKeyStream
	}
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", KeyStream, err)
	}

	// A stream that was created again has other sequences.
	info := stream.CachedInfo()
	after := r.Last
	if !info.Created.Equal(r.created) {
		after = 0
	}

	if info.State.LastSeq > after {
		if after, unreadable, err = readKeyEnds(ctx, stream, after, work); err != nil {
			return 0, fmt.Errorf("stream %s: %w", KeyStream, err)
		}
	}

	// The position moves after all entries, so a read that failed is repeated from its beginning.
	r.Last, r.created = after, info.Created
	return unreadable, nil
}

// readKeyEnds reads the messages after a sequence, and returns the sequence of the last one.
func readKeyEnds(
	ctx context.Context, stream jetstream.Stream, after uint64, work func([]KeyEnd) error,
) (last uint64, unreadable int, err error) {
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       after + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		InactiveThreshold: time.Minute, // the server deletes it if this process can't
	})
	if err != nil {
		return after, 0, err
	}

	last = after
	var delivered uint64
	for pending := consumer.CachedInfo().NumPending; pending > 0; {
		f, err := fetchKeyEnds(consumer, pending, delivered)
		// The fetch does not take ctx.
		if err == nil {
			err = ctx.Err()
		}

		if err == nil {
			err = work(f.entries)
		}
		if err != nil {
			return after, 0, err
		}

		last, pending, delivered, unreadable = f.last, f.pending, f.delivered, unreadable+f.unreadable
	}

	return last, unreadable, stream.DeleteConsumer(ctx, consumer.CachedInfo().Name)
}

// fetchedKeyEnds is the result of one request for messages.
type fetchedKeyEnds struct {
	entries    []KeyEnd
	unreadable int
	last       uint64 // the sequence of the last message
	pending    uint64 // how many messages follow
	delivered  uint64 // how many messages the consumer has delivered
}

// fetchKeyEnds returns the next messages, at least one, of a consumer that has delivered some. The server delivers
// none again, so one that is lost on the way is an error.
func fetchKeyEnds(consumer jetstream.Consumer, pending, delivered uint64) (f fetchedKeyEnds, err error) {
	batch, err := consumer.Fetch(int(min(keyEndFetch, pending)), jetstream.FetchMaxWait(keyEndFetchWait))
	if err != nil {
		return f, err
	}

	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return f, err
		}
		f.last, f.pending, f.delivered = meta.Sequence.Stream, meta.NumPending, meta.Sequence.Consumer

		if e, err := decodeKeyEnd(m); err != nil {
			f.unreadable++
		} else {
			f.entries = append(f.entries, e)
		}
	}

	if err := batch.Error(); err != nil {
		return f, err
	}
	if f.last == 0 {
		return f, errors.New("the server delivers no messages")
	}

	// The consumer counts its deliveries, so a message that did not arrive leaves a gap.
	if lost := f.delivered - delivered - uint64(len(f.entries)+f.unreadable); lost > 0 {
		return f, fmt.Errorf("%d messages were lost on the way", lost)
	}
	return f, nil
}
