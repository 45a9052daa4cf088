package projector

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/projector/feed"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

// applyTimeout limits the commits of a batch, or of the part of it whose claim checks were fetched together. It is also
// the longest time that a stop of the projector takes. The feed's consumer expires later, although nothing is requested
// while all batches wait.
const applyTimeout = 2 * time.Minute

// worker applies the messages of one owned partition on its own goroutine. The supervisor moves its position while it
// is at rest.
type worker struct {
	projector  *Projector
	partition  int
	log        zerolog.Logger
	source     ingest.Source
	registered int    // the number of partitions that the stream had when it was first read
	reconnects uint64 // of the NATS connection, when the stream was checked
	feed       *feed.Member
	failed     chan error // why another actor ends the worker

	position atomic.Pointer[store.Position] // the last one that was committed
	idle     atomic.Bool                    // whether nothing waited at the last clock message

	work    sync.Mutex // held while the worker applies something, or the supervisor moves the position; guards what follows
	applier ingest.Applier
	closed  bool // the worker has ended
}

// runWorker applies a partition's messages until ctx ends or something fails.
func runWorker(ctx context.Context, s *supervisor, partition int) exit {
	p := s.projector
	w := &worker{projector: p, partition: partition, log: p.config.Log.With().Int("partition", partition).Logger()}
	w.applier = ingest.Applier{
		JetStream: p.config.JetStream, Store: p.store, OnCommit: w.committed, Tracer: p.config.Tracer, Timeout: applyTimeout,
	}
	w.failed = make(chan error, 1)
	err := w.run(ctx, s)
	return exit{partition: partition, replicated: w.source.Stream != nil && w.source.CachedInfo().Config.Replicas > 1,
		err: err}
}

func (w *worker) run(ctx context.Context, s *supervisor) error {
	if err := w.open(ctx); err != nil {
		return err
	}

	w.feed = s.feed.Join(ctx, w.partition, w.applier.Position.Sequence)
	defer w.feed.Leave()

	w.projector.metrics.resumed(w.partition)
	w.moved(w.applier.Position)
	w.log.Info().Uint64("position", w.applier.Position.Sequence).Int64("epoch", w.applier.Position.Epoch).
		Msg("partition claimed")

	// From now on, the supervisor may move the position.
	defer s.activate(w)()
	return w.loop(ctx)
}

// loop applies batches. While fewer batches are in work than there are connections, a partition takes its next one.
func (w *worker) loop(ctx context.Context) error {
	var next batch // that was read while another one was committed
	for {
		if err := w.await(ctx, len(next.decoded) > 0); err != nil || ctx.Err() != nil {
			return err
		}

		// The messages of partitions that wait are not decoded yet, which takes less memory.
		select {
		case <-ctx.Done():
			return nil
		case w.projector.batches <- struct{}{}:
		}

		if len(next.decoded) == 0 {
			next = w.read(w.feed.Take(w.projector.config.BatchSize))
		}

		var err error
		next, err = w.applyAndRead(ctx, next)
		<-w.projector.batches
		if err != nil {
			return err
		}
	}
}

// await waits until there may be messages, unless some have been read. It returns nil if ctx ends before.
func (w *worker) await(ctx context.Context, haveRead bool) error {
	ready := w.feed.Ready
	if haveRead {
		now := make(chan struct{})
		close(now)
		ready = now
	}

	select {
	case <-ctx.Done():
		return nil
	case err := <-w.feed.Failed:
		return err
	case err := <-w.failed:
		return err
	case <-ready:
		return nil
	}
}

// batch is messages that were taken from the feed and decoded.
type batch struct {
	decoded  []ingest.Decoded
	received time.Time // when they were taken
}

func (w *worker) read(messages []events.StoredMessage) batch {
	received := w.projector.config.Now()
	return batch{w.applier.Decoder.Decode(messages), received}
}

// applyAndRead commits a batch. While it does, it reads the next one, if that is full and no partition waits for
// its turn: a smaller batch would hold only the first messages that arrive during a commit.
func (w *worker) applyAndRead(ctx context.Context, b batch) (next batch, err error) {
	if len(b.decoded) == 0 {
		return batch{}, nil
	}
	defer w.feed.Done()
	if w.reconnected() {
		return batch{}, feed.ErrReconnected
	}

	var reading sync.WaitGroup
	if len(w.projector.batches) < cap(w.projector.batches) {
		reading.Go(func() { next = w.read(w.feed.TakeFull(w.projector.config.BatchSize)) })
	}
	err = w.apply(ctx, b)
	reading.Wait()
	return next, err
}

// apply commits a batch. It finishes although ctx ends, unless claim checks are left to fetch.
func (w *worker) apply(ctx context.Context, b batch) error {
	w.work.Lock()
	defer w.work.Unlock()
	w.idle.Store(false) // with the lock, as the supervisor sets it
	began := time.Now()
	if err := w.applier.Apply(ctx, b.decoded, b.received); err != nil {
		return err
	}
	w.projector.metrics.storedAhead(w.partition, b.decoded[len(b.decoded)-1].StoredAt, b.received)
	w.projector.metrics.commits.WithLabelValues(label(w.partition)).Observe(time.Since(began).Seconds())
	return nil
}

// reconnected tells whether the connection to NATS was lost since the stream was checked. The feed fails, too,
// unless it began to read after that.
func (w *worker) reconnected() bool {
	return w.projector.config.JetStream.Conn().Stats().Reconnects != w.reconnects
}

// moved makes the position that is in the table the worker's own.
func (w *worker) moved(p store.Position) {
	w.applier.Position = p
	w.position.Store(&p)
	w.projector.metrics.moved(p)
}

// fail ends the worker.
func (w *worker) fail(err error) {
	select {
	case w.failed <- err:
	default: // it has failed already
	}
}
