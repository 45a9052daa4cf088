package projector

import (
	"time"

	"callboard/projector/ingest"
	"callboard/projector/retry"
)

const (
	// A contradiction stops the partition when it was found at minConfirmations starts, over minConfirmTime. A leader that lost its majority
	// answers for up to 20 s, and lacks the newest messages of the stream.
	minConfirmTime   = 30 * time.Second
	minConfirmations = 3
	// confirmInterval is how long after a contradiction the partition starts again. Nothing is applied meanwhile.
	confirmInterval = 2 * time.Second
	// maxConfirmGap is the longest time between two starts that find the same: after more, the partition may have run between them.
	maxConfirmGap = 3 * retry.MaxInterval
)

// stopConfirmation is a contradiction between the stream and the position of a partition, by the answers of a replicated stream's leader.
type stopConfirmation struct {
	reason      string
	since, last time.Time
	count       int
}

// confirms tells whether the partition is to stop for a reason now.
func (d *stopConfirmation) confirms(stop *ingest.StopError, now time.Time) bool {
	if !stop.MayBeStale() {
		return true
	}
	if d.reason != stop.Reason || now.Sub(d.last) > maxConfirmGap {
		*d = stopConfirmation{reason: stop.Reason, since: now}
	}
	d.count++
	d.last = now
	return d.count >= minConfirmations && now.Sub(d.since) >= minConfirmTime
}
