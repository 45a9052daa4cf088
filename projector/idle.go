package projector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/projector/feed"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

const (
	// maxStalledTicks is how many ticks in a row messages may wait without being delivered. Pull consumers can stall without an error
	// after reconnects.
	maxStalledTicks = 10
	// maxAhead is how far the watermark of an idle partition may be ahead of this host's clock. The clock of the NATS server can leap, and
	// a watermark is never taken back: all later events would get its time. A watermark that is too low is still true.
	maxAhead = time.Minute
	// probeConcurrency is how many partitions are looked up in the stream at a time.
	probeConcurrency = 8
)

var errStalled = errors.New("the consumer stopped delivering although its partition has messages")

// idleActor moves the positions and the watermarks of the partitions that have nothing to do.
//
// A tick takes three requests to JetStream and one transaction for all partitions, while the feed keeps up with the stream. It takes one further
// request for each partition of which the feed doesn't say that it is complete: in a backlog, and where other projectors' partitions get messages.
type idleActor struct {
	*Projector
	supervisor *supervisor
	feed       *feed.Shared
	stream     jetstream.Stream
}

// run ends with ctx.
func (a *idleActor) run(ctx context.Context) {
	tick := time.NewTicker(a.config.Tick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		workers := a.supervisor.active()
		if len(workers) == 0 {
			continue
		}
		if err := a.tick(ctx, workers); err != nil && ctx.Err() == nil {
			for _, w := range workers {
				w.fail(err)
			}
		}
	}
}

// tick takes the stream's own time first. If after that the stream holds no message of a partition above its position, every message of the
// partition stored before that time is in the tables. The order matters: the server reads its clock after the stream's state, so the time
// of an answer can be later than a message which the state of the same answer doesn't count.
func (a *idleActor) tick(ctx context.Context, workers []*worker) error {
	a.metrics.feedBytes.Set(float64(a.feed.Used()))
	if workers = slices.DeleteFunc(workers, (*worker).reconnected); len(workers) == 0 {
		return nil
	}
	before, err := a.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("stream %s: %w", a.config.Stream, err)
	}
	at := min(events.TimeOf(before.TimeStamp), events.TimeOf(time.Now().Add(maxAhead)))
	// A position that is read later could be above what the answer says about the stream.
	for _, w := range workers {
		w.seen = *w.position.Load()
	}
	info, err := a.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("stream %s: %w", a.config.Stream, err)
	}
	a.metrics.firstSequence.Set(float64(info.State.FirstSeq))
	if workers, err = a.check(ctx, workers); err != nil || len(workers) == 0 {
		return err
	}
	atEnd, err := a.atEnd(ctx, workers, info.State.LastSeq)
	if err != nil {
		return err
	}
	to := store.Position{Sequence: info.State.LastSeq}
	if info.State.LastSeq > 0 {
		to.LastMessage, to.LastMessageAt = info.State.LastSeq, events.TimeOf(info.State.LastTime)
	}
	to.Clock.Watermark = at
	return a.advance(ctx, atEnd, to)
}

// check compares the stream with the positions, and fails the workers whose position doesn't fit. The newest message that any partition knows
// stands for all of them. It returns the others.
func (a *idleActor) check(ctx context.Context, workers []*worker) (sound []*worker, err error) {
	newest, fit := workers[0], true
	for _, w := range workers {
		if w.seen.LastMessage > newest.seen.LastMessage {
			newest = w
		}
		fit = fit && ingest.WithinBounds(a.stream.CachedInfo(), w.seen) && w.registered == newest.registered
	}
	err = ingest.CheckPosition(ctx, a.stream, newest.seen, newest.registered)
	var stop *ingest.StopError
	switch {
	case err == nil && fit:
		return workers, nil
	case err != nil && !errors.As(err, &stop):
		return nil, err
	}
	for _, w := range workers {
		switch err := ingest.CheckPosition(ctx, a.stream, w.seen, w.registered); {
		case err == nil:
			sound = append(sound, w)
		case errors.As(err, &stop):
			w.fail(err)
		default:
			return nil, err
		}
	}
	return sound, nil
}

// atEnd returns the workers that are at rest and whose partitions have no message between their position and the stream's last sequence.
func (a *idleActor) atEnd(ctx context.Context, workers []*worker, last uint64) (atEnd []*worker, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(probeConcurrency)
	idle := make([]bool, len(workers))
	if slices.ContainsFunc(workers, func(w *worker) bool { return w.seen.Sequence < last }) {
		a.feed.Await(ctx, last, a.config.Tick/2)
	}
	for i, w := range workers {
		switch {
		case w.seen.Sequence == last || w.seen.Sequence < last && w.feed.Complete(last):
			w.stalled, idle[i] = 0, true
		case w.seen.Sequence < last && w.resting():
			group.Go(func() (err error) {
				idle[i], err = w.nothingWaits(ctx, a.stream)
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, w := range workers {
		if idle[i] {
			atEnd = append(atEnd, w)
		}
	}
	return atEnd, nil
}

// advance moves the partitions at the stream's end that are at rest. Workers that begin a batch wait until it has ended.
func (a *idleActor) advance(ctx context.Context, atEnd []*worker, to store.Position) error {
	idle := store.Idle{To: to}
	held := make(map[int16]*worker)
	for _, w := range atEnd {
		if !w.work.TryLock() {
			continue
		}
		defer w.work.Unlock()
		if !w.closed && w.applier.Position == w.seen {
			idle.Positions = append(idle.Positions, w.seen)
			held[w.seen.Partition] = w
		}
	}
	moved, err := a.control.AdvanceIdle(ctx, idle)
	if err != nil {
		return err
	}
	for partition, done := range moved {
		w := held[partition]
		if !done {
			w.fail(store.ErrFenced)
			continue
		}
		w.moved(idle.After(w.seen))
		w.atRest.Store(true)
	}
	return nil
}
