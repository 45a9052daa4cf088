package projector

import (
	"context"
	"time"

	"callboard/events"
	"callboard/projector/feed"
	"callboard/projector/store"
)

// maxAhead is how far a clock message may have been stored ahead of this host's clock. The clock of a NATS server can leap, and a watermark is
// never taken back: all later events would get its time. A watermark that is too low is still true.
const maxAhead = time.Minute

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
	held, clocks := make(map[int16]*worker), make(map[int16]feed.Clock)
	for _, w := range workers {
		if w.reconnected() || !w.work.TryLock() {
			continue // the clock messages are still there
		}
		defer w.work.Unlock()
		if clock, ok := w.feed.Clock(); ok && !w.closed {
			from := w.applier.Position
			moves = append(moves, store.Move{From: from, To: atClock(from, clock)})
			held[from.Partition], clocks[from.Partition] = w, clock
		}
	}
	moved, err := a.control.AdvanceIdle(ctx, moves)
	if err != nil {
		return err
	}
	for _, move := range moves {
		partition := move.From.Partition
		w := held[partition]
		switch done, known := moved[partition]; {
		case !known: // another transaction holds the row
		case !done:
			w.fail(store.ErrFenced)
		default:
			w.feed.DropClock(clocks[partition])
			w.moved(move.To)
			w.atRest.Store(true)
		}
	}
	return nil
}

// atClock returns a position as it is behind clock messages.
func atClock(p store.Position, c feed.Clock) store.Position {
	p.Sequence, p.LastMessage, p.LastMessageAt = c.Sequence, c.Sequence, c.StoredAt
	p.Clock.RaiseWatermark(min(c.Latest, events.TimeOf(time.Now().Add(maxAhead))))
	return p
}
