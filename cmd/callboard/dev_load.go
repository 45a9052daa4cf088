//go:build !operator

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
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
	pool, err := i.newOperatorPool(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()

	// The projector applies what is published meanwhile.
	if err := i.publishSample(ctx, stream.CachedInfo().Created.Truncate(time.Microsecond)); err != nil {
		return fmt.Errorf("sample: %w", err)
	}

	// The wait ends at the last message that the stream has now. Later messages are not part of it.
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	target := info.State.LastSeq

	return poll(ctx, func() (done bool, err error) {
		reached, err := status.MinPosition(ctx, pool, info)
		if errors.Is(err, status.ErrOtherStream) {
			return false, fmt.Errorf("%w\nStart with --fresh, "+
				"or empty the tables with 'callboard migrate --renew-projection'", err)
		}
		i.display.Show("applying", "events", int64(min(reached, target)), int64(target))
		return reached >= target, err
	})
}

// newOperatorPool returns a pool with the operator's role.
func (i *devInstance) newOperatorPool(ctx context.Context) (*pgxpool.Pool, error) {
	url, err := setting.NewPostgresURL(i.database.roleURL("callboard_operator"))
	if err != nil {
		return nil, err
	}
	return connection.NewPool(ctx, connection.PostgresConfig{URL: url, Program: "dev", ReadWrite: true})
}

// waitUntilReady returns when the program with an admin listener can serve.
func waitUntilReady(ctx context.Context, adminURL string) error {
	return poll(ctx, func() (bool, error) {
		_, err := run.CheckHealth(ctx, adminURL+"/readyz")
		return err == nil, nil
	})
}

// poll calls check at intervals until it is done or fails, or ctx ends.
func poll(ctx context.Context, check func() (done bool, err error)) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if done, err := check(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
