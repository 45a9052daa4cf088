package rebuild

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/projector/feed"
	"callboard/projector/ingest"
	"callboard/projector/retry"
	"callboard/projector/store"
	"callboard/schema"
)

// source reads the stream from its beginning.
type source struct {
	ingest.Source
	js       jetstream.JetStream
	batch    int
	throttle func(context.Context) error // called before every portion; may wait
}

const (
	// deliveryTimeout is how long a consumer may deliver nothing while there are messages for it.
	deliveryTimeout = 30 * time.Second
	// consumerExpiry is how long the server keeps a consumer that nobody reads from.
	consumerExpiry = time.Minute
	// maxReadRetries is how often reading is retried without progress.
	maxReadRetries = 8
)

var errNotDelivering = errors.New("the consumer stopped delivering while there are messages for it")

// newSource checks that the stream can be read from its first event.
func newSource(ctx context.Context, c Config) (*source, *jetstream.StreamInfo, error) {
	if c.opened == nil {
		opened, err := ingest.OpenSource(ctx, c.JetStream, c.Database, c.Stream)
		if err != nil {
			return nil, nil, err
		}
		c.opened = &opened
	}
	opened := *c.opened
	info := opened.CachedInfo()
	if info.Config.AllowDirect {
		return nil, nil, fmt.Errorf("stream %s has allow_direct on, so a replica that lags could hide events: turn it off", opened.Name())
	}
	if err := schema.CheckMigrated(ctx, c.Database); err != nil {
		return nil, nil, err
	}
	registered, err := store.RegisteredPartitions(ctx, c.Database, opened.History)
	if err == nil {
		err = opened.CheckPartitions(registered)
	}
	if err != nil {
		return nil, nil, err
	}
	if info.State.FirstSeq > 1 {
		return nil, nil, fmt.Errorf("stream %s begins at sequence %d, so a projection built from it would lack the events before: restore the stream",
			opened.Name(), info.State.FirstSeq)
	}
	return &source{Source: opened, js: c.JetStream, batch: c.Batch, throttle: c.throttle.wait}, info, nil
}

// verifyPositions is an error if a position is not a valid one of the stream.
func (s *source) verifyPositions(ctx context.Context, positions map[int16]store.Position) error {
	valid, err := s.validPositions(ctx, positions)
	if err != nil {
		return err
	}
	for partition := range positions {
		if _, ok := valid[partition]; !ok {
			return fmt.Errorf("partition %d was built from another stream than %s, or from messages that the stream has lost: run 'callboard rebuild'",
				partition, s.Name())
		}
	}
	return nil
}

// validPositions returns the positions whose messages the stream holds. The others are of another stream, or of messages that it has lost.
func (s *source) validPositions(ctx context.Context, positions map[int16]store.Position) (map[int16]store.Position, error) {
	if err := s.awaitMirror(ctx, lastOf(positions)); err != nil {
		return nil, err
	}
	now, err := s.Reopen(ctx, s.js)
	if err == nil {
		err = ingest.CheckLeader(now.CachedInfo())
	}
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	valid := make(map[int16]store.Position, len(positions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(followers)
	for partition, p := range positions {
		if !p.Stream.Same(s.History) {
			continue
		}
		group.Go(func() error {
			intact, err := now.IntactUpTo(ctx, p)
			if intact {
				mu.Lock()
				defer mu.Unlock()
				valid[partition] = p
			}
			return err
		})
	}
	return valid, group.Wait()
}

// confirmedPositions returns the valid positions. Where the stream has replicas, the others are confirmed as what stops a partition is: the
// server that answers may not lead the stream any more, and lack its newest messages.
func (s *source) confirmedPositions(ctx context.Context, positions map[int16]store.Position) (valid map[int16]store.Position, err error) {
	ofStream := maps.Clone(positions)
	maps.DeleteFunc(ofStream, func(_ int16, p store.Position) bool { return !p.Stream.Same(s.History) })
	var lost retry.Confirmation
	for {
		valid, err = s.validPositions(ctx, ofStream)
		if err != nil || len(valid) == len(ofStream) || s.CachedInfo().Config.Replicas <= 1 || lost.Confirms(ingest.StreamRegressed, time.Now()) {
			return valid, err
		}
		retry.Pause(ctx, retry.ConfirmInterval)
	}
}

// read passes the messages of subjects above one sequence, up to another, to take, in portions; without subjects, all messages. After an
// error of the stream it continues after the last portion; an error of take ends it.
func (s *source) read(ctx context.Context, subjects string, above, upTo uint64, take func([]events.StoredMessage) error) error {
	retries := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), maxReadRetries)
	at := above
	if at >= upTo {
		return nil
	}
	return backoff.Retry(func() error {
		r := readAttempt{source: s, subjects: subjects, at: at, upTo: upTo, take: take}
		err := r.run(ctx)
		if r.at > at {
			at = r.at
			retries.Reset()
		}
		return err
	}, backoff.WithContext(retries, ctx))
}

