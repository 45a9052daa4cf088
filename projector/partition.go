package projector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/projector/feed"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

// partition is one owned partition, from its claim to its end.
type partition struct {
	*Projector
	number  int
	log     zerolog.Logger
	stream  jetstream.Stream
	first   int    // how many partitions the stream had when it was read first
	linked  uint64 // how often the connection had come back when the stream was looked at
	applier ingest.Applier
	feed    *feed.Feed
	stalled int // ticks on which messages waited and none came
}

// stallTicks is how many ticks in a row a consumer may leave messages undelivered. Pull consumers can stall without an error
// after reconnects.
const stallTicks = 10

// runPartition applies a partition's messages until ctx ends (nil) or something fails.
func runPartition(ctx context.Context, p *Projector, number int) error {
	run := &partition{Projector: p, number: number, log: p.config.Log.With().Int("partition", number).Logger()}
	run.applier = ingest.Applier{JetStream: p.config.JetStream, Store: p.store, OnCommit: run.committed}
	if err := run.open(ctx); err != nil {
		return err
	}
	defer run.feed.Close()
	position := run.applier.Position
	run.log.Info().Uint64("position", position.Sequence).Int64("epoch", position.Epoch).Msg("partition owned")
	return run.loop(ctx)
}

// open claims the position and starts the consumer behind it.
func (p *partition) open(ctx context.Context) (err error) {
	p.linked = p.config.JetStream.Conn().Stats().Reconnects
	if p.stream, err = p.config.JetStream.Stream(ctx, p.config.Stream); err != nil {
		return fmt.Errorf("stream %s: %w", p.config.Stream, err)
	}
	info := p.stream.CachedInfo()
	if err := p.introduce(ctx, info); err != nil {
		return err
	}
	p.applier.Position, err = p.store.Claim(ctx, ingest.StreamOf(info), int16(p.number))
	switch {
	case errors.Is(err, store.ErrStreamReplaced):
		return identityChanged(info.Config.Name)
	case errors.Is(err, store.ErrDefinitionMismatch):
		return errForeign
	case err != nil:
		return err
	}
	// An owner whose locks were lost has gone on until the claim.
	if info, err = p.stream.Info(ctx); err != nil {
		return fmt.Errorf("stream %s: %w", p.config.Stream, err)
	}
	if err := p.check(ctx, info); err != nil {
		return err
	}
	if p.applier.Reader.Decisions, err = p.store.Decisions(ctx, p.applier.Position); err != nil {
		return err
	}
	consumer, err := p.consumer(ctx)
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	p.feed, err = feed.Open(consumer, p.config.BatchSize)
	return err
}

// introduce finds how many partitions the stream had when it was read first.
func (p *partition) introduce(ctx context.Context, info *jetstream.StreamInfo) error {
	now, err := events.Partitions(info.Config)
	if err != nil {
		return err
	}
	p.first, err = p.store.RegisterStream(ctx, ingest.StreamOf(info), now)
	switch {
	case errors.Is(err, store.ErrNotMigrated):
		return errNotMigrated
	case err == nil && now != p.first:
		return repartitioned(info.Config.Name, p.first, now)
	}
	return err
}

const ackWait = 10 * time.Minute

// consumer is the partition's durable one, made anew behind the position. Whatever an earlier owner still asks of the old one, which
// may be frozen and not gone, or somebody has done to it, ends with it.
func (p *partition) consumer(ctx context.Context) (jetstream.Consumer, error) {
	name := fmt.Sprintf("projector-%d", p.number)
	if err := p.stream.DeleteConsumer(ctx, name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, err
	}
	return p.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:       name,
		FilterSubject: events.PartitionFilter(p.number),
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   p.applier.Position.Sequence + 1,
		AckPolicy:     jetstream.AckAllPolicy,
		AckWait:       ackWait,
		MaxAckPending: -1,
	})
}

