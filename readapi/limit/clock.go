package limit

import "time"

// clock knows the server's time: an instant of it, and when that was here. The server stamps permits and forgets them by its own
// clock, so what this machine calls the time has no part in when they come back: neither an offset nor a step of it.
type clock struct {
	server time.Time
	here   time.Time // with the monotonic reading
}

// toHere is a server's instant on this machine's monotonic clock.
func (c clock) toHere(server time.Time) time.Time { return c.here.Add(server.Sub(c.server)) }
