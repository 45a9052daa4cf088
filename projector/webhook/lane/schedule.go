package lane

import "time"

// Schedule says when a delivery is attempted again after a failure.
type Schedule struct {
	Retries []time.Duration // the intervals after the first, second, … attempt; the last one repeats
	GiveUp  time.Duration   // from the instant at which the first attempt was due to the last attempt
}

// maxRetryAfter bounds how long an endpoint can postpone the next attempt.
const maxRetryAfter = time.Hour

// jitterShare is by how much of its length an interval varies, so that deliveries that failed together are not attempted together.
const jitterShare = 0.1

// DefaultSchedule returns the schedule of a sender without settings.
func DefaultSchedule() Schedule {
	return Schedule{
		Retries: []time.Duration{
			5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
			time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour,
		},
		GiveUp: 72 * time.Hour,
	}
}

// Expires returns when the last attempt is due of a delivery whose first attempt was due at some instant.
func (s Schedule) Expires(firstDue time.Time) time.Time { return firstDue.Add(s.GiveUp) }

// Failure is an attempt that failed.
type Failure struct {
	Attempts   int       // including this one
	At         time.Time // when it ended
	Expires    time.Time // as [Schedule.Expires] returned it
	RetryAfter time.Duration
	Jitter     float64 // random, from -1 to 1
}

// Next returns when the delivery is due again, or that it is dead, since this was its last attempt.
func (s Schedule) Next(f Failure) (due time.Time, dead bool) {
	if !f.At.Before(f.Expires) {
		return time.Time{}, true
	}
	interval := s.Retries[min(max(f.Attempts, 1), len(s.Retries))-1]
	due = f.At.Add(interval + time.Duration(jitterShare*f.Jitter*float64(interval)))
	if due.After(f.Expires) {
		due = f.Expires
	}
	if earliest := f.At.Add(min(f.RetryAfter, maxRetryAfter)); due.Before(earliest) {
		due = earliest
	}
	return due, false
}
