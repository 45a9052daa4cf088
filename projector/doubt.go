package projector

import (
	"time"

	"callboard/projector/ingest"
	"callboard/projector/retry"
)

const (
	// A contradiction is believed when it has stood for minDoubt, in minLooks looks. The leader that lost its majority answers for up to 20 s, and
	// knows less than the stream has.
	minDoubt = 30 * time.Second
	minLooks = 3
	// lookInterval is how long after a contradiction the partition starts again. Nothing is applied meanwhile.
	lookInterval = 2 * time.Second
	// maxLookGap is how far two looks can be apart that say the same: the partition may have run between them.
	maxLookGap = 3 * retry.MaxInterval
)

// doubt is a contradiction between the stream and the position of a partition, by the answers of a replicated stream's leader.
type doubt struct {
	reason      string
	since, last time.Time
	looks       int
}

// confirms tells whether a reason to stop is to be believed now.
func (d *doubt) confirms(stop *ingest.StopError, now time.Time) bool {
	if !stop.Contestable() {
		return true
	}
	if d.reason != stop.Reason || now.Sub(d.last) > maxLookGap {
		*d = doubt{reason: stop.Reason, since: now}
	}
	d.looks++
	d.last = now
	return d.looks >= minLooks && now.Sub(d.since) >= minDoubt
}
