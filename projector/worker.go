package projector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/webhook"
	"callboard/projector/feed"
	"callboard/projector/fold"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

// applyTimeout limits the commits of a batch, or of the part of it whose claim checks were fetched together. It is also the longest time that a
// stop of the projector takes. The feed's consumer expires later, although nothing is requested while all batches wait.
const applyTimeout = 2 * time.Minute

// errReconnected makes the worker check the stream again: the server may have lost the end of the stream and stored other messages.
var errReconnected = errors.New("the connection to NATS was lost and is back: the stream is checked again")

// worker applies the messages of one owned partition on its own goroutine. The idle actor moves its position while it is at rest.
type worker struct {
	*Projector
	partition  int
	log        zerolog.Logger
	source     ingest.Source
	registered int    // the number of partitions that the stream had when it was first read
	reconnects uint64 // of the NATS connection, when the stream was checked
	feed       *feed.Member
	failed     chan error // why another actor ends the worker
	ahead      chan batch // the next one, which is read while another one is committed; nil: none

	position atomic.Pointer[store.Position] // the last one that was committed
	idle     atomic.Bool                    // whether nothing waited at the last clock message

	work    sync.Mutex // held while the worker applies something, or the idle actor moves the position; guards what follows
	applier ingest.Applier
	closed  bool // the worker has ended

	seen store.Position // where the partition was before the last check; the check actor's own

	// The clock actor's own.
	deliveries uint64 // of the consumer, when a clock message waited last
	stalled    int    // ticks in a row on which a clock message waited and none was delivered
}

// batch are messages that were taken from the feed and read.
type batch struct {
	items    []ingest.Item
	received time.Time // when they were taken
}

// runWorker applies a partition's messages until ctx ends or something fails.
func runWorker(ctx context.Context, s *supervisor, partition int) exit {
	p := s.projector
	w := &worker{Projector: p, partition: partition, log: p.config.Log.With().Int("partition", partition).Logger()}
	w.applier = ingest.Applier{
		JetStream: p.config.JetStream, Store: p.store, OnCommit: w.committed, Tracer: p.config.Tracer, Timeout: applyTimeout,
	}
	w.failed = make(chan error, 1)
	err := w.run(ctx, s)
	return exit{partition: partition, replicated: w.source.Stream != nil && w.source.CachedInfo().Config.Replicas > 1, err: err}
}

func (w *worker) run(ctx context.Context, s *supervisor) error {
	if err := w.open(ctx); err != nil {
		return err
	}
	w.feed = s.feed.Join(ctx, w.partition, w.applier.Position.Sequence)
	defer w.feed.Leave()
	w.metrics.resumed(w.partition)
	w.moved(w.applier.Position)
	w.log.Info().Uint64("position", w.applier.Position.Sequence).Int64("epoch", w.applier.Position.Epoch).Msg("partition claimed")
	defer s.activate(w)()
	return w.loop(ctx)
}

// open claims the position.
func (w *worker) open(ctx context.Context) (err error) {
	w.reconnects = w.config.JetStream.Conn().Stats().Reconnects
	if w.source, err = w.openSource(ctx); err != nil {
		return err
	}
	if err := ingest.CheckLeader(w.source.CachedInfo()); err != nil {
		return err
	}
	return w.openPosition(ctx)
}

// openPosition claims the position and reads what was decided about the messages above it.
func (w *worker) openPosition(ctx context.Context) error {
	if err := withApplyTimeout(ctx, w.claim); err != nil {
		return err
	}
	// An owner that lost its locks could commit until the claim: only now the position is the last one.
	if err := w.checkPosition(ctx); err != nil {
		return err
	}
	return withApplyTimeout(ctx, func(ctx context.Context) (err error) {
		w.applier.Reader.Decisions, err = w.store.Decisions(ctx, w.applier.Position)
		return err
	})
}

// withApplyTimeout limits the time of statements: a host can disappear without closing the connection. Requests to NATS don't belong in
// work. One that is lost while a server restarts ends after five seconds, but only if its context has no deadline.
func withApplyTimeout(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	return work(ctx)
}