// readAttempt is one attempt to read, with one consumer.
type readAttempt struct {
	*source
	subjects string
	at       uint64 // the last message that take has
	upTo     uint64
	end      uint64 // the last message of the subjects when the consumer was created
	take     func([]events.StoredMessage) error
}

func (r *readAttempt) run(ctx context.Context) error {
	if err := r.awaitMirror(ctx, r.upTo); err != nil {
		return err
	}
	stream, err := r.Reopen(ctx, r.js)
	if errors.Is(err, ingest.ErrReplaced) {
		return backoff.Permanent(err)
	}
	if err == nil {
		err = r.checkEnd(stream.CachedInfo())
	}
	if err != nil {
		return err
	}
	if r.end, err = r.last(ctx, stream); err != nil || r.at >= min(r.end, r.upTo) {
		return err
	}
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject:     r.subjects,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       r.at + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		InactiveThreshold: consumerExpiry,
	})
	if err != nil {
		return fmt.Errorf("create a consumer: %w", err)
	}
	f, err := feed.Open(r.js.Conn(), consumer, r.batch)
	if err != nil {
		return err
	}
	err = r.consume(ctx, f)
	f.Close()
	// If this fails, the server removes the consumer when it expires.
	_ = stream.DeleteConsumer(ctx, consumer.CachedInfo().Name)
	return err
}

// checkEnd is an error if a stream ends before the messages to be read. Where it has replicas, another server may have them: the one that
// answered may not lead the stream any more.
func (r *readAttempt) checkEnd(info *jetstream.StreamInfo) error {
	if err := ingest.CheckLeader(info); err != nil {
		return err
	}
	if info.State.LastSeq >= r.upTo {
		return nil
	}
	err := fmt.Errorf("stream %s ends at sequence %d, and its messages up to %d were applied before: run the command again",
		r.Name(), info.State.LastSeq, r.upTo)
	if info.Config.Replicas > 1 {
		return err
	}
	return backoff.Permanent(err)
}

// last returns the sequence of the last message of the subjects; 0: there is none.
func (r *readAttempt) last(ctx context.Context, stream jetstream.Stream) (uint64, error) {
	if r.subjects == "" {
		return stream.CachedInfo().State.LastSeq, nil
	}
	last, err := stream.GetLastMsgForSubject(ctx, r.subjects)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("%s: %w", r.subjects, err)
	}
	return last.Sequence, nil
}

func (r *readAttempt) consume(ctx context.Context, f *feed.Feed) error {
	silent := time.NewTimer(deliveryTimeout)
	defer silent.Stop()
	for {
		select {
		case <-ctx.Done():
			return backoff.Permanent(ctx.Err())
		case <-silent.C:
			return errNotDelivering
		case err := <-f.Failed:
			return err
		case first := <-f.Messages:
			silent.Reset(deliveryTimeout)
			done, err := r.portion(ctx, f.Take(first, r.batch))
			if done || err != nil {
				return err
			}
		}
	}
}

// portion passes messages to take, and reports whether they were the last.
func (r *readAttempt) portion(ctx context.Context, messages []events.StoredMessage) (done bool, err error) {
	if err := r.throttle(ctx); err != nil {
		return false, backoff.Permanent(err)
	}
	n := 0
	last := r.at
	for _, m := range messages {
		if m.Sequence > r.upTo {
			done = true
			break
		}
		last = m.Sequence
		n++
	}
	if n > 0 {
		if err := r.take(messages[:n]); err != nil {
			return false, backoff.Permanent(err)
		}
	}
	r.at = last
	return done || r.at >= min(r.end, r.upTo), nil
}
