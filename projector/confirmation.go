package projector

import "time"

const (
	// A contradiction is confirmed when it was found minConfirmations times, over minConfirmTime. A leader that lost
	// its majority answers for up to 20 s, and lacks the newest messages of the stream.
	minConfirmTime   = 30 * time.Second
	minConfirmations = 3
	// ConfirmInterval is how long after a contradiction to look again. Nothing is applied meanwhile.
	ConfirmInterval = 2 * time.Second
	// maxConfirmGap is the longest time between two looks that find the same: after more, there may have been none
	// between them.
	maxConfirmGap = 3 * MaxInterval
)

// Confirmation is a contradiction between the stream and a position, by the answers of a replicated stream's leader.
type Confirmation struct {
	reason      string
	since, last time.Time
	count       int
}

// Confirms tells whether a contradiction that is found now is confirmed.
func (c *Confirmation) Confirms(reason string, now time.Time) bool {
	if c.reason != reason || now.Sub(c.last) > maxConfirmGap {
		*c = Confirmation{reason: reason, since: now}
	}
	c.count++
	c.last = now
	return c.count >= minConfirmations && now.Sub(c.since) >= minConfirmTime
}
