package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrMissing is a JetStream without the journal's stream.
var ErrMissing = errors.New("stream " + StreamName + " does not exist: run 'callboard stream create'")

// attempts and attemptTimeout limit a publication: a leader that was just elected may not answer yet.
const (
	attempts       = 3
	attemptTimeout = 5 * time.Second
)

// Publish returns once the stream has stored an entry. The error is [ErrMissing] if there is no stream.
func Publish(ctx context.Context, js jetstream.JetStream, e Entry) error {
	message, err := e.encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, attempts*attemptTimeout)
	defer cancel()
	for range attempts {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		_, err = js.Publish(attempt, e.subject(), message, jetstream.WithExpectStream(StreamName))
		cancel()
		if err == nil || !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return ErrMissing
	case err != nil:
		return fmt.Errorf("publish to stream %s: %w", StreamName, err)
	}
	return nil
}

const (
	// fetchMessages is how many messages a request asks for, and fetchWait how long it waits for the first of them.
	fetchMessages = 1000
	fetchWait     = 5 * time.Second
)

// Reader reads the journal, from where its last read ended. The zero value reads from the beginning.
type Reader struct {
	Last uint64 // the sequence of the last message that was read

	created time.Time // of the stream; another one has other sequences
}

// Read passes the entries that are new to work, in slices of a limited length. unreadable are messages that hold no entry. The error is
// [ErrMissing] if there is no stream. After an error the next read begins where this one began.
func (r *Reader) Read(ctx context.Context, js jetstream.JetStream, work func([]Entry) error) (unreadable int, err error) {
	stream, err := js.Stream(ctx, StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, ErrMissing
	}
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", StreamName, err)
	}
	info := stream.CachedInfo()
	after := r.Last
	if !info.Created.Equal(r.created) {
		after = 0
	}
	if info.State.LastSeq > after {
		if after, unreadable, err = readAfter(ctx, stream, after, work); err != nil {
			return 0, fmt.Errorf("stream %s: %w", StreamName, err)
		}
	}
	r.Last, r.created = after, info.Created
	return unreadable, nil
}

// readAfter reads the messages after a sequence, and returns the sequence of the last one.
func readAfter(ctx context.Context, stream jetstream.Stream, after uint64, work func([]Entry) error) (last uint64, unreadable int, err error) {
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
		f, err := fetch(consumer, pending, delivered)
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

// fetched is the result of one request for messages.
type fetched struct {
	entries    []Entry
	unreadable int
	last       uint64 // the sequence of the last message
	pending    uint64 // how many messages follow
	delivered  uint64 // how many messages the consumer has delivered
}

// fetch returns the next messages, at least one, of a consumer that has delivered some. The server delivers none again, so one that is lost on
// the way is an error.
func fetch(consumer jetstream.Consumer, pending, delivered uint64) (f fetched, err error) {
	batch, err := consumer.Fetch(int(min(fetchMessages, pending)), jetstream.FetchMaxWait(fetchWait))
	if err != nil {
		return f, err
	}
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return f, err
		}
		f.last, f.pending, f.delivered = meta.Sequence.Stream, meta.NumPending, meta.Sequence.Consumer
		if e, err := decode(m); err != nil {
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
	if lost := f.delivered - delivered - uint64(len(f.entries)+f.unreadable); lost > 0 {
		return f, fmt.Errorf("%d messages were lost on the way", lost)
	}
	return f, nil
}
