package auditqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

const (
	// gatherTime is how long an entry waits for others that travel in the same message, unless the message is full
	// before.
	gatherTime = 100 * time.Millisecond
	// ackWait is how long Run waits for an acknowledgement before it publishes the message again. The stream drops the
	// duplicate by its ID.
	ackWait = 2 * time.Second
)

// Run publishes entries until ctx ends. Then Reserve fails, and Run publishes the pending entries, the counts, and the
// entries of places that are still reserved, for the flush timeout at most. The error says how many entries are lost.
func (q *Queue) Run(ctx context.Context) error {
	flush, cancel := q.withFlushTime(ctx)
	defer cancel()
	tick := time.NewTicker(gatherTime)
	defer tick.Stop()

	for limit := events.MaxAuditEntries; ; {
		entries := q.next(ctx, flush, tick.C, limit)
		if len(entries) == 0 {
			return q.close(context.Cause(flush))
		}

		err := q.publish(flush, entries)
		switch {
		case err == nil:
			q.acknowledge(len(entries))

		// The server refuses a message of this size, so the entries travel in smaller messages.
		case errors.Is(err, nats.ErrMaxPayload) && len(entries) > 1:
			limit = len(entries) / 2

		default:
			return q.close(err)
		}
	}
}

// withFlushTime returns a context that ends the flush timeout after ctx.
func (q *Queue) withFlushTime(ctx context.Context) (context.Context, context.CancelFunc) {
	flush, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(q.flush, func() { cancel(errors.New("not recorded in time")) })
	})
	return flush, func() {
		stop()
		cancel(nil)
	}
}

// next waits until entries fill a message or a tick comes, and returns up to limit of them, which stay in the queue. It
// returns none if ctx has ended and no place is taken, or if flush has ended.
func (q *Queue) next(ctx, flush context.Context, tick <-chan time.Time, limit int) []events.AuditEntry {
	done := ctx.Done()
	for ticked := false; ; {
		stopping := ctx.Err() != nil
		entries, idle := q.peek(limit, stopping)
		if len(entries) == limit || len(entries) > 0 && (ticked || stopping) || idle && stopping {
			return entries
		}

		ticked = false
		select {
		case <-q.full:
		case <-tick:
			ticked = true
		case <-done:
			// A closed channel would end every further wait at once.
			done = nil
		case <-flush.Done():
			return nil
		}
	}
}

// peek returns up to limit pending entries, and whether no place is taken. If Run is stopping, it also ends reserving
// and counting, so that no place is taken afterwards.
func (q *Queue) peek(limit int, stopping bool) (entries []events.AuditEntry, idle bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if stopping {
		q.stop()
	} else {
		q.refusals.flushDue(time.Now(), q.appendRefused)
	}

	entries = make([]events.AuditEntry, min(len(q.pending), limit))
	for i := range entries {
		entries[i] = q.pending[i].AuditEntry
	}
	return entries, q.places.taken == 0
}

// stop ends reserving, and makes all counts pending entries.
func (q *Queue) stop() {
	q.places.capacity = 0
	q.refusals.flushAll(func(lineage uuid.UUID, e events.AuditEntry) bool {
		q.places.add(lineage, true, 1)
		q.append(pending{e, lineage, true})
		return true
	})
}

// acknowledge removes the first n entries and frees their places.
func (q *Queue) acknowledge(n int) {
	q.mu.Lock()
	for _, p := range q.pending[:n] {
		q.places.add(p.lineage, p.refused, -1)
	}
	q.pending = q.pending[n:]
	q.mu.Unlock()
	q.metrics.acknowledged.Add(float64(n))
}

// close ends reserving. It returns an error if a place is taken, because its entry is lost.
func (q *Queue) close(reason error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stop(); q.places.taken == 0 {
		return nil
	}
	return fmt.Errorf("%d audit entries lost: %w", q.places.taken, reason)
}

// publish publishes entries as one message until the stream has acknowledged it or ctx ends. Each attempt publishes the
// same message under the same ID, so the stream stores it once. The error is the last failure; [nats.ErrMaxPayload]
// means that the message needs fewer entries.
func (q *Queue) publish(ctx context.Context, entries []events.AuditEntry) error {
	message, err := events.EncodeAudit(entries)
	if err != nil {
		return err
	}

	// A message that is too large for the server is split by the caller, not sent again.
	attempt := func() error {
		err := q.send(ctx, entries[0].ID, message)
		if errors.Is(err, nats.ErrMaxPayload) && len(entries) > 1 {
			return backoff.Permanent(err)
		}
		return err
	}

	// Each failure is logged that differs from the one before it.
	var lastErr error
	err = backoff.RetryNotify(attempt, backoff.WithContext(newBackOff(), ctx), func(err error, _ time.Duration) {
		if lastErr == nil || lastErr.Error() != err.Error() {
			q.log.Error().Err(err).Msg("publishing audit entries failed")
		}
		lastErr = err
	})

	if errors.Is(err, nats.ErrMaxPayload) {
		return err // also after other failures
	}
	if err != nil {
		return cmp.Or(lastErr, err)
	}
	if lastErr != nil {
		q.log.Info().Msg("publishing audit entries resumed")
	}
	return nil
}

func (q *Queue) send(ctx context.Context, id uuid.UUID, message []byte) error {
	// Without a connection, each attempt would leave a copy of the message in the connection's buffer.
	if status := q.js.Conn().Status(); status != nats.CONNECTED {
		return fmt.Errorf("NATS: %s", status)
	}

	ctx, cancel := context.WithTimeout(ctx, ackWait)
	defer cancel()

	// The caller sends the message again, so the client does not.
	_, err := q.js.Publish(ctx, events.AuditSubject, message,
		jetstream.WithMsgID(id.String()), jetstream.WithExpectStream(events.AuditStream), jetstream.WithRetryAttempts(0))
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		return fmt.Errorf("stream %s does not reply: %w: if it does not exist, run 'callboard stream create'",
			events.AuditStream, err)
	}
	return err
}

// newBackOff waits from 50 ms up to 2 s, without limit.
func newBackOff() backoff.BackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond),
		backoff.WithMaxInterval(2*time.Second),
		backoff.WithMaxElapsedTime(0))
}
