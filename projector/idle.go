package projector

import (
	"context"
	"time"

	"callboard/events"
	"callboard/projector/feed"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// idleActor moves the positions and the watermarks of the partitions that have nothing to do but to take note of a clock message: one
// transaction for all of them.
type idleActor struct {
	*Projector
	supervisor *supervisor
	feed       *feed.Shared
}

// run ends with ctx.
func (a *idleActor) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.feed.Clocks():
		}
		a.metrics.feedBytes.Set(float64(a.feed.Used()))
		workers := a.supervisor.active()
		if err := a.advance(ctx, workers); err != nil && ctx.Err() == nil {
			for _, w := range workers {
				w.fail(err)
			}
		}
	}
}

// advance moves the partitions of which nothing but clock messages waits. Workers that begin a batch wait until it has ended.
func (a *idleActor) advance(ctx context.Context, workers []*worker) error {
	var moves []store.Move
	now := a.config.Now()
	held, clocks := make(map[int16]*worker), make(map[int16]feed.Clock)
	for _, w := range workers {
		if w.reconnected() || !w.work.TryLock() {
			continue // the clock messages are still there
		}
		defer w.work.Unlock()
		if clock, ok := w.feed.Clock(); ok && !w.closed {
			from := w.applier.Position
			to := atClock(from, clock, now)
			a.metrics.storedAhead(w.partition, clock.StoredAt.Std(), now)
			if w.applier.Corrects(to) {
				w.advance(ctx, to, clock)
				continue
			}
			moves = append(moves, store.Move{From: from, To: to})
			held[from.Partition], clocks[from.Partition] = w, clock
		}
	}
	moved, failed, err := a.control.AdvanceIdle(ctx, moves)
	if err != nil {
		return err
	}
	for _, move := range moves {
		partition := move.From.Partition
		w := held[partition]
		switch done, known := moved[partition]; {
		case failed[partition] != nil:
			w.fail(failed[partition])
		case !known: // another transaction holds the row
		case !done:
			w.fail(store.ErrFenced)
		default:
			w.rest(move.To, clocks[partition])
		}
	}
	return nil
}

// advance moves the partition alone, because calls are to be corrected before.
func (w *worker) advance(ctx context.Context, to store.Position, clock feed.Clock) {
	if err := w.applier.Advance(ctx, to); err != nil {
		w.fail(err)
		return
	}
	w.rest(to, clock)
}

// rest takes note of a clock message behind which the position is.
func (w *worker) rest(at store.Position, clock feed.Clock) {
	w.feed.DropClock(clock)
	w.moved(at)
	w.atRest.Store(true)
}

// atClock returns a position as it is behind clock messages. The clock of a NATS server can leap, and a watermark that is too low is still
// true.
func atClock(p store.Position, c feed.Clock, now time.Time) store.Position {
	p.Sequence, p.LastMessage, p.LastMessageAt = c.Sequence, c.Sequence, c.StoredAt
	p.Clock.RaiseWatermark(fold.Believed(c.Latest, events.TimeOf(now)))
	return p
}
