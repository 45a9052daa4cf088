package sample

import (
	"context"
	"errors"
	"iter"
	"time"

	"callboard/events"
)

// Counts is a number of events, and of the calls that begin with them.
type Counts struct {
	Events int `json:"events"`
	Calls  int `json:"calls"`
}

func (c *Counts) add(batch ...events.Event) {
	c.Events += len(batch)
	for _, e := range batch {
		if e.Entity == events.EntityCall && e.Version == 1 {
			c.Calls++
		}
	}
}

// Count counts what Publish publishes. It needs about a hundredth of the time.
func Count(company *Company) Counts {
	var total Counts
	for e := range company.Events() {
		total.add(e)
	}
	return total
}

// maxBatchSize is the largest number of events that are published together: enough to keep a server busy, and few enough to
// show progress.
const maxBatchSize = 1000

// Publish publishes a company's directory and history at a rate of events per second; a rate of 0 is no limit. It calls
// onProgress after each batch with what is acknowledged so far. It returns what is acknowledged, even with an error. The events of a company
// that is published again have the same IDs, so the stream has them already.
func Publish(
	ctx context.Context, publisher *events.Publisher, company *Company, rate float64, onProgress func(Counts),
) (Counts, error) {
	var done Counts
	limiter := rateLimiter{rate: rate, start: time.Now()}
	for batch := range company.batches(limiter.batchSize()) {
		if err := limiter.wait(ctx, len(batch)); err != nil {
			return done, err
		}
		if err := publisher.Publish(ctx, batch...); err != nil && !errors.Is(err, events.ErrDuplicate) {
			return done, err
		}
		done.add(batch...)
		onProgress(done)
	}
	return done, nil
}

// Events yields Directory, then History.
func (c *Company) Events() iter.Seq[events.Event] {
	return func(yield func(events.Event) bool) {
		for _, part := range []iter.Seq[events.Event]{c.Directory(), c.History()} {
			for e := range part {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// batches yields all events. It reuses the memory of a batch for the next one.
func (c *Company) batches(size int) iter.Seq[[]events.Event] {
	return func(yield func([]events.Event) bool) {
		batch := make([]events.Event, 0, size)
		for e := range c.Events() {
			if batch = append(batch, e); len(batch) == size {
				if !yield(batch) {
					return
				}
				batch = batch[:0]
			}
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}

// rateLimiter distributes events evenly over time.
type rateLimiter struct {
	rate  float64 // events per second; 0 for no limit
	start time.Time
	sent  int
}

// batchSize is the number of events of a tenth of a second.
func (l *rateLimiter) batchSize() int {
	if l.rate == 0 {
		return maxBatchSize
	}
	return min(max(int(l.rate/10), 1), maxBatchSize)
}

// wait waits until n more events are due.
func (l *rateLimiter) wait(ctx context.Context, n int) error {
	l.sent += n
	if l.rate == 0 {
		return ctx.Err()
	}
	due := l.start.Add(time.Duration(float64(l.sent) / l.rate * float64(time.Second)))
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
