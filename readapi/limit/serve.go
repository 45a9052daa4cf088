package limit

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// serveLineage writes a lineage's log until no request waits for it, or ctx ends.
func (l *Limiter) serveLineage(ctx context.Context, k *lineage) {
	conflicts := 0
	for ctx.Err() == nil {
		w := k.next(l.clock.earliest(), l.clock.latest(), writer{l.reader, l.writes.Add(1)}, rand.Uint64())
		if w == nil {
			return
		}
		err := l.storeVersion(ctx, k, w)
		switch {
		case err == nil:
			conflicts = 0
			l.outage.end()
		case errors.Is(err, errConflict):
			conflicts++
			pause(ctx, conflictPause(conflicts))
		default:
			l.fail(k, w, err)
		}
	}
	k.stopServing()
}

// conflictPause returns a random pause, so that readers that write one log do not meet again.
func conflictPause(conflicts int) time.Duration {
	const first, longest = 500 * time.Microsecond, 8 * time.Millisecond
	return rand.N(min(first<<min(conflicts, 8), longest))
}

// storeVersion stores a version and allows its requests. The error is [errConflict] if another version is stored, which the lineage then has
// taken over, and the requests wait again. After every other error the version is not stored.
//
// A write without acknowledgement may still arrive, even after a reply that does not show it. So the same version is written again, on
// the same condition, until one of the writes is acknowledged or another version is stored.
func (l *Limiter) storeVersion(ctx context.Context, k *lineage, w *write) error {
	unanswered := false
	for began := time.Now(); ; {
		// Half of the timeout, so that the log can be read in the other half, and a slow line is no outage.
		sequence, err := l.store.write(k.id.String(), w.log.encode(), w.expected, l.timeout/2)
		l.metrics.countWrite(err)
		if err == nil {
			k.confirm(w, version{w.log, sequence, l.clock.latest()})
			return nil
		}
		unanswered = unanswered || errors.Is(err, errNoReply)
		if !errors.Is(err, errConflict) && !unanswered {
			return err
		}
		stored, err := l.loadUntilAnswered(ctx, k)
		switch {
		case err != nil:
			return err
		case stored.log.wrote(w.writer):
			k.confirm(w, stored)
			return nil
		case stored.sequence != w.expected:
			if !k.replace(w, stored) {
				l.log.Warn().Str("lineage", k.id.String()).Msg("log of permits dated in the future")
			}
			return errConflict
		case time.Since(began) > l.window || !pause(ctx, conflictPause(1)):
			return errNoReply
		}
	}
}

// loadUntilAnswered reads a log until the server answers, because only the log says whether a write that was not acknowledged is stored.
func (l *Limiter) loadUntilAnswered(ctx context.Context, k *lineage) (version, error) {
	for began := time.Now(); ; {
		stored, err := l.store.load(k.id, l.timeout)
		if !retryable(err) {
			return stored, err
		}
		if natsUnavailable(err) {
			l.unavailable(err)
		}
		if time.Since(began) > l.window || !pause(ctx, probeInterval) {
			return version{}, err
		}
	}
}

// fail leaves a write's requests to be decided without NATS.
func (l *Limiter) fail(k *lineage, w *write, err error) {
	if natsUnavailable(err) {
		l.unavailable(err)
	} else {
		l.outage.begin(err)
	}
	k.fail(w, err)
}

// pause waits. It returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
