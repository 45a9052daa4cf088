package audit

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

	"callboard/events/audit"
)

const (
	// grace is how long Run goes on after its end was asked for.
	grace = 5 * time.Second
	// ackWait is how long an acknowledgement may take before the message is sent again, which costs little: the ID is the same.
	ackWait = 2 * time.Second
)

// Run publishes until ctx ends. From then on no place can be reserved, and it publishes what is queued and what places still
// reserved are filled with, for 5 seconds at most. The error says how many entries are lost, if any.
func (j *Queue) Run(ctx context.Context) error {
	extended, cancel := extend(ctx, grace)
	defer cancel()
	for most := audit.MaxEntries; ; {
		entries := j.next(ctx, extended, most)
		if len(entries) == 0 {
			return j.close(context.Cause(extended))
		}
		err := j.publish(extended, entries)
		switch {
		case err == nil:
			j.acknowledge(len(entries))
		case errors.Is(err, nats.ErrMaxPayload) && len(entries) > 1:
			most = len(entries) / 2
		default:
			return j.close(err)
		}
	}
}

// extend is a context that ends a while after ctx does.
func extend(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	extended, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(while, func() { cancel(errors.New("not recorded in time")) })
	})
	return extended, func() {
		stop()
		cancel(nil)
	}
}

// next is what waits, up to most entries; they stay in the queue. It waits for an entry, and returns none once ctx has ended and
// every place is free, or extended has ended.
func (j *Queue) next(ctx, extended context.Context, most int) []audit.Entry {
	for ended := ctx.Done(); ; {
		ending := ctx.Err() != nil
		entries, free := j.look(most, ending)
		if len(entries) > 0 || free && ending {
			return entries
		}
		select {
		case <-j.changed:
		case <-ended:
			ended = nil
		case <-extended.Done():
			return nil
		}
	}
}

// look also ends reserving where the journal is ending, so that what is free then stays free.
func (j *Queue) look(most int, ending bool) (entries []audit.Entry, free bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if ending {
		j.capacity = 0
	}
	return j.waiting[:min(len(j.waiting), most)], j.taken == 0
}

// acknowledge frees the places of the first n entries.
func (j *Queue) acknowledge(n int) {
	j.mu.Lock()
	j.waiting = j.waiting[n:]
	j.taken -= n
	j.mu.Unlock()
	j.metrics.acknowledged.Add(float64(n))
}

// close ends the journal. What is lost, for that reason, is what its places held, or were to hold.
func (j *Queue) close(reason error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.capacity = 0
	if j.taken == 0 {
		return nil
	}
	return fmt.Errorf("%d audit entries are lost: %w", j.taken, reason)
}

// publish sends entries as one message until the stream has acknowledged it or ctx ends. The message is the same each time, under
// the same ID, so the stream stores it once. The error is the last that it met; [nats.ErrMaxPayload] means fewer entries at once.
func (j *Queue) publish(ctx context.Context, entries []audit.Entry) error {
	message, err := audit.Encode(entries)
	if err != nil {
		return err
	}
	attempt := func() error {
		err := j.send(ctx, entries[0].ID, message)
		if errors.Is(err, nats.ErrMaxPayload) && len(entries) > 1 {
			return backoff.Permanent(err)
		}
		return err
	}
	var met error
	err = backoff.RetryNotify(attempt, backoff.WithContext(newRetry(), ctx), func(err error, _ time.Duration) {
		if met == nil || met.Error() != err.Error() {
			j.log.Error().Err(err).Msg("audit entries can't be published")
		}
		met = err
	})
	if err != nil {
		return cmp.Or(met, err)
	}
	if met != nil {
		j.log.Info().Msg("audit entries are published again")
	}
	return nil
}

func (j *Queue) send(ctx context.Context, id uuid.UUID, message []byte) error {
	// Messages sent while there is no connection would pile up in its buffer, one for each attempt.
	if status := j.js.Conn().Status(); status != nats.CONNECTED {
		return fmt.Errorf("NATS: %s", status)
	}
	ctx, cancel := context.WithTimeout(ctx, ackWait)
	defer cancel()
	_, err := j.js.Publish(ctx, audit.Subject, message,
		jetstream.WithMsgID(id.String()), jetstream.WithExpectStream(audit.StreamName), jetstream.WithRetryAttempts(0))
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		return fmt.Errorf("no stream %s answers, and if there is none, 'callboard stream create' makes it: %w", audit.StreamName, err)
	}
	return err
}

// newRetry waits from a twentieth of a second up to two, for ever.
func newRetry() backoff.BackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond),
		backoff.WithMaxInterval(2*time.Second),
		backoff.WithMaxElapsedTime(0))
}
