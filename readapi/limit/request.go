package limit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// retryPause lies between a question that the server could not answer yet and the next.
const retryPause = 5 * time.Millisecond

// request is a request for a permit on its way.
type request struct {
	*Limiter
	ledger   *ledger
	buckets  []bucket
	deadline time.Time
}

func (r *request) policy() string { return policies(r.buckets, r.window) }

// take asks until there is a decision. The error is why there was none before the deadline.
func (r *request) take(ctx context.Context) (*Decision, error) {
	ctx, cancel := context.WithDeadline(ctx, r.deadline)
	defer cancel()
	var word error // the server's last; full, once it has said so: away since then, it doesn't take that back
	for {
		reply, err := receive(ctx, r.wire.send(ctx, permits(r.buckets)...))
		if err != nil {
			return r.conclude(word, err)
		}
		d, err := r.decision(ctx, stored(reply))
		if d != nil {
			r.trouble.end()
			return d, nil
		}
		if errors.Is(err, nats.ErrNoResponders) {
			r.nudge()
		}
		if !errors.Is(word, errFull) {
			word = err
		}
		if !pause(ctx, retryPause) {
			return r.conclude(word, word)
		}
	}
}

// conclude is the decision when time is over. A server that said full is no outage, though the standings have not borne it out:
// they are read from any replica, and one may lag.
func (r *request) conclude(word, err error) (*Decision, error) {
	if !errors.Is(word, errFull) {
		return nil, err
	}
	r.trouble.end()
	return refuse(r.policy()), nil
}

// decision is what follows from the server's word on the permits. An error is worth another try.
func (r *request) decision(ctx context.Context, err error) (*Decision, error) {
	switch {
	case err == nil:
		enquiries := r.enquire(ctx)
		return allow(r.policy(), func() []standing {
			ctx, cancel := context.WithDeadline(context.Background(), r.deadline)
			defer cancel()
			return r.standings(ctx, enquiries)
		}), nil
	case errors.Is(err, errFull):
		return r.refuse(ctx)
	}
	return nil, fmt.Errorf("permit: %w", err)
}

// refuse learns which buckets are full and closes them until they open. The error is that none is, any more or yet.
func (r *request) refuse(ctx context.Context) (*Decision, error) {
	standings := r.standings(ctx, r.enquire(ctx))
	var full []standing
	for _, s := range standings {
		if s.remaining == 0 {
			full = append(full, s)
		}
	}
	if len(full) == 0 && len(standings) == len(r.buckets) {
		return nil, errFull
	}
	r.gates.close(full, time.Now(), r.window)
	return refuse(r.policy(), standings...), nil
}

// enquire asks for what is left in the buckets.
func (r *request) enquire(ctx context.Context) []<-chan answer {
	enquiries := make([]<-chan answer, len(r.buckets))
	for i, b := range r.buckets {
		enquiries[i] = r.wire.send(ctx, r.ledger.enquiry(b))
	}
	return enquiries
}

// standings are those that are answered before ctx ends.
func (r *request) standings(ctx context.Context, enquiries []<-chan answer) []standing {
	var standings []standing
	for i, b := range r.buckets {
		reply, err := receive(ctx, enquiries[i])
		if err != nil {
			continue
		}
		if s, ok := r.ledger.standing(b, reply); ok {
			standings = append(standings, s)
		}
	}
	return standings
}

// pause waits. False: ctx ended first.
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
