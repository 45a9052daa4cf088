package projector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"callboard/events"
	"callboard/projector/feed"
)

const (
	// publishTimeout limits the publication of a clock message.
	publishTimeout = 2 * time.Second
	// maxUndelivered is how long a clock message may wait for its delivery until another one is published. In a backlog
	// one is enough; but the stream can have lost it.
	maxUndelivered = 10 * time.Second
	// stallTicks is how long the consumer may withhold a clock message that is stored: 10 s. Consumers can stall
	// without an error.
	stallTicks = 20
)

// clockActor publishes a clock message when none has been delivered for an interval.
type clockActor struct {
	projector  *Projector
	supervisor *supervisor
	feed       *feed.SharedFeed
	stored     uint64    // the last clock message of the stream, as it answered last
	storedAt   time.Time // when it did
	failing    bool      // the last attempt failed
}

// run ends with ctx.
func (a *clockActor) run(ctx context.Context) {
	for ctx.Err() == nil {
		Pause(ctx, a.publishWhenDue(ctx))
	}
}

// publishWhenDue publishes a clock message if one is due, and returns how long to wait for the next time.
func (a *clockActor) publishWhenDue(ctx context.Context) time.Duration {
	if len(a.supervisor.active()) == 0 {
		return a.projector.config.Tick
	}

	// The clock messages of other projectors count, too.
	last, deliveredAt := a.feed.LastClock()
	if wait := a.projector.config.Clock - time.Since(deliveredAt); wait > 0 {
		return wait
	}

	// In a backlog, the clock message that is stored has not been delivered yet.
	if a.stored > a.feed.Passed() && time.Since(a.storedAt) < maxUndelivered {
		return a.projector.config.Tick
	}

	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()

	// What was delivered is newer than an earlier answer of the stream.
	after := a.stored
	if deliveredAt.After(a.storedAt) {
		after = last
	}

	newest, err := events.PublishClock(ctx, a.projector.config.JetStream, a.supervisor.source.Name(), after)
	if errors.Is(err, events.ErrClockElsewhere) {
		err = fmt.Errorf("stream %s: %w", a.supervisor.source.Name(), err)
	}
	if err != nil {
		a.failed(ctx, err)
		return a.projector.config.Clock
	}

	// From now on, the feed fails if its consumer withholds the message.
	a.failing = false
	a.stored, a.storedAt = newest, time.Now()
	a.feed.Expect(newest)

	if newest <= a.feed.Passed() {
		return a.projector.config.Tick // it was delivered, or lies before what this projector reads: the next one follows it
	}
	return a.projector.config.Clock
}

// failed reports that the stream takes no clock message, once until it takes one again.
func (a *clockActor) failed(ctx context.Context, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	if !a.failing {
		a.projector.config.Log.Warn().Err(err).Msg("clock message not stored: watermarks move with events only")
	}
	a.failing = true
}