// claim registers the stream, where it is new, and claims the position.
func (w *worker) claim(ctx context.Context) error {
	now, err := w.source.Partitions()
	if err != nil {
		return err
	}
	stream := w.source.ID
	w.registered, err = w.store.RegisterStream(ctx, stream, now)
	if errors.Is(err, store.ErrNotMigrated) {
		return &ingest.StopError{Reason: ingest.MigrationMissing, Detail: err.Error()}
	}
	if err == nil {
		err = w.source.CheckPartitions(w.registered)
	}
	if err != nil {
		return err
	}
	w.applier.Position, err = w.store.Claim(ctx, stream, int16(w.partition))
	switch {
	case errors.Is(err, store.ErrStreamReplaced):
		return ingest.StreamReplaced(w.source.Name())
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
	if _, err := w.source.Info(ctx); err != nil {
		return fmt.Errorf("stream %s: %w", w.source.Name(), err)
	}
	w.metrics.firstSequence.Set(float64(w.source.CachedInfo().State.FirstSeq))
	return w.source.CheckPosition(ctx, w.applier.Position, w.registered)
}

func (w *worker) loop(ctx context.Context) error {
	defer w.awaitAhead()
	for {
		ready := w.feed.Ready
		if w.ahead != nil {
			ready = nil // that batch is first
		}
		var err error
		select {
		case <-ctx.Done():
			return nil
		case err = <-w.feed.Failed:
		case err = <-w.failed:
		case b := <-w.ahead:
			w.ahead = nil
			err = w.withBatchSlot(ctx, func() error { return w.applyBatch(ctx, b) })
		case <-ready:
			err = w.withBatchSlot(ctx, func() error { return w.applyNext(ctx) })
		}
		if err != nil {
			return err
		}
	}
}

// withBatchSlot works on a batch as soon as fewer batches are in work than there are connections, or does nothing if ctx ends before. The
// messages of partitions that wait are not decoded yet, which takes less memory.
func (w *worker) withBatchSlot(ctx context.Context, work func() error) error {
	if !w.acquireBatchSlot(ctx) {
		return nil
	}
	defer func() { <-w.batches }()
	return work()
}

// acquireBatchSlot returns false if ctx ends before.
func (w *worker) acquireBatchSlot(ctx context.Context) bool {
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	select {
	case <-ctx.Done():
		return false
	case w.batches <- struct{}{}:
		return true
	}
}

func (w *worker) applyNext(ctx context.Context) error {
	messages := w.feed.Take(w.config.BatchSize)
	if len(messages) == 0 {
		return nil
	}
	return w.applyBatch(ctx, w.read(messages, w.config.Now()))
}

func (w *worker) read(messages []events.StoredMessage, received time.Time) batch {
	return batch{items: w.applier.Reader.Read(messages), received: received}
}

// readAhead begins to read the next batch if it is full and no other partition waits. A smaller batch would hold only the first messages that
// arrive during a commit. The messages after them would wait for another commit.
func (w *worker) readAhead() {
	if w.waiting.Load() > 0 {
		return // others have enough to do meanwhile
	}
	messages := w.feed.TakeFull(w.config.BatchSize)
	if len(messages) == 0 {
		return
	}
	received := w.config.Now()
	ahead := make(chan batch, 1)
	w.ahead = ahead
	go func() { ahead <- w.read(messages, received) }()
}

func (w *worker) awaitAhead() {
	if w.ahead != nil {
		<-w.ahead
	}
}

// applyBatch applies and commits a batch.
func (w *worker) applyBatch(ctx context.Context, b batch) error {
	defer w.feed.Done()
	if w.reconnected() {
		return errReconnected
	}
	w.readAhead()
	return w.apply(ctx, b)
}

// reconnected tells whether the connection to NATS was lost since the stream was checked. Then the whole feed fails: its consumer may be gone.
func (w *worker) reconnected() bool {
	if w.config.JetStream.Conn().Stats().Reconnects == w.reconnects {
		return false
	}
	w.feed.Fail(errReconnected)
	return true
}

// apply applies and commits a batch. It finishes although ctx ends, unless claim checks are left to fetch.
func (w *worker) apply(ctx context.Context, b batch) error {
	w.work.Lock()
	defer w.work.Unlock()
	w.idle.Store(false) // with the lock, as the idle actor sets it
	began := time.Now()
	if err := w.applier.Apply(ctx, b.items, b.received); err != nil {
		return err
	}
	w.metrics.storedAhead(w.partition, b.items[len(b.items)-1].StoredAt, b.received)
	w.metrics.commits.WithLabelValues(label(w.partition)).Observe(time.Since(began).Seconds())
	return nil
}

// maxLoggedConflicts limits the lines about one batch. All conflicts are counted.
const maxLoggedConflicts = 10

// committed reports a change set that was committed.
func (w *worker) committed(changes store.ChangeSet) {
	w.moved(w.applier.Position)
	w.metrics.count(changes.MessageCounts)
	w.wakeSenders(changes.Notices)
	w.reportCap(changes.ClockCap)
	for _, dead := range changes.DeadLetters {
		w.metrics.deadLetters.WithLabelValues(label(w.partition)).Inc()
		w.log.Warn().Uint64("sequence", dead.Sequence).Str("reason", dead.Reason).Msg("dead letter recorded")
	}
	for _, c := range changes.Conflicts[:min(len(changes.Conflicts), maxLoggedConflicts)] {
		w.log.Warn().Uint64("sequence", c.Sequence).Str("entity", string(c.Entity)).Str("source", c.Source).Str("event", c.ID).
			Msg("event has the version of an applied event and other content: it changed nothing")
	}
	for _, r := range changes.Retries {
		w.log.Info().Uint64("sequence", r.Sequence).Uint64("dead_letter", r.DeadLetter.Sequence).Stringer("outcome", r.Outcome).
			Str("reason", r.Reason).Msg("dead letter retried")
	}
}

// reportCap reports messages that count as stored earlier than the stream says.
func (w *worker) reportCap(c fold.ClockCap) {
	if c.Messages == 0 {
		return
	}
	w.metrics.capped.Add(float64(c.Messages))
	w.log.Warn().Uint64("first", c.First).Uint64("last", c.Last).Int("messages", c.Messages).
		Time("stored_at", c.LastStoredAt.Std()).Time("capped_at", c.Time.Std()).Msg("the stream's clock is ahead: messages capped")
}

// wakeSenders tells the webhook senders that there are notices. A lost message costs little: senders look by themselves, too.
func (w *worker) wakeSenders(notices []store.Notice) {
	if len(notices) == 0 {
		return
	}
	for _, n := range notices {
		w.metrics.notices.WithLabelValues(string(n.Kind)).Inc()
	}
	if err := w.config.JetStream.Conn().Publish(webhook.WakeSubject, nil); err != nil {
		w.log.Debug().Err(err).Msg("waking webhook senders failed")
	}
}

// moved makes the position that is in the table the worker's own.
func (w *worker) moved(p store.Position) {
	w.applier.Position = p
	w.position.Store(&p)
	w.noteCommitted(p.Sequence)
	w.metrics.moved(p)
}

// fail ends the worker.
func (w *worker) fail(err error) {
	select {
	case w.failed <- err:
	default: // it has failed already
	}
}
