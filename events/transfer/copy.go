// Package transfer copies a stream of events to a new stream, which then takes its place at the publishers.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

// originHeader is the header of a copy: the message's sequence in the stream from which it was copied.
const originHeader = "Callboard-Copy-Of"

// Copy copies the messages of a stream to a new one, which can have another number of partitions, and then lets the new one take the events.
// Messages keep their order, their headers and their data, and get other sequences and times. Clock messages are not copied.
type Copy struct {
	JetStream  jetstream.JetStream
	From, To   string // names of streams
	Partitions int    // of the new stream
	Replicas   int
	Progress   func(done, total uint64) // sequences of the stream that is copied, which moves on meanwhile
}

const (
	// window is how many copies wait for their acknowledgement together.
	window = 500
	// tail is how many messages may be left when the stream is closed: publishers wait for so long.
	tail = 1000
	// maxFailures is how many attempts in a row may fail without progress.
	maxFailures = 10
	// timeout limits the wait for a message and for the acknowledgements of a window.
	timeout = 30 * time.Second
)

// Run copies all messages, and closes the stream shortly before its end. After an error the stream takes events again. The next run continues
// after the last message that was copied, and so it does after an interruption. It returns the number of messages of the new stream.
func (c Copy) Run(ctx context.Context) (messages uint64, err error) {
	from, err := c.JetStream.Stream(ctx, c.From)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", c.From, err)
	}
	to, complete, err := c.open(ctx)
	if err != nil {
		return 0, err
	}
	if complete {
		return to.CachedInfo().State.Msgs, nil
	}
	for read := uint64(0); ; {
		at, err := c.copied(ctx, to)
		if err != nil {
			return 0, err
		}
		at = max(at, read)
		info, err := from.Info(ctx)
		if err != nil {
			return 0, fmt.Errorf("stream %s: %w", c.From, err)
		}
		last := info.State.LastSeq
		if events.Closed(info.Config) || at+tail >= last {
			return c.finish(ctx, from, to, at)
		}
		if err := c.copyTo(ctx, from, to, at, last); err != nil {
			return 0, err
		}
		read = last // clock messages after the last copy are read, and not copied
	}
}

// open creates the new stream, or finds one that an earlier run created. complete tells whether it takes events already.
func (c Copy) open(ctx context.Context) (to jetstream.Stream, complete bool, err error) {
	if _, err := events.EnsureStream(ctx, c.JetStream, events.CopyConfig(c.To, c.Partitions, c.Replicas)); err != nil {
		return nil, false, err
	}
	if to, err = c.JetStream.Stream(ctx, c.To); err != nil {
		return nil, false, fmt.Errorf("stream %s: %w", c.To, err)
	}
	config := to.CachedInfo().Config
	partitions, ok := events.CopyPartitions(config)
	if !ok {
		partitions, err = events.Partitions(config)
		complete = true
	}
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("%w: choose another name for the copy", err)
	case partitions != c.Partitions:
		return nil, false, fmt.Errorf("stream %s exists with %d partitions, not %d", c.To, partitions, c.Partitions)
	}
	return to, complete, nil
}

// finish copies what is left above a sequence while the stream takes no events, and lets the new one take them.
func (c Copy) finish(ctx context.Context, from, to jetstream.Stream, at uint64) (messages uint64, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, events.ReopenStream(ctx, c.JetStream, c.From))
		}
	}()
	last := from.CachedInfo().State.LastSeq
	if !events.Closed(from.CachedInfo().Config) {
		if last, err = events.CloseStream(ctx, c.JetStream, c.From); err != nil {
			return 0, err
		}
	}
	if err := c.copyTo(ctx, from, to, at, last); err != nil {
		return 0, err
	}
	config := events.StreamConfig(c.To, c.Partitions, to.CachedInfo().Config.Replicas)
	if _, err := c.JetStream.UpdateStream(ctx, config); err != nil {
		return 0, fmt.Errorf("stream %s: %w", c.To, err)
	}
	info, err := to.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", c.To, err)
	}
	return info.State.Msgs, nil
}

