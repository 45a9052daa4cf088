//go:build !operator

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/projector/status"
)

// pollInterval is the interval at which readiness and positions are read.
const pollInterval = 50 * time.Millisecond

// load publishes the sample and returns when every event of the stream is applied.
func (i *devInstance) load(ctx context.Context) error {
	stream, err := i.publisher.JetStream.Stream(ctx, events.StreamName)
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	created := stream.CachedInfo().Created.Truncate(time.Microsecond)

	pool, err := i.newOperatorPool(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()

	// Publish and wait at once: the projector applies what is published.
	published := make(chan uint64, 1) // the stream's last sequence after the sample
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error {
		if err := i.publishSample(ctx, created); err != nil {
			return fmt.Errorf("sample: %w", err)
		}
		info, err := stream.Info(ctx)
		if err == nil {
			published <- info.State.LastSeq
		}
		return err
	})
	work.Go(func() error { return i.waitForTables(ctx, pool, stream.CachedInfo(), published) })
	return work.Wait()
}

// newOperatorPool returns a pool with the operator's role.
func (i *devInstance) newOperatorPool(ctx context.Context) (*pgxpool.Pool, error) {
	url, session, err := i.database.role("callboard_operator")
	if err != nil {
		return nil, err
	}
	return connection.NewPool(ctx, connection.PostgresConfig{URL: url, Program: "dev", ReadWrite: true, Settings: session})
}

// waitForTables returns when every partition has reached the sequence that published receives.
func (i *devInstance) waitForTables(ctx context.Context, pool *pgxpool.Pool, stream *jetstream.StreamInfo, published <-chan uint64) error {
	var target uint64
	var task *progressTask
	known := false
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case target = <-published:
			known = true
			continue
		case <-tick.C:
		}

		reached, err := status.MinPosition(ctx, pool, stream)
		if errors.Is(err, status.ErrOtherStream) {
			return fmt.Errorf("%w\nStart with --fresh, or empty the tables with 'callboard migrate --renew-projection'", err)
		}
		if err != nil {
			return err
		}

		// The task appears once the end is known, and only where it is not reached.
		if known && task == nil && reached < target {
			task = i.display.Start("applying", "events", int64(target))
		}
		if task != nil {
			task.Set(int64(min(reached, target)))
		}
		if known && reached >= target {
			return nil
		}
	}
}

// waitUntilReady returns when the program with an admin listener can serve.
func (i *devInstance) waitUntilReady(ctx context.Context, listener net.Listener) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if _, err := run.CheckHealth(ctx, "http://"+listener.Addr().String()+"/readyz"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
