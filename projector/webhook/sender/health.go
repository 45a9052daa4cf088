package sender

import (
	"slices"
	"time"
)

const (
	// The numbers of failures in a row, and of deliveries that they belong to, that open the breaker. One delivery that
	// always fails says nothing about others.
	failuresToOpen   = 5
	deliveriesToOpen = 3

	firstProbe   = time.Second
	longestProbe = time.Minute
)

// health is what the outcomes of an endpoint's requests say about it: columns of its row, with the breaker.
type health struct {
	concurrency  int
	failures     int // since the last success
	failingSince *time.Time
	failedAt     *time.Time
	succeededAt  *time.Time
	probeAt      *time.Time // of the next probe; nil: the breaker is closed
	slots        *int       // requests at once since it closed; nil: concurrency

	// failed are the deliveries of the failures, at most deliveriesToOpen. No column has them: another sender counts
	// anew.
	failed []int64
}

// succeed closes the breaker. After that one request runs at once, and another one for each success, which doubles them
// from round to round.
func (h *health) succeed(at time.Time) {
	h.failures, h.failingSince, h.failed, h.succeededAt = 0, nil, nil, &at
	switch {
	case h.probeAt != nil:
		h.probeAt, h.slots = nil, new(1)
	case h.slots != nil:
		h.slots = new(*h.slots + 1)
	}
	if h.slots != nil && *h.slots >= h.concurrency {
		h.slots = nil
	}
}

// fail opens the breaker after enough failures. An open one waits twice as long after every probe that failed.
func (h *health) fail(delivery int64, probe bool, at time.Time, retryAfter time.Duration) {
	h.failures++
	if h.failingSince == nil {
		h.failingSince = &at
	}
	if len(h.failed) < deliveriesToOpen && !slices.Contains(h.failed, delivery) {
		h.failed = append(h.failed, delivery)
	}

	// When the next probe is, if the breaker is open.
	failedAt, next := &at, h.probeAt
	switch {
	case next == nil && h.failures >= failuresToOpen && len(h.failed) == deliveriesToOpen:
		// The breaker opens.
		next = new(at.Add(firstProbe))

	case next != nil && probe:
		next = new(at.Add(min(max(2*next.Sub(*h.failedAt), firstProbe), longestProbe)))

	case next != nil:
		failedAt = h.failedAt // the request began before the breaker opened, and changes no interval
	}

	if earliest := at.Add(min(retryAfter, maxRetryAfter)); next != nil && next.Before(earliest) {
		next = &earliest
	}

	h.probeAt, h.failedAt = next, failedAt
}

// Schedule says when a delivery is attempted again after a failure.
type Schedule struct {
	Retries []time.Duration // the intervals after the first, second, … attempt; the last one repeats
	GiveUp  time.Duration   // from the instant at which the first attempt was due to the last attempt
}

const (
	// maxRetryAfter bounds how long an endpoint can postpone the next attempt.
	maxRetryAfter = time.Hour

	// jitterShare is by how much of its length an interval varies, so that deliveries that failed together are not
	// attempted together.
	jitterShare = 0.1
)

// next returns when a delivery is due again whose attempt has failed at an instant, or that it is dead: the attempt was
// the last one, which is due at last. attempts includes it. jitter is random, from -1 to 1.
func (s Schedule) next(
	attempts int, at, last time.Time, retryAfter time.Duration, jitter float64,
) (due time.Time, dead bool) {
	if !at.Before(last) {
		return time.Time{}, true
	}

	interval := s.Retries[min(max(attempts, 1), len(s.Retries))-1]
	due = at.Add(interval + time.Duration(jitterShare*jitter*float64(interval)))
	if due.After(last) {
		due = last
	}

	// The endpoint's Retry-After counts even where it is later than the last attempt.
	if earliest := at.Add(min(retryAfter, maxRetryAfter)); due.Before(earliest) {
		due = earliest
	}

	return due, false
}
