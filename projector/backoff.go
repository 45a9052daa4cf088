package projector

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// MaxInterval is the longest interval between two attempts.
const MaxInterval = 10 * time.Second

// BackOff yields exponential intervals with jitter, from a tenth of a second up to [MaxInterval]. It is for one
// goroutine.
type BackOff struct {
	exponential *backoff.ExponentialBackOff
}

// NewBackOff starts with the shortest interval.
func NewBackOff() BackOff {
	return BackOff{backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(100*time.Millisecond),
		backoff.WithMaxInterval(MaxInterval),
		backoff.WithMaxElapsedTime(0))}
}

// Next returns the interval after an attempt that ran for some time. An attempt that ran longer than [MaxInterval]
// counts as a success: the intervals start from the shortest again.
func (b BackOff) Next(ran time.Duration) time.Duration {
	if ran > MaxInterval {
		b.exponential.Reset()
	}
	return b.exponential.NextBackOff()
}

// Reset makes the next interval the shortest again. It is for loops whose successful attempts are short.
func (b BackOff) Reset() { b.exponential.Reset() }

// Pause returns after an interval, or as soon as ctx ends.
func Pause(ctx context.Context, interval time.Duration) {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
