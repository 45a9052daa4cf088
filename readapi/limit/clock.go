package limit

import (
	"sync/atomic"
	"time"
)

// instant is a time by the server's clock, in milliseconds since 1970.
type instant int64

const (
	second instant = 1000
	window         = 60 * second
)

// moment is what a reader knows of the server's time: it is not before earliest, and not after latest. The difference
// is three seconds at most.
type moment struct{ earliest, latest instant }

// clock estimates the server's time. It measures intervals with the local clock and never compares the two clocks, so
// neither an offset nor a step of the local clock changes the estimate.
type clock struct {
	local  func() time.Time
	tick   time.Duration          // a millisecond; in tests, what the counters take for one
	sample atomic.Pointer[sample] // the last one
}

// sample is a reply that contains the server's time, between two readings of the local clock.
type sample struct {
	asked, answered time.Time // local, with the monotonic reading
	server          time.Time
}

// driftShift bounds how much the two clocks' speeds differ: by 1/4096, or 0.02 %.
const driftShift = 12

// now returns the present moment by the server's clock, zero without a sample.
func (c *clock) now() moment {
	s := c.sample.Load()
	if s == nil {
		return moment{}
	}
	local := c.local()
	least, most := local.Sub(s.answered), local.Sub(s.asked)
	return moment{
		earliest: c.instant(s.server.Add(least - least>>driftShift)),
		latest:   c.instant(s.server.Add(most + most>>driftShift)),
	}
}

// localNow returns the present moment by the local clock.
func (c *clock) localNow() moment {
	now := c.instant(c.local())
	return moment{now, now}
}

func (c *clock) instant(t time.Time) instant { return instant(t.UnixNano() / int64(c.tick)) }
