// Package pace holds heavy work back while it makes the live projection late.
package pace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"callboard/projector/status"
)

// Pace is the brake on one piece of work.
type Pace struct {
	Source status.Source
	Limit  time.Duration // how late a partition that a projector has may be; 0: as late as it likes
	Tell   func(string)  // hears why work waits, and an empty string when it goes on

	mu     sync.Mutex // guards what follows; who waits holds it, so that all others wait as well
	looked time.Time
}

const (
	// interval is how long a look is good for.
	interval = time.Second
	// tries is how often a look may fail.
	tries = 5
)

// Wait returns at once as long as no partition is later than the limit, and else once all are under the half of it. A partition that
// no projector has, or that can't go on, doesn't count. It is an error if where the partitions stand can't be read.
func (p *Pace) Wait(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Limit == 0 || time.Since(p.looked) < interval {
		return ctx.Err()
	}
	latest, err := p.look(ctx)
	if err != nil || lag(latest) <= p.Limit {
		return err
	}
	defer p.Tell("")
	for lag(latest) > p.Limit/2 {
		p.Tell(fmt.Sprintf("waiting for the live projection: partition %d is %.1fs late", latest.Partition, latest.LagSeconds))
		if err := pause(ctx); err != nil {
			return err
		}
		if latest, err = p.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// look is the latest of the partitions that count.
func (p *Pace) look(ctx context.Context) (latest status.Partition, err error) {
	retry := backoff.WithContext(backoff.WithMaxRetries(backoff.NewConstantBackOff(interval), tries-1), ctx)
	report, err := backoff.RetryWithData(func() (status.Report, error) { return p.Source.Read(ctx) }, retry)
	if err != nil {
		return latest, errors.Join(ctx.Err(), fmt.Errorf("lag of the live projection: %w", err))
	}
	p.looked = time.Now()
	for _, partition := range report.Partitions {
		if partition.Owner != nil && partition.StopReason == "" && partition.LagSeconds > latest.LagSeconds {
			latest = partition
		}
	}
	return latest, nil
}

func lag(p status.Partition) time.Duration { return time.Duration(p.LagSeconds * float64(time.Second)) }

func pause(ctx context.Context) error {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
