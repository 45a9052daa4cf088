package rebuild

import (
	"context"
	"fmt"
	"time"

	"callboard/events"
	"callboard/projector"
	"callboard/projector/feed"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

const (
	// maxFeedFailures is how often a worker joins the feed again without progress.
	maxFeedFailures = 8
	// lookInterval is how often a worker that gets no messages asks whether it has them all.
	lookInterval = 5 * time.Millisecond
	// patientLooks is how many times it looks before it takes a batch that is not full.
	patientLooks = 20
	// silentLooks is how many times it looks before it asks whether the stream has them.
	silentLooks = 200
)

// worker applies the messages of a partition, up to its limit.
type worker struct {
	crew     *crew
	applier  ingest.Applier
	member   *feed.Member
	held     []events.StoredMessage // that were taken and are not applied, the next one first
	failures int                    // of the feed, since the last message
	backOff  projector.BackOff      // between them
	looks    int                    // without a message

	raised  chan struct{}  // the limit has been raised
	limit   store.Position // guarded by [crew.mu]
	reached store.Position // as limit
}

func newWorker(c *crew, at store.Position) *worker {
	w := &worker{crew: c, backOff: projector.NewBackOff(), raised: make(chan struct{}, 1), limit: at, reached: at}
	w.applier = ingest.Applier{
		JetStream: c.config.JetStream, Store: c.store, Replay: &c.replay, Position: at, OnCommit: c.committed,
		Reader: ingest.Reader{System: c.replay.System},
	}
	return w
}

// raise raises the limit. The caller holds the crew's mutex.
func (w *worker) raise(limit store.Position) {
	w.limit = limit
	select {
	case w.raised <- struct{}{}:
	default: // the worker will look
	}
}

// run works until ctx ends.
func (w *worker) run(ctx context.Context) error {
	partition := int(w.applier.Position.Partition)
	w.member = w.crew.feed.Join(ctx, partition, w.applier.Position.Sequence)
	defer func() { w.member.Leave() }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.raised:
		}
		if err := w.advance(ctx); err != nil {
			return fmt.Errorf("partition %d: %w", partition, err)
		}
	}
}

// advance applies the messages up to the limit, and takes over the clock and the watermark of the live position.
func (w *worker) advance(ctx context.Context) (err error) {
	w.crew.mu.Lock()
	limit := w.limit
	w.crew.mu.Unlock()
	if caughtUp(w.applier.Position, limit) {
		return nil
	}
	if w.applier.Reader.Decisions, err = w.crew.decisions(ctx, w.applier.Position); err != nil {
		return err
	}

	for done := false; !done; {
		if done, err = w.next(ctx, limit.Sequence); err != nil {
			return err
		}
	}
	if err := w.applier.Advance(ctx, advanceTo(w.applier.Position, limit)); err != nil {
		return err
	}

	w.crew.mu.Lock()
	defer w.crew.mu.Unlock()
	w.reached = w.applier.Position
	w.crew.wake()
	return nil
}

// next applies the next batch of the messages up to a sequence, or waits for it. It tells whether there are none left.
func (w *worker) next(ctx context.Context, limit uint64) (done bool, err error) {
	received := w.member.Received(limit)
	if len(w.held) == 0 {
		w.take(received)
	}
	switch {
	case len(w.held) > 0 && w.held[0].Sequence <= limit:
		return false, w.apply(ctx, limit)
	case len(w.held) > 0:
		return true, nil
	case received && w.member.Received(limit): // asked again: the queue of a member that failed meanwhile was thrown away
		return true, nil
	}

	look := time.NewTimer(lookInterval)
	defer look.Stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case err := <-w.member.Failed:
		return false, w.rejoin(ctx, err)
	case <-w.member.Ready:
	case <-look.C:
		w.looks++
		w.take(w.looks%patientLooks == 0) // the feed may have no room for a full batch
	}
	if len(w.held) > 0 || w.looks < silentLooks {
		return false, nil
	}
	w.looks = 0
	return false, w.crew.source.checkEnd(ctx, limit)
}

// take takes a full batch from the feed if it has one, which costs less a message than several small ones, or else whatever it has if any batch
// will do. Clock messages are left out: where they moved the clock, that is on record.
func (w *worker) take(anyBatch bool) {
	take := w.member.TakeFull
	if anyBatch {
		take = w.member.Take
	}
	taken := take(w.crew.config.Batch)
	for _, m := range taken {
		if m.Subject != events.ClockSubject {
			w.held = append(w.held, m)
		}
	}
	if len(taken) > 0 && len(w.held) == 0 {
		w.member.Done()
	}
}

// apply commits the messages that are held, up to a sequence.
func (w *worker) apply(ctx context.Context, limit uint64) error {
	if !w.crew.inPause.Load() {
		if err := w.crew.config.throttle.wait(ctx); err != nil {
			return err
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case w.crew.batches <- struct{}{}:
	}
	defer func() { <-w.crew.batches }()

	n := len(w.held)
	for n > 0 && w.held[n-1].Sequence > limit {
		n--
	}
	if err := w.applier.Apply(ctx, w.applier.Reader.Read(w.held[:n]), time.Time{}); err != nil {
		return err
	}
	w.failures, w.looks = 0, 0
	w.backOff.Reset()
	if w.held = w.held[n:]; len(w.held) == 0 {
		w.held = nil
		w.member.Done()
	}
	return nil
}

// rejoin joins the feed again after a failure, unless the stream has lost what was applied.
func (w *worker) rejoin(ctx context.Context, cause error) error {
	w.failures++
	if w.failures > maxFeedFailures {
		return cause
	}
	w.member.Leave()
	w.held = nil
	projector.Pause(ctx, w.backOff.Next(0))
	at := w.applier.Position
	if err := w.crew.source.verifyPositions(ctx, map[int16]store.Position{at.Partition: at}); err != nil {
		return err
	}
	w.member = w.crew.feed.Join(ctx, int(at.Partition), at.Sequence)
	return nil
}

// advanceTo returns a position that has reached the limit. See [caughtUp] for why it may be above the limit already.
func advanceTo(at, limit store.Position) store.Position {
	if limit.LastMessage > at.LastMessage {
		at.LastMessage, at.LastMessageAt = limit.LastMessage, limit.LastMessageAt
	}
	at.Sequence = max(at.Sequence, limit.Sequence)
	at.Clock.Now = max(at.Clock.Now, limit.Clock.Now)
	at.Clock.Watermark = max(at.Clock.Watermark, limit.Clock.Watermark)
	return at
}
