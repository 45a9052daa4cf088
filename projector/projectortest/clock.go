package projectortest

import (
	"sync/atomic"
	"time"

	"callboard/projector"
)

// Clock is a projector's clock that a test moves. One that is behind finds the stream's clock ahead. Its zero value is the host's clock. It is
// safe for concurrent use.
type Clock struct{ ahead atomic.Int64 }

// Move sets how far the clock is ahead of the host's; less than 0: behind.
func (c *Clock) Move(ahead time.Duration) { c.ahead.Store(int64(ahead)) }

// Now returns the clock's time.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// Option makes a projector use the clock.
func (c *Clock) Option(config *projector.Config) { config.Now = c.Now }
