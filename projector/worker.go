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

const (
	// applyTimeout limits the work on one batch. It is also the longest time that a stop of the projector takes.
	applyTimeout = 2 * time.Minute
	// ackWait is long, since a batch is acknowledged by its last message only.
	ackWait = 10 * time.Minute
	// maxStalledTicks is how many ticks in a row messages may wait without being delivered. Pull consumers can stall without an error
	// after reconnects.
	maxStalledTicks = 10
	// maxAhead is how far the watermark of an idle partition may be ahead of this host's clock. The clock of the NATS server can leap, and
	// a watermark is never taken back: all later events would get its time. A watermark that is too low is still true.
	maxAhead = time.Minute
)

var (
	errStalled = errors.New("the consumer stopped delivering although its partition has messages")

	// errReconnected makes the worker check the stream again: the server may have lost the end of the stream and stored other messages.
	errReconnected = errors.New("the connection to NATS was lost and is back: the stream is checked again")
)

// worker applies the messages of one owned partition. Only its own goroutine uses it.
type worker struct {
	*Projector
	partition  int
	log        zerolog.Logger
	stream     jetstream.Stream
	registered int    // the number of partitions that the stream had when it was first read
	reconnects uint64 // of the NATS connection, when the stream was checked
	applier    ingest.Applier
	feed       *feed.Feed
	stalled    int // ticks in a row on which messages waited and none was delivered
}

// runWorker applies a partition's messages until ctx ends (nil) or something fails.
func runWorker(ctx context.Context, p *Projector, partition int) error {
	w := &worker{Projector: p, partition: partition, log: p.config.Log.With().Int("partition", partition).Logger()}
	w.applier = ingest.Applier{JetStream: p.config.JetStream, Store: p.store, OnCommit: w.committed, Tracer: p.config.Tracer}
	if err := w.open(ctx); err != nil {
		return err
	}
	defer w.feed.Close()
	w.metrics.resumed(w.partition)
	w.metrics.moved(w.applier.Position)
	defer w.observePending(ctx)()
	w.log.Info().Uint64("position", w.applier.Position.Sequence).Int64("epoch", w.applier.Position.Epoch).Msg("partition claimed")
	return w.loop(ctx)
}

// open claims the position and starts the consumer behind it.
func (w *worker) open(ctx context.Context) (err error) {
	w.reconnects = w.config.JetStream.Conn().Stats().Reconnects
	if w.stream, err = w.config.JetStream.Stream(ctx, w.config.Stream); err != nil {
		return fmt.Errorf("stream %s: %w", w.config.Stream, err)
	}
	if err := w.claim(ctx); err != nil {
		return err
	}
	// An owner that lost its locks could commit until the claim: only now the position is the last one.
	if err := w.checkPosition(ctx); err != nil {
		return err
	}
	if w.applier.Reader.Decisions, err = w.store.Decisions(ctx, w.applier.Position); err != nil {
		return err
	}
	consumer, err := w.createConsumer(ctx)
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	w.feed, err = feed.Open(consumer, w.config.BatchSize)
	return err
}

// claim registers the stream, where it is new, and claims the position.
func (w *worker) claim(ctx context.Context) error {
	info := w.stream.CachedInfo()
	now, err := events.Partitions(info.Config)
	if err != nil {
		return err
	}
	stream := ingest.StreamOf(info)
	w.registered, err = w.store.RegisterStream(ctx, stream, now)
	if errors.Is(err, store.ErrNotMigrated) {
		return &ingest.StopError{Reason: ingest.MigrationMissing, Detail: err.Error()}
	}
	if err == nil {
		err = ingest.CheckPartitions(info, w.registered)
	}
	if err != nil {
		return err
	}
	w.applier.Position, err = w.store.Claim(ctx, stream, int16(w.partition))
	switch {
	case errors.Is(err, store.ErrStreamReplaced):
		return ingest.StreamReplaced(stream.Name)
	case errors.Is(err, store.ErrDefinitionMismatch):
		return &ingest.StopError{
			Reason: ingest.DefinitionMismatch,
			Detail: "another release built the projection, and its projector and readers continue with it; run 'callboard rebuild' of this release",
		}
	}
	return err
}

// checkPosition compares the stream, as it is now, with the position.
func (w *worker) checkPosition(ctx context.Context) error {
	if _, err := w.stream.Info(ctx); err != nil {
		return fmt.Errorf("stream %s: %w", w.config.Stream, err)
	}
	w.metrics.firstSequence.Set(float64(w.stream.CachedInfo().State.FirstSeq))
	return ingest.CheckPosition(ctx, w.stream, w.applier.Position, w.registered)
}

func (w *worker) consumerName() string { return fmt.Sprintf("projector-%d", w.partition) }

