package projector

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/rs/zerolog"

	"callboard/projector/store"
)

// crew runs the partitions that a session owns.
type crew struct {
	projector *Projector
	ended     chan ending
	running   sync.WaitGroup
	members   map[int]*membership
}

// membership is one partition's place in the crew.
type membership struct {
	running bool
	began   time.Time
	rest    time.Time // not to be started before
	retry   *backoff.ExponentialBackOff
}

// ending is a partition that stopped, and why.
type ending struct {
	partition int
	err       error
}

func newCrew(p *Projector, share []int) *crew {
	c := &crew{projector: p, ended: make(chan ending, len(share)), members: make(map[int]*membership)}
	for _, partition := range share {
		c.members[partition] = &membership{retry: newRetry()}
	}
	return c
}

// idle are the partitions that could be started now.
func (c *crew) idle() []int {
	var idle []int
	for partition, m := range c.members {
		if !m.running && time.Now().After(m.rest) {
			idle = append(idle, partition)
		}
	}
	return idle
}

func (c *crew) start(ctx context.Context, partitions []int) {
	for _, partition := range partitions {
		m := c.members[partition]
		m.running, m.began = true, time.Now()
		c.projector.metrics.own(partition)
		c.running.Go(func() {
			err := runPartition(ctx, c.projector, partition)
			c.ended <- ending{partition, err}
		})
	}
}

// end notes that a partition stopped, and when it may start again.
func (c *crew) end(e ending) {
	m := c.members[e.partition]
	m.running = false
	metrics, log := c.projector.metrics, c.projector.config.Log
	metrics.release(e.partition)
	if time.Since(m.began) > maxRetry {
		m.retry.Reset()
	}
	wait := m.retry.NextBackOff()
	m.rest = time.Now().Add(wait)
	var stopped *StoppedError
	if errors.As(e.err, &stopped) {
		metrics.stopped.WithLabelValues(label(e.partition), stopped.Reason).Set(1)
		m.rest = time.Now().Add(maxRetry)
	}
	level := zerolog.ErrorLevel
	if errors.Is(e.err, store.ErrFenced) || errors.Is(e.err, errReconnected) {
		level = zerolog.InfoLevel // it comes of what others did on purpose, or is over
	}
	log.WithLevel(level).Err(e.err).Int("partition", e.partition).Time("not_before", m.rest).Msg("partition stopped")
}

// wait returns once every partition has ended.
func (c *crew) wait() {
	c.running.Wait()
	for partition := range c.members {
		c.projector.metrics.release(partition)
	}
}
