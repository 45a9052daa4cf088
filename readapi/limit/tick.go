package limit

import (
	"sync/atomic"
	"time"
)

// tick is an instant by the server's clock, in tenths of a second since 1970.
type tick int64

const tickLength = 100 * time.Millisecond

func tickAt(t time.Time) tick { return tick(t.UnixMilli() / tickLength.Milliseconds()) }

func ticks(d time.Duration) tick { return tick(d / tickLength) }

func (t tick) duration() time.Duration { return time.Duration(t) * tickLength }

// clock estimates the server's time. It measures intervals with the local clock and never compares the two clocks, so neither an
// offset nor a step of the local clock changes the estimate.
type clock struct {
	local  func() time.Time
	sample atomic.Pointer[sample]
}

// sample is a reply that contains the server's time, between two readings of the local clock.
type sample struct {
	asked, answered time.Time // local, with the monotonic reading
	server          time.Time
}

// driftShift bounds how much the two clocks' speeds differ: by 1/4096, or 0.02 %.
const driftShift = 12

// earliest returns an instant that the server's clock has reached at a local instant.
func (s *sample) earliest(local time.Time) time.Time {
	passed := local.Sub(s.answered)
	return s.server.Add(passed - passed>>driftShift)
}

// latest returns an instant that the server's clock has not passed at a local instant.
func (s *sample) latest(local time.Time) time.Time {
	passed := local.Sub(s.asked)
	return s.server.Add(passed + passed>>driftShift)
}

// add takes a sample unless the former one is still more exact: a slow reply says less. A sample that contradicts the former one
// replaces it, because the server's clock has been set.
func (c *clock) add(s *sample) {
	now := c.local()
	if former := c.sample.Load(); former != nil {
		earliest := former.earliest(now)
		if earliest.After(s.earliest(now)) && earliest.Before(s.latest(now)) {
			return
		}
	}
	c.sample.Store(s)
}

// earliest returns a tick that has begun. There must be a sample.
func (c *clock) earliest() tick { return tickAt(c.sample.Load().earliest(c.local())) }

// latest returns a tick that has not ended before now. There must be a sample.
func (c *clock) latest() tick { return tickAt(c.sample.Load().latest(c.local())) }

// known reports whether there is a sample.
func (c *clock) known() bool { return c.sample.Load() != nil }
