package projector

import (
	"context"
	"sync"
	"time"

	"callboard/events"
	"callboard/projector/feed"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// moveIdle moves the positions and the watermarks of the partitions for which only clock messages wait, until ctx ends.
// One transaction moves all partitions. Where there are nodes, each partition has its own: a node that does not answer
// delays no others.
func (s *supervisor) moveIdle(ctx context.Context) {
	var moves sync.WaitGroup
	defer moves.Wait()

	for {
		select {
		case <-ctx.Done():
			return
		case <-s.feed.Clocks():
		}

		s.projector.metrics.feedBytes.Set(float64(s.feed.Used()))
		workers := s.active()

		var nodes bool
		err := withApplyTimeout(ctx, func(ctx context.Context) (err error) {
			nodes, err = s.projector.control.OnNodes(ctx)
			return err
		})
		switch {
		case err != nil:
			failAll(ctx, workers, err)

		// A node that does not answer delays no partition of another node.
		case nodes:
			for _, w := range workers {
				moves.Go(func() { s.advance(ctx, s.projector.store, w) })
			}
		default:
			s.advance(ctx, s.projector.control, workers...)
		}
	}
}

// advance moves the partitions for which only clock messages wait, in one transaction. Workers that begin a batch wait
// until it has ended.
func (s *supervisor) advance(ctx context.Context, db *store.Store, workers ...*worker) {
	var moves []store.Move
	now := s.projector.config.Now()
	held, clocks := make(map[int16]*worker), make(map[int16]feed.Clock)

	// The workers stay locked until the transaction has ended.
	for _, w := range workers {
		if w.reconnected() {
			w.fail(feed.ErrReconnected)
			continue
		}

		if !w.work.TryLock() {
			continue // the last move has not ended: the clock messages are still there
		}
		defer w.work.Unlock()

		if move, clock, ok := w.planMove(now); ok {
			moves = append(moves, move)
			held[move.From.Partition], clocks[move.From.Partition] = w, clock
		}
	}

	var moved map[int16]bool
	err := withApplyTimeout(ctx, func(ctx context.Context) (err error) {
		moved, err = db.AdvanceIdle(ctx, moves)
		return err
	})
	if err != nil {
		failAll(ctx, workers, err)
		return
	}

	for _, move := range moves {
		// The outcome is unknown if another transaction holds the row.
		w, clock := held[move.From.Partition], clocks[move.From.Partition]

		switch done, known := moved[move.From.Partition]; {
		case !known:
		case !done:
			w.fail(store.ErrFenced)
		default:
			w.feed.DropClock(clock)
			w.moved(move.To)
			w.idle.Store(true)
		}
	}
}

// failAll ends workers, unless the end of ctx is why a statement failed.
func failAll(ctx context.Context, workers []*worker, err error) {
	if ctx.Err() != nil {
		return
	}
	for _, w := range workers {
		w.fail(err)
	}
}

// planMove returns how the position moves, if only clock messages wait.
func (w *worker) planMove(now time.Time) (move store.Move, clock feed.Clock, ok bool) {
	clock, ok = w.feed.Clock()
	if !ok || w.closed {
		return move, clock, false
	}
	from := w.applier.Position
	to := atClock(from, clock, now)
	w.projector.metrics.storedAhead(w.partition, clock.StoredAt.Std(), now)
	return store.Move{From: from, To: to}, clock, true
}

// atClock returns a position as it is after clock messages. The clock of a NATS server can jump, and a watermark that
// is too low is still true.
func atClock(p store.Position, c feed.Clock, now time.Time) store.Position {
	p.Sequence, p.LastMessage, p.LastMessageAt = c.Sequence, c.Sequence, c.StoredAt
	p.Clock.RaiseWatermark(fold.PlausibleTime(c.Latest, events.TimeOf(now)))
	return p
}
