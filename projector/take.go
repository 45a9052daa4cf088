package projector

import (
	"context"
	"time"

	"callboard/events"
)

// withBatchSlot works on a batch as soon as fewer batches are in work than there are connections, or does nothing if ctx ends before. The
// messages of partitions that wait are not decoded yet, which takes less memory.
func (w *worker) withBatchSlot(ctx context.Context, work func() error) error {
	if !w.acquireBatchSlot(ctx) {
		return nil
	}
	defer func() { <-w.projector.batches }()
	return work()
}

// acquireBatchSlot returns false if ctx ends before.
func (w *worker) acquireBatchSlot(ctx context.Context) bool {
	w.projector.waiting.Add(1)
	defer w.projector.waiting.Add(-1)
	select {
	case <-ctx.Done():
		return false
	case w.projector.batches <- struct{}{}:
		return true
	}
}

func (w *worker) applyNext(ctx context.Context) error {
	messages := w.feed.Take(w.projector.config.BatchSize)
	if len(messages) == 0 {
		return nil
	}
	return w.applyBatch(ctx, w.read(messages, w.projector.config.Now()))
}

func (w *worker) read(messages []events.StoredMessage, received time.Time) batch {
	return batch{items: w.applier.Reader.Read(messages), received: received}
}

// readAhead begins to read the next batch if it is full and no other partition waits. A smaller batch would hold only the first messages that
// arrive during a commit. The messages after them would wait for another commit.
func (w *worker) readAhead() {
	if w.projector.waiting.Load() > 0 {
		return // others have enough to do meanwhile
	}
	messages := w.feed.TakeFull(w.projector.config.BatchSize)
	if len(messages) == 0 {
		return
	}
	received := w.projector.config.Now()
	ahead := make(chan batch, 1)
	w.ahead = ahead
	go func() { ahead <- w.read(messages, received) }()
}

func (w *worker) awaitAhead() {
	if w.ahead != nil {
		<-w.ahead
	}
}
