package limit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// retryPause is the pause before the limiter asks again after a reply that decides nothing.
const retryPause = 5 * time.Millisecond

// attempt takes one request's permits.
type attempt struct {
	*Limiter
	stream   *tierStream
	buckets  []bucket
	deadline time.Time
}

func (a *attempt) policy() string { return policies(a.buckets, a.window) }

// take asks the server until there is a decision. The error is the reason why there is none at the deadline.
func (a *attempt) take(ctx context.Context) (*Decision, error) {
	ctx, cancel := context.WithDeadline(ctx, a.deadline)
	defer cancel()
	// errFull once the server has replied that: a server that goes away afterwards does not take it back.
	var lastErr error
	for {
		m, err := receive(ctx, a.client.send(ctx, permits(a.buckets)...))
		if err != nil {
			return a.decideAtDeadline(lastErr, err)
		}
		d, err := a.decision(ctx, parseAck(m))
		if d != nil {
			a.outage.end()
			return d, nil
		}
		if errors.Is(err, nats.ErrNoResponders) {
			a.triggerLookup()
		}
		if !errors.Is(lastErr, errFull) {
			lastErr = err
		}
		if !pause(ctx, retryPause) {
			return a.decideAtDeadline(lastErr, lastErr)
		}
	}
}

// decideAtDeadline refuses the request if the server has replied that a bucket is full, even if no quota confirms it: quotas are
// read from any replica, and a replica may lag. Otherwise it returns err.
func (a *attempt) decideAtDeadline(lastErr, err error) (*Decision, error) {
	if !errors.Is(lastErr, errFull) {
		return nil, err
	}
	a.outage.end()
	return refuse(a.policy()), nil
}

// decision turns the server's reply to permits into a decision. An error is worth another attempt.
func (a *attempt) decision(ctx context.Context, err error) (*Decision, error) {
	switch {
	case err == nil:
		replies := a.requestQuotas(ctx)
		return allow(a.policy(), func() []quota {
			ctx, cancel := context.WithDeadline(context.Background(), a.deadline)
			defer cancel()
			return a.receiveQuotas(ctx, replies)
		}), nil
	case errors.Is(err, errFull):
		return a.refuseFull(ctx)
	}
	return nil, fmt.Errorf("permit: %w", err)
}

// refuseFull finds out which buckets are full and blocks them until a permit returns. It returns an error if none of them is full,
// because a permit has returned since or a replica lags.
func (a *attempt) refuseFull(ctx context.Context) (*Decision, error) {
	quotas := a.receiveQuotas(ctx, a.requestQuotas(ctx))
	var full []quota
	for _, q := range quotas {
		if q.remaining == 0 {
			full = append(full, q)
		}
	}
	if len(full) == 0 && len(quotas) == len(a.buckets) {
		return nil, errFull
	}
	a.blocked.add(full, time.Now(), a.window)
	return refuse(a.policy(), quotas...), nil
}

func (a *attempt) requestQuotas(ctx context.Context) []<-chan reply {
	replies := make([]<-chan reply, len(a.buckets))
	for i, b := range a.buckets {
		replies[i] = a.client.send(ctx, a.stream.quotaRequest(b))
	}
	return replies
}

// receiveQuotas returns the quotas that arrive before ctx ends.
func (a *attempt) receiveQuotas(ctx context.Context, replies []<-chan reply) []quota {
	var quotas []quota
	for i, b := range a.buckets {
		m, err := receive(ctx, replies[i])
		if err != nil {
			continue
		}
		if q, ok := a.stream.parseQuota(b, m); ok {
			quotas = append(quotas, q)
		}
	}
	return quotas
}

// permits returns the messages of one permit from each bucket.
func permits(buckets []bucket) []*nats.Msg {
	var messages []*nats.Msg
	for _, b := range buckets {
		for range b.weight {
			messages = append(messages, nats.NewMsg(b.subject))
		}
	}
	return messages
}

// errFull means that a bucket has no permit left.
var errFull = errors.New("the bucket is full")

// storeFailed is the server's error code for a message that exceeds a limit of the stream.
const storeFailed jetstream.ErrorCode = 10077

// parseAck reads the stream's reply to permits. The error is [errFull], [nats.ErrNoResponders] if there is no stream, or the
// server's reason for not storing them.
func parseAck(m *nats.Msg) error {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return nats.ErrNoResponders
	}
	var ack struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &ack); err != nil {
		return fmt.Errorf("acknowledgement: %w", err)
	}
	switch {
	case ack.Error == nil:
		return nil
	case ack.Error.ErrorCode == storeFailed:
		return errFull
	}
	return ack.Error
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
