package rebuild

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/projector/feed"
	"callboard/projector/ingest"
	"callboard/projector/store"
	"callboard/schema"
)

// source reads the stream again.
type source struct {
	js       jetstream.JetStream
	identity store.Stream
	batch    int
	pause    func(context.Context) error // asked before every portion; it waits while others need the machine
}

const (
	// silence is how long a consumer may say nothing although there are messages.
	silence = 30 * time.Second
	// idle is how long the server keeps a consumer that nobody reads from.
	idle = time.Minute
	// maxTries is how often reading begins anew without having come further.
	maxTries = 8
)

var errSilent = errors.New("the consumer stopped delivering while its partition has messages")

// newSource is the stream as it is now. One whose beginning is gone can't give a projection again.
func newSource(ctx context.Context, c Config) (*source, *jetstream.StreamInfo, error) {
	stream, err := c.JetStream.Stream(ctx, c.Stream)
	if err != nil {
		return nil, nil, fmt.Errorf("stream %s: %w", c.Stream, err)
	}
	info := stream.CachedInfo()
	if info.Config.AllowDirect {
		return nil, nil, fmt.Errorf("stream %s has allow_direct on: a replica that lags could hide events that it holds; turn it off", c.Stream)
	}
	if err := schema.CheckMigrated(ctx, c.Database); err != nil {
		return nil, nil, err
	}
	registered, err := store.RegisteredPartitions(ctx, c.Database, ingest.StreamOf(info))
	if err == nil {
		err = ingest.CheckPartitions(info, registered)
	}
	if err != nil {
		return nil, nil, err
	}
	if info.State.FirstSeq > 1 {
		return nil, nil, fmt.Errorf("stream %s begins at sequence %d: what came before is gone, and a projection built from the rest would lack it",
			c.Stream, info.State.FirstSeq)
	}
	return &source{js: c.JetStream, identity: ingest.StreamOf(info), batch: c.Batch, pause: c.throttle.wait}, info, nil
}

// mustHold is an error where some positions don't stand for what the stream has.
func (s *source) mustHold(ctx context.Context, positions map[int16]store.Position) error {
	sound, err := s.sound(ctx, positions)
	if err != nil {
		return err
	}
	for partition := range positions {
		if _, ok := sound[partition]; !ok {
			return fmt.Errorf("partition %d was built from another stream than %s is now, or that has lost its end: run 'callboard rebuild'",
				partition, s.identity.Name)
		}
	}
	return nil
}

// sound are the positions that stand for what the stream has. The others are of another stream, or of one that has lost its end.
func (s *source) sound(ctx context.Context, positions map[int16]store.Position) (map[int16]store.Position, error) {
	stream, err := s.js.Stream(ctx, s.identity.Name)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", s.identity.Name, err)
	}
	var mu sync.Mutex
	sound := make(map[int16]store.Position, len(positions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(followers)
	for partition, p := range positions {
		if !p.Stream.Same(s.identity) {
			continue
		}
		group.Go(func() error {
			holds, err := ingest.IntactUpTo(ctx, stream, p)
			if holds {
				mu.Lock()
				defer mu.Unlock()
				sound[partition] = p
			}
			return err
		})
	}
	return sound, group.Wait()
}

// read hands on the partition's messages above one sequence up to another, in portions. It begins again behind the last portion
// where reading fails; what take returns ends it.
func (s *source) read(ctx context.Context, partition int16, above, upTo uint64, take func([]jetstream.Msg) error) error {
	retry := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), maxTries)
	at := above
	return backoff.Retry(func() error {
		r := reading{source: s, partition: partition, at: at, upTo: upTo, take: take}
		err := r.run(ctx)
		if r.at > at {
			at = r.at
			retry.Reset()
		}
		return err
	}, backoff.WithContext(retry, ctx))
}

// reading is one consumer's worth of messages.
type reading struct {
	*source
	partition int16
	at        uint64 // the last message that was taken
	upTo      uint64
	end       uint64 // where the partition ends, at least
	take      func([]jetstream.Msg) error
}

func (r *reading) run(ctx context.Context) error {
	stream, err := r.js.Stream(ctx, r.identity.Name)
	if err != nil {
		return fmt.Errorf("stream %s: %w", r.identity.Name, err)
	}
	if now := ingest.StreamOf(stream.CachedInfo()); !now.Same(r.identity) {
		return backoff.Permanent(fmt.Errorf("stream %s was created anew meanwhile", r.identity.Name))
	}
	filter := events.PartitionFilter(int(r.partition))
	last, err := stream.GetLastMsgForSubject(ctx, filter)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("partition %d: %w", r.partition, err)
	case r.at >= min(last.Sequence, r.upTo):
		return nil
	}
	r.end = last.Sequence
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject:     filter,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       r.at + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		InactiveThreshold: idle,
	})
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	f, err := feed.Open(consumer, r.batch)
	if err != nil {
		return err
	}
	err = r.consume(ctx, f)
	f.Close()
	// The server removes it in a while by itself.
	_ = stream.DeleteConsumer(ctx, consumer.CachedInfo().Name)
	return err
}

func (r *reading) consume(ctx context.Context, f *feed.Feed) error {
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return backoff.Permanent(ctx.Err())
		case <-quiet.C:
			return errSilent
		case err := <-f.Failed:
			return err
		case first := <-f.Messages:
			quiet.Reset(silence)
			done, err := r.portion(ctx, f.Take(first, r.batch))
			if done || err != nil {
				return err
			}
		}
	}
}

// portion takes messages, and tells whether they were the last.
func (r *reading) portion(ctx context.Context, messages []jetstream.Msg) (done bool, err error) {
	if err := r.pause(ctx); err != nil {
		return false, backoff.Permanent(err)
	}
	n := 0
	last := r.at
	for _, m := range messages {
		meta, err := m.Metadata()
		if err != nil {
			return false, fmt.Errorf("delivery: %w", err)
		}
		if meta.Sequence.Stream > r.upTo {
			done = true
			break
		}
		last = meta.Sequence.Stream
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
