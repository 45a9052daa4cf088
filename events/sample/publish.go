package sample

import (
	"context"
	"errors"
	"time"

	"callboard/events"
)

// Counts is a number of events, and of the calls that begin with them.
type Counts struct {
	Events int `json:"events"`
	Calls  int `json:"calls"`
}

// maxBatch is how many events are published together: enough to keep a server busy, and few enough to show progress.
const maxBatch = 1000

// Publish publishes a company's directory and history at a rate of events per second; a rate of 0 is no limit. It
// calls onProgress after each batch with what is acknowledged so far. It returns what is acknowledged, even with an
// error. The events of a company that is published again have the same IDs, so the stream has them already.
func Publish(
	ctx context.Context, publisher *events.Publisher, company *Company, rate float64, onProgress func(Counts),
) (done Counts, err error) {
	// A batch is a tenth of a second.
	size, start := maxBatch, time.Now()
	if rate > 0 {
		size = min(max(int(rate/10), 1), maxBatch)
	}

	batch := make([]events.Event, 0, size)

	publish := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}

		// A batch is published when its last event is due.
		if rate > 0 {
			due := time.Duration(float64(done.Events+len(batch)) / rate * float64(time.Second))
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Until(start.Add(due))):
			}
		}

		// A duplicate is no failure: the company was published before.
		if err := publisher.Publish(ctx, batch...); err != nil && !errors.Is(err, events.ErrDuplicate) {
			return err
		}

		done.Events += len(batch)
		for _, e := range batch {
			if e.Entity == events.EntityCall && e.Version == 1 {
				done.Calls++
			}
		}
		onProgress(done)
		batch = batch[:0]
		return nil
	}

	for e := range company.Events() {
		if batch = append(batch, e); len(batch) == size {
			if err := publish(); err != nil {
				return done, err
			}
		}
	}
	return done, publish()
}