// createConsumer replaces the partition's durable consumer. Requests of an earlier owner, which may be frozen and not gone, end with the
// old one, as do changes that an operator made to it.
func (w *worker) createConsumer(ctx context.Context) (jetstream.Consumer, error) {
	name := w.consumerName()
	if err := w.stream.DeleteConsumer(ctx, name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, err
	}
	return w.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:       name,
		FilterSubject: events.PartitionFilter(w.partition),
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   w.applier.Position.Sequence + 1,
		AckPolicy:     jetstream.AckAllPolicy,
		AckWait:       ackWait,
		MaxAckPending: -1,
	})
}

func (w *worker) loop(ctx context.Context) error {
	tick := time.NewTicker(w.config.Tick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.feed.Failed:
			return err
		case first := <-w.feed.Messages:
			w.stalled = 0
			if w.config.JetStream.Conn().Stats().Reconnects != w.reconnects {
				return errReconnected
			}
			if err := w.apply(ctx, w.feed.Take(first, w.config.BatchSize)); err != nil {
				return err
			}
		case <-tick.C:
			if err := w.advanceIdle(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// apply applies and commits a batch. It finishes although ctx ends.
func (w *worker) apply(ctx context.Context, messages []jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
	defer cancel()
	items, err := w.applier.Reader.Read(messages)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := w.applier.Apply(ctx, items); err != nil {
		return err
	}
	w.metrics.commits.WithLabelValues(label(w.partition)).Observe(time.Since(began).Seconds())
	if err := messages[len(messages)-1].Ack(); err != nil {
		// The position is committed: without the acknowledgement only the lag of the consumer is shown too high.
		w.log.Debug().Err(err).Msg("acknowledgement failed")
	}
	return nil
}

// committed reports a change set that was committed.
func (w *worker) committed(changes store.ChangeSet) {
	w.metrics.moved(w.applier.Position)
	w.metrics.count(changes.MessageCounts)
	for _, letter := range changes.DeadLetters {
		w.metrics.deadLetters.WithLabelValues(label(w.partition)).Inc()
		w.log.Warn().Uint64("sequence", letter.Sequence).Str("reason", letter.Reason).Msg("dead letter recorded")
	}
	for _, r := range changes.Resolutions {
		w.log.Info().Uint64("sequence", r.Sequence).Stringer("outcome", r.Outcome).Str("reason", r.Reason).Msg("dead letter retried")
	}
}

// advanceIdle retries dead letters, and moves the position and the watermark of a partition that has no messages waiting.
//
// The stream's own time is taken first; if after that the stream holds no message of the partition above the position, every
// message stored before that time is in the tables. The order matters: the server reads its clock after the stream's state,
// so the time of an answer can be later than a message which the state of the same answer doesn't count.
func (w *worker) advanceIdle(ctx context.Context) error {
	// A replay applies the recorded retries first, so that the retries stay in the order of their numbers.
	if len(w.applier.Reader.Decisions.Retries) == 0 {
		if err := w.retryDeadLetters(ctx); err != nil {
			return err
		}
	}
	if err := w.checkPosition(ctx); err != nil {
		return err
	}
	info := w.stream.CachedInfo()
	if pending, err := w.pending(ctx); pending || err != nil {
		return err
	}
	if err := w.applier.Apply(ctx, w.applier.Reader.TakeRetries(info.State.LastSeq)); err != nil {
		return err
	}
	next := w.applier.Position
	next.Sequence = info.State.LastSeq
	if info.State.LastSeq > 0 {
		next.LastMessage, next.LastMessageAt = info.State.LastSeq, events.TimeOf(info.State.LastTime)
	}
	next.Clock.RaiseWatermark(min(events.TimeOf(info.TimeStamp), events.TimeOf(time.Now().Add(maxAhead))))
	if err := w.control.Advance(ctx, w.applier.Position, next); err != nil {
		return err
	}
	w.applier.Position = next
	w.metrics.moved(w.applier.Position)
	return nil
}

// retryDeadLetters applies the requested retries. It finishes although ctx ends.
func (w *worker) retryDeadLetters(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
	defer cancel()
	return w.applier.RetryDeadLetters(ctx)
}

// pending tells whether the stream holds a message of the partition above the position. The error is errStalled where messages have
// waited for too long although the consumer was asked for them.
func (w *worker) pending(ctx context.Context) (bool, error) {
	_, err := w.stream.GetMsg(ctx, w.applier.Position.Sequence+1, jetstream.WithGetMsgSubject(events.PartitionFilter(w.partition)))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		w.stalled = 0
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("next message: %w", err)
	}
	if w.stalled++; w.stalled > maxStalledTicks {
		return true, errStalled
	}
	return true, nil
}
