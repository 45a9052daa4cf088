package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ackWait is how long one acknowledgement may take before the event is sent again. A server that syncs every write to a busy
// disk is slow, not silent.
const ackWait = 10 * time.Second

// UnacknowledgedError says which events the server has not acknowledged. It may have stored them all the same: publish them
// again as they are here, under their IDs, and within the [DuplicateWindow] nothing is stored twice.
type UnacknowledgedError struct {
	Events []Event // in the order given, with the IDs under which they were sent
	Err    error   // what the last of them met
}

// Error names the first events by ID, type and subject.
func (e *UnacknowledgedError) Error() string {
	const most = 10
	var b strings.Builder
	fmt.Fprintf(&b, "%d events not acknowledged:", len(e.Events))
	for i, event := range e.Events {
		if i == most {
			fmt.Fprintf(&b, " and %d more,", len(e.Events)-most)
			break
		}
		fmt.Fprintf(&b, " %s %s %s,", event.ID, event.Type(), Subject(event.System, event.Entity))
	}
	return strings.TrimSuffix(b.String(), ",") + ": " + e.Err.Error()
}

// Unwrap is what the last of them met.
func (e *UnacknowledgedError) Unwrap() error { return e.Err }

// deliver sends the batch until all of it is acknowledged, refused for good, or ctx ends.
func (p *Publisher) deliver(ctx context.Context, batch []outgoing) error {
	d := delivery{left: batch}
	err := backoff.Retry(func() error { return d.attempt(ctx, p) }, backoff.WithContext(p.pause(), ctx))
	if err == nil && len(d.refused) == 0 {
		return nil
	}
	return unacknowledged(batch, append(d.refused, d.left...), d.cause(ctx.Err()))
}

// delivery is what became of a batch so far.
type delivery struct {
	left    []outgoing // not acknowledged, to be sent again
	refused []outgoing // never to be acknowledged
	last    error
}

// attempt sends what is left; the error says that something still is.
func (d *delivery) attempt(ctx context.Context, p *Publisher) error {
	var again []outgoing
	var ended error
	for i, err := range p.send(ctx, d.left) {
		switch {
		case err == nil:
			continue
		case errors.Is(err, ctx.Err()):
			ended = err
		default:
			d.last = err
		}
		if permanent(err) {
			d.refused = append(d.refused, d.left[i])
		} else {
			again = append(again, d.left[i])
		}
	}
	if d.left = again; len(again) == 0 {
		return nil
	}
	return cmp.Or(ended, d.last)
}

// cause is why a delivery ended: what it met last, and that its time was over, if it was.
func (d *delivery) cause(ended error) error {
	if ended == nil || d.last == nil {
		return cmp.Or(d.last, ended)
	}
	return fmt.Errorf("%w, having met: %w", ended, d.last)
}

// unacknowledged lists the events left in the order of the batch.
func unacknowledged(batch, left []outgoing, err error) error {
	missing := make(map[*nats.Msg]bool, len(left))
	for _, o := range left {
		missing[o.message] = true
	}
	e := &UnacknowledgedError{Err: err}
	for _, o := range batch {
		if missing[o.message] {
			e.Events = append(e.Events, o.event)
		}
	}
	return e
}

// send sends the batch once, with a bounded number in flight, and returns what became of each.
func (p *Publisher) send(ctx context.Context, batch []outgoing) []error {
	outcomes := make([]error, len(batch))
	futures := make([]jetstream.PubAckFuture, len(batch))
	sent := 0
	for ; sent < len(batch) && worthGoingOn(outcomes[:sent]); sent++ {
		if oldest := sent - p.inFlight; oldest >= 0 && futures[oldest] != nil {
			outcomes[oldest] = acknowledged(ctx, futures[oldest])
			futures[oldest] = nil
		}
		futures[sent], outcomes[sent] = p.sendOne(ctx, batch[sent].message)
	}
	for i := range outcomes {
		switch {
		case i >= sent:
			outcomes[i] = outcomes[sent-1]
		case futures[i] != nil:
			outcomes[i] = acknowledged(ctx, futures[i])
		}
	}
	return outcomes
}

// worthGoingOn tells whether the next message can be sent where the last couldn't: only where that one was too large. Anything
// else would meet every message, each after a wait of its own.
func worthGoingOn(outcomes []error) bool {
	if len(outcomes) == 0 {
		return true
	}
	last := outcomes[len(outcomes)-1]
	return last == nil || errors.Is(last, nats.ErrMaxPayload)
}

// sendOne does not wait for the acknowledgement. PublishMsgAsync gives up after 200 ms where others use up the connection's own
// bound on what is in flight, unless told to wait.
func (p *Publisher) sendOne(ctx context.Context, m *nats.Msg) (jetstream.PubAckFuture, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.js.Conn().IsClosed() {
		return nil, nats.ErrConnectionClosed // PublishMsgAsync hides it in another error's text
	}
	return p.js.PublishMsgAsync(m, jetstream.WithStallWait(ackWait), jetstream.WithRetryAttempts(0))
}

func acknowledged(ctx context.Context, future jetstream.PubAckFuture) error {
	patience := time.NewTimer(ackWait)
	defer patience.Stop()
	select {
	case <-future.Ok():
		return nil
	case err := <-future.Err():
		return err
	case <-patience.C:
		return nats.ErrTimeout
	case <-ctx.Done():
	}
	select {
	case <-future.Ok():
		return nil
	default:
		return ctx.Err()
	}
}

// permanent tells a refusal that no retry mends. 400 is JetStream's answer to a message that is wrong in itself.
func permanent(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code == 400
	}
	return errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrConnectionClosed)
}
