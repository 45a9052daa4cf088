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

// idleActor moves the positions and the watermarks of the partitions for which only clock messages wait: one transaction for all of them,
// or one for each on its node where there are nodes. A node that does not answer delays no others.
type idleActor struct {
	projector     *Projector
	supervisor    *supervisor
	feed          *feed.SharedFeed
	separateMoves sync.WaitGroup // the moves of single partitions that have not ended
}

// run ends with ctx.
func (a *idleActor) run(ctx context.Context) {
	defer a.separateMoves.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.feed.Clocks():
		}
		a.projector.metrics.feedBytes.Set(float64(a.feed.Used()))
		workers := a.supervisor.active()
		if err := a.advanceIdlePartitions(ctx, workers); err != nil && ctx.Err() == nil {
			for _, w := range workers {
				w.fail(err)
			}
		}
	}
}

// advanceIdlePartitions moves the idle ones of the workers' partitions. Its time is limited: a host can disappear without closing the
// connection.
func (a *idleActor) advanceIdlePartitions(ctx context.Context, workers []*worker) error {
	limited, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	nodes, err := a.projector.control.OnNodes(limited)
	if err != nil {
		return err
	}
	if nodes {
		a.advanceOneByOne(ctx, workers)
		return nil
	}
	return a.advanceTogether(limited, workers)
}

// advanceTogether moves the partitions for which only clock messages wait, in one transaction. Workers that begin a batch wait until it has
// ended.
func (a *idleActor) advanceTogether(ctx context.Context, workers []*worker) error {
	var moves []store.Move
	now := a.projector.config.Now()
	held, clocks := make(map[int16]*worker), make(map[int16]feed.Clock)
	for _, w := range workers {
		if w.reconnected() || !w.work.TryLock() {
			continue // the clock messages are still there
		}
		defer w.work.Unlock()
		if move, clock, ok := w.planMove(now); ok {
			moves = append(moves, move)
			held[move.From.Partition], clocks[move.From.Partition] = w, clock
		}
	}
	moved, err := a.projector.control.AdvanceIdle(ctx, moves)
	if err != nil {
		return err
	}
	for _, move := range moves {
		partition := move.From.Partition
		done, known := moved[partition]
		held[partition].handleOutcome(move.To, clocks[partition], done, known)
	}
	return nil
}

// advanceOneByOne moves such partitions in a transaction each, without waiting for them.
func (a *idleActor) advanceOneByOne(ctx context.Context, workers []*worker) {
	now := a.projector.config.Now()
	for _, w := range workers {
		if w.reconnected() || !w.work.TryLock() {
			continue // the clock messages are still there, or the last move has not ended
		}
		a.separateMoves.Go(func() {
			defer w.work.Unlock()
			ctx, cancel := context.WithTimeout(ctx, applyTimeout)
			defer cancel()
			move, clock, ok := w.planMove(now)
			if !ok {
				return
			}
			moved, err := a.projector.store.AdvanceIdle(ctx, []store.Move{move})
			if err != nil {
				w.fail(err)
				return
			}
			done, known := moved[move.From.Partition]
			w.handleOutcome(move.To, clock, done, known)
		})
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

// handleOutcome handles the outcome of a move. The outcome is unknown if another transaction holds the row.
func (w *worker) handleOutcome(to store.Position, clock feed.Clock, done, known bool) {
	switch {
	case !known:
	case !done:
		w.fail(store.ErrFenced)
	default:
		w.recordIdle(to, clock)
	}
}

// recordIdle records that the position has moved past a clock message.
func (w *worker) recordIdle(at store.Position, clock feed.Clock) {
	w.feed.DropClock(clock)
	w.moved(at)
	w.idle.Store(true)
}

// atClock returns a position as it is after clock messages. The clock of a NATS server can jump, and a watermark that is too low is still
// true.
func atClock(p store.Position, c feed.Clock, now time.Time) store.Position {
	p.Sequence, p.LastMessage, p.LastMessageAt = c.Sequence, c.Sequence, c.StoredAt
	p.Clock.RaiseWatermark(fold.PlausibleTime(c.Latest, events.TimeOf(now)))
	return p
}
