package lane

import (
	"math"
	"slices"
	"time"
)

// State is the state of a lane's breaker.
type State int

// The states.
const (
	Closed  State = iota
	Open          // waits for the next probe
	Probing       // one probe is in flight
)

const (
	// The numbers of failures in a row, and of deliveries that they belong to, that open the breaker. One delivery that always fails says
	// nothing about others.
	failuresToOpen   = 5
	deliveriesToOpen = 3

	firstProbe    = time.Second
	longestProbe  = time.Minute
	unlimited     = math.MaxInt
	noProbe       = 0 // no delivery's id
	windowOfClose = 1
)

// breaker bounds the requests of a lane by their outcomes.
type breaker struct {
	open     bool
	failures int     // in a row
	failed   []int64 // deliveries of these failures, at most deliveriesToOpen

	interval time.Duration // while open: between probes
	probeAt  time.Time     // while open: of the next probe
	probe    int64         // in flight

	window int // the requests at once after it closed: one more for each success, which doubles them from round to round
}

// succeed closes the breaker, or widens the window.
func (b *breaker) succeed(concurrency int) {
	b.failures, b.failed = 0, b.failed[:0]
	switch {
	case b.open:
		b.open, b.probe, b.window = false, noProbe, windowOfClose
	case b.window < concurrency:
		b.window++
	}
	if b.window >= concurrency {
		b.window = unlimited
	}
}

// fail opens the breaker after enough failures, and postpones the next probe of an open one.
func (b *breaker) fail(id int64, retryAfter time.Duration, now time.Time) {
	switch {
	case !b.open:
		if b.count(id); b.failures < failuresToOpen || len(b.failed) < deliveriesToOpen {
			return
		}
		b.open, b.interval = true, firstProbe
		b.probeAt = now.Add(b.interval)
	case id == b.probe:
		b.probe = noProbe
		b.interval = min(2*b.interval, longestProbe)
		b.probeAt = now.Add(b.interval)
	}
	if earliest := now.Add(min(retryAfter, maxRetryAfter)); b.probeAt.Before(earliest) {
		b.probeAt = earliest
	}
}

func (b *breaker) count(id int64) {
	b.failures++
	if len(b.failed) < deliveriesToOpen && !slices.Contains(b.failed, id) {
		b.failed = append(b.failed, id)
	}
}

func (b *breaker) state() State {
	switch {
	case !b.open:
		return Closed
	case b.probe == noProbe:
		return Open
	}
	return Probing
}
