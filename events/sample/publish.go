package sample

import (
	"context"
	"iter"
	"time"

	"callboard/events"
)

// Counts is how much of a company the stream has.
type Counts struct {
	Events int `json:"events"`
	Calls  int `json:"calls"` // calls that began
}

// batchSize is how many events are published together: enough to keep a server busy, few enough to show progress.
const batchSize = 1000

// Publish publishes a company's directory and history, as fast as it can or at so many events a second, and tells after each
// batch how much has been acknowledged. It returns what has been, whether or not there is an error.
func Publish(
	ctx context.Context, publisher *events.Publisher, company *Company, rate float64, tell func(Counts),
) (Counts, error) {
	var done Counts
	pace := newPace(rate)
	batch := make([]events.Event, 0, pace.batch())
	flush := func() error {
		if err := pace.wait(ctx, len(batch)); err != nil {
			return err
		}
		if err := publisher.Publish(ctx, batch...); err != nil {
			return err
		}
		done.add(batch)
		batch = batch[:0]
		tell(done)
		return nil
	}
	for e := range all(company) {
		if batch = append(batch, e); len(batch) == cap(batch) {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	if len(batch) == 0 {
		return done, nil
	}
	return done, flush()
}

// Count is how much there is to publish. It costs about a hundredth of what publishing does.
func Count(company *Company) Counts {
	var whole Counts
	for e := range all(company) {
		whole.add([]events.Event{e})
	}
	return whole
}

func all(company *Company) iter.Seq[events.Event] {
	return func(yield func(events.Event) bool) {
		for _, part := range []iter.Seq[events.Event]{company.Directory(), company.History()} {
			for e := range part {
				if !yield(e) {
					return
				}
			}
		}
	}
}

func (p *Counts) add(batch []events.Event) {
	p.Events += len(batch)
	for _, e := range batch {
		if e.Entity == events.EntityCall && e.Version == 1 {
			p.Calls++
		}
	}
}

// pace spreads events over time.
type pace struct {
	rate  float64 // events a second; 0: no limit
	began time.Time
	sent  int
}

func newPace(rate float64) *pace { return &pace{rate: rate, began: time.Now()} }

// batch is a tenth of a second's events at most, so that a slow pace is an even one.
func (p *pace) batch() int {
	if p.rate == 0 {
		return batchSize
	}
	return min(max(int(p.rate/10), 1), batchSize)
}

// wait waits until it is time for so many more events.
func (p *pace) wait(ctx context.Context, events int) error {
	p.sent += events
	if p.rate == 0 {
		return ctx.Err()
	}
	due := time.NewTimer(time.Until(p.began.Add(time.Duration(float64(p.sent) / p.rate * float64(time.Second)))))
	defer due.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-due.C:
		return nil
	}
}