// copied returns the sequence of the last message that was copied; 0: none was.
func (c Copy) copied(ctx context.Context, to jetstream.Stream) (uint64, error) {
	info, err := to.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", c.To, err)
	}
	last := info.State.LastSeq
	if last == 0 {
		return 0, nil
	}
	m, err := to.GetMsg(ctx, last)
	if err != nil {
		return 0, fmt.Errorf("stream %s: message %d: %w", c.To, last, err)
	}
	at, err := strconv.ParseUint(m.Header.Get(originHeader), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("stream %s: message %d is no copy", c.To, last)
	}
	return at, nil
}

// copyTo copies the messages above one sequence up to another.
func (c Copy) copyTo(ctx context.Context, from, to jetstream.Stream, at, last uint64) error {
	for failures := 0; at < last; {
		err := c.attempt(ctx, from, to, at, last)
		if err == nil {
			return nil
		}
		next, copiedErr := c.copied(ctx, to)
		if failures++; next > at {
			failures = 0
		}
		if failures > maxFailures || copiedErr != nil || ctx.Err() != nil {
			return errors.Join(err, copiedErr)
		}
		at = next
	}
	return nil
}

// attempt copies by one consumer.
func (c Copy) attempt(ctx context.Context, from, to jetstream.Stream, at, last uint64) error {
	consumer, err := from.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: at + 1,
	})
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	defer messages.Stop()
	w := writer{js: c.JetStream, stream: c.To, last: to.CachedInfo().State.LastSeq}
	defer w.settle()
	for at < last {
		m, err := messages.Next(jetstream.NextMaxWait(timeout))
		if err != nil {
			return fmt.Errorf("message after %d: %w", at, err)
		}
		if at, err = w.write(m); err != nil {
			return err
		}
		if len(w.waiting) >= window || at >= last {
			if err := w.wait(ctx); err != nil {
				return err
			}
			c.Progress(at, last)
		}
	}
	return nil
}

// writer publishes copies.
type writer struct {
	js      jetstream.JetStream
	stream  string
	last    uint64 // the sequence of the last copy
	waiting []jetstream.PubAckFuture
}

// write publishes the copy of a message, and returns the message's sequence. A copy names the sequence before it, so the stream refuses all
// after one that is lost.
func (w *writer) write(m jetstream.Msg) (sequence uint64, err error) {
	meta, err := m.Metadata()
	if err != nil {
		return 0, fmt.Errorf("delivery: %w", err)
	}
	sequence = meta.Sequence.Stream
	subject, ok := events.CopySubject(w.stream, m.Subject())
	if !ok {
		return sequence, nil
	}
	one := &nats.Msg{Subject: subject, Header: copiedHeader(m.Headers(), sequence), Data: m.Data()}
	future, err := w.js.PublishMsgAsync(one, jetstream.WithExpectLastSequence(w.last))
	if err != nil {
		return 0, fmt.Errorf("copy of message %d: %w", sequence, err)
	}
	w.last++
	w.waiting = append(w.waiting, future)
	return sequence, nil
}

// copiedHeader returns a message's header without what NATS or a projector acts on.
func copiedHeader(header nats.Header, sequence uint64) nats.Header {
	copied := nats.Header{originHeader: {strconv.FormatUint(sequence, 10)}}
	for name, values := range header {
		if !strings.HasPrefix(name, "Nats-") && name != events.RetryHeader && name != originHeader {
			copied[name] = values
		}
	}
	return copied
}

// wait waits for the acknowledgements.
func (w *writer) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, future := range w.waiting {
		select {
		case <-future.Ok():
		case err := <-future.Err():
			return fmt.Errorf("copy: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("copy: %w", ctx.Err())
		}
	}
	w.waiting = nil
	return nil
}

// settle waits until no copy is under way any more.
func (w *writer) settle() {
	if len(w.waiting) == 0 {
		return
	}
	select {
	case <-w.js.PublishAsyncComplete():
	case <-time.After(timeout):
	}
}