// check holds the stream as it is now against the position.
func (p *partition) check(ctx context.Context, info *jetstream.StreamInfo) error {
	name, state := info.Config.Name, info.State
	now, err := events.Partitions(info.Config)
	switch {
	case err != nil:
		return err
	case !ingest.StreamOf(info).Created.Equal(p.applier.Position.Stream.Created):
		return identityChanged(name)
	case info.Config.AllowDirect:
		return direct(name)
	case now != p.first:
		return repartitioned(name, p.first, now)
	case state.LastSeq < p.applier.Position.Sequence:
		return regressed(name, state.LastSeq, p.applier.Position.Sequence)
	case state.FirstSeq > p.applier.Position.Sequence+1:
		return truncated(name, state.FirstSeq, p.applier.Position.Sequence)
	}
	holds, err := ingest.IntactUpTo(ctx, p.stream, p.applier.Position)
	if err == nil && !holds {
		err = regrown(name, p.applier.Position.LastMessage)
	}
	return err
}

func (p *partition) loop(ctx context.Context) error {
	tick := time.NewTicker(p.config.Tick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-p.feed.Failed:
			return err
		case first := <-p.feed.Messages:
			p.stalled = 0
			if p.config.JetStream.Conn().Stats().Reconnects != p.linked {
				return errReconnected
			}
			if err := p.apply(ctx, p.feed.Take(first, p.config.BatchSize)); err != nil {
				return err
			}
		case <-tick.C:
			if err := p.rest(ctx); err != nil {
				return unlessDone(ctx, err)
			}
		}
	}
}

// rest moves the watermark of a partition that has nothing to do.
//
// The stream's own time is taken first; if after that the stream holds no message of the partition above the position, every
// message stored before that time is in the tables. The order matters: the server reads its clock after the stream's state,
// so one answer's time may lie behind a message that the same answer's state doesn't count.
func (p *partition) rest(ctx context.Context) error {
	// A replay comes to the recorded retries first: their turns are in order.
	if len(p.applier.Reader.Decisions.Retries) == 0 {
		if err := p.retry(ctx); err != nil {
			return err
		}
	}
	info, err := p.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("stream %s: %w", p.config.Stream, err)
	}
	if err := p.check(ctx, info); err != nil {
		return err
	}
	if waits, err := p.waits(ctx); waits || err != nil {
		return err
	}
	if err := p.applier.Apply(ctx, p.applier.Reader.TakeRetries(info.State.LastSeq)); err != nil {
		return err
	}
	next := p.applier.Position
	next.Sequence = info.State.LastSeq
	if last := info.State; last.LastSeq > 0 {
		next.LastMessage, next.LastMessageAt = last.LastSeq, events.TimeOf(last.LastTime)
	}
	next.Clock.RaiseWatermark(min(events.TimeOf(info.TimeStamp), events.TimeOf(time.Now().Add(maxAhead))))
	if err := p.applier.Advance(ctx, next); err != nil {
		return err
	}
	p.moved()
	return nil
}

// maxAhead is how far an idle partition's watermark may be ahead of this host's clock. The stream's can leap, and a watermark is never
// taken back: all later events would be lifted over it. One that is too low is still true.
const maxAhead = time.Minute

// retry tries dead letters again, once begun to the end.
func (p *partition) retry(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
	defer cancel()
	return p.applier.RetryDeadLetters(ctx)
}

// waits tells whether the stream holds a message of the partition above the position. One that waits for long, while the
// partition asks for more, means that the consumer has stalled.
func (p *partition) waits(ctx context.Context) (bool, error) {
	_, err := p.stream.GetMsg(ctx, p.applier.Position.Sequence+1, jetstream.WithGetMsgSubject(events.PartitionFilter(p.number)))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		p.stalled = 0
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("next message: %w", err)
	}
	if p.stalled++; p.stalled > stallTicks {
		return true, errStalled
	}
	return true, nil
}

// moved notes where the partition stands now.
func (p *partition) moved() {
	at := p.applier.Position
	p.metrics.position.WithLabelValues(label(p.number)).Set(float64(at.Sequence))
	p.metrics.watermark.WithLabelValues(label(p.number)).Set(float64(at.Clock.Watermark) / 1000)
}

// unlessDone is err, or nil where it only says that ctx ended.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end was asked for
	}
	return err
}
