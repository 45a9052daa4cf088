package rebuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"

	"callboard/projector"
	"callboard/projector/store"
	"callboard/schema"
)

const (
	// maxWritePause is how long a write pause may wait for the loader.
	maxWritePause = 10 * time.Second
	// maxPauseTries is how often a write pause is tried.
	maxPauseTries = 20
)

// pauseWrites makes commits of the live generation wait by a lock, fills the partitions up to its positions, and does
// work, all in one transaction. It returns the length of the pause. Where a projector does not finish its commit in
// time, or the loader does not catch up, commits go on for an increasing interval before the next attempt.
func (l *loader) pauseWrites(
	ctx context.Context, lock func(context.Context, pgx.Tx) error, work func(pgx.Tx) error,
) (pause time.Duration, err error) {
	err = withPauseRetries(ctx, l.config, func() error {
		// Most of the messages, and what the stream must be asked, come before the pause.
		live, err := livePositions(ctx, l.config)
		if err != nil {
			return err
		}
		if err := l.reach(ctx, live); err != nil {
			return err
		}

		if err := l.source.verifyPositions(ctx, l.positions()); err != nil {
			return err
		}

		// The throttle would wait for the live projection, whose writes wait for this pause.
		l.inPause = true
		defer func() { l.inPause = false }()
		return beginDurably(ctx, l.config.Database, func(tx pgx.Tx) error {
			if err := lock(ctx, tx); err != nil {
				return err
			}

			start := time.Now()
			defer func() { pause = time.Since(start) }()

			// The live positions no longer move, so both generations reach the same positions.
			live, err := store.Positions(ctx, tx.Conn(), liveSchema)
			if err != nil {
				return err
			}

			limited, cancel := context.WithTimeout(ctx, maxWritePause)
			defer cancel()
			if err := l.reach(limited, live); err != nil {
				return err
			}

			return work(tx)
		})
	})
	return pause, err
}

// withPauseRetries tries a write pause until it succeeds.
func withPauseRetries(ctx context.Context, c Config, try func() error) (err error) {
	backOff := projector.NewBackOff()
	for range maxPauseTries {
		err = try()

		// Both reasons can be gone a moment later. Any other error is final.
		commitHangs := schema.HasCode(err, pgerrcode.LockNotAvailable)
		tooLong := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
		if !commitHangs && !tooLong {
			return err
		}

		// Projectors commit during the interval.
		c.Throttled("waiting for a write pause: a projector does not finish its commit, " +
			"or the new generation does not catch up")
		projector.Pause(ctx, backOff.Next(0))
		c.Throttled("")
	}
	return fmt.Errorf("write pause: a projector does not finish its commit, or the new generation does not catch up: %w",
		err)
}

// beginWritePause makes commits of the live generation wait until the transaction ends, and no reads: they write its
// positions, which it locks. A commit that has begun is waited for, but not for long, in case its projector hangs.
// Should this process be frozen, the pause ends with its session.
func beginWritePause(ctx context.Context, tx pgx.Tx) error {
	if err := schema.SetLocal(ctx, tx, "lock_timeout = '2s'"); err != nil {
		return fmt.Errorf("begin the write pause: %w", err)
	}
	if _, err := tx.Exec(ctx, "select control.pause_writes()"); err != nil {
		return fmt.Errorf("begin the write pause: %w", err)
	}
	if err := schema.SetLocal(ctx, tx, "lock_timeout = 0", "idle_in_transaction_session_timeout = '15s'"); err != nil {
		return fmt.Errorf("begin the write pause: %w", err)
	}
	return nil
}
