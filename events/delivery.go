package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ackWait is how long a Publisher waits for an acknowledgement before it sends the event again. It is long enough
// for a server that syncs every write to a busy disk.
const ackWait = 10 * time.Second

// ErrDuplicate means that the stream has an event of the same source and ID already: it was stored within the
// [DuplicateWindow], and Publish had not sent it. Either the event was published before, or another event has its
// ID.
var ErrDuplicate = errors.New("the stream has an event of this source and ID already: " +
	"unless that is this event, give it another ID")

// UnacknowledgedError has the events that the server did not acknowledge as stored. The server may have stored
// them. Publish the events again as they are here, under their IDs: within the [DuplicateWindow] the stream stores
// no event twice, and those that it has are an [ErrDuplicate].
type UnacknowledgedError struct {
	Events []Event // in the order given to Publish, with the IDs under which they were sent
	Err    error   // the last error
}

// Error names the first events by ID, type and subject.
func (e *UnacknowledgedError) Error() string {
	const maxNamed = 10
	var b strings.Builder
	fmt.Fprintf(&b, "%d events not acknowledged:", len(e.Events))

	// A long list would hide the reason at the end of the text.
	for i, event := range e.Events {
		if i == maxNamed {
			fmt.Fprintf(&b, " and %d more,", len(e.Events)-maxNamed)
			break
		}
		fmt.Fprintf(&b, " %s %s %s,", event.ID, event.Type(), Subject(event.System, event.Entity))
	}

	return strings.TrimSuffix(b.String(), ",") + ": " + e.Err.Error()
}

// Unwrap returns the last error.
func (e *UnacknowledgedError) Unwrap() error { return e.Err }

// deliver sends the batch until every event is acknowledged or permanently refused, or ctx ends.
func (p *Publisher) deliver(ctx context.Context, batch []outgoing) error {
	d := delivery{pending: batch}
	err := backoff.Retry(func() error { return d.attempt(ctx, p) }, backoff.WithContext(newBackOff(), ctx))
	if err == nil && len(d.refused) == 0 {
		return nil
	}
	return unacknowledged(batch, slices.Concat(d.refused, d.pending), d.cause(ctx.Err()))
}

// delivery is the progress of a batch.
type delivery struct {
	pending []outgoing // not acknowledged; to be sent again
	refused []outgoing // permanently
	refusal error      // the last one
	lastErr error      // of a pending event
}

// attempt sends the pending events. It returns an error if some are still pending.
func (d *delivery) attempt(ctx context.Context, p *Publisher) error {
	var pending []outgoing
	var ctxErr error

	for i, err := range p.send(ctx, d.pending) {
		switch {
		case err == nil:
			continue
		case permanent(err):
			d.refusal = err
			d.refused = append(d.refused, d.pending[i])
			continue

		// All other events stay pending, and the next attempt sends them again.
		case errors.Is(err, ctx.Err()):
			ctxErr = err
		default:
			d.lastErr = err
		}

		pending = append(pending, d.pending[i])
	}

	if d.pending = pending; len(pending) == 0 {
		return nil
	}

	// An ended ctx is the reason, whatever the server answered.
	return cmp.Or(ctxErr, d.lastErr)
}

// cause returns why a delivery ended: the context's error, if it has one, and the last error of the server.
func (d *delivery) cause(ctxErr error) error {
	last := d.refusal
	if len(d.pending) > 0 {
		last = cmp.Or(d.lastErr, d.refusal)
	}
	if ctxErr == nil || last == nil {
		return cmp.Or(last, ctxErr)
	}
	return fmt.Errorf("%w; last error: %w", ctxErr, last)
}

// unacknowledged returns the error for the events left, in the order of the batch.
func unacknowledged(batch, left []outgoing, err error) error {
	missing := make(map[*nats.Msg]bool, len(left))
	for _, o := range left {
		missing[o.message] = true
	}

	// The refused events come first in left, so the batch gives the order.
	e := &UnacknowledgedError{Err: err}
	for _, o := range batch {
		if missing[o.message] {
			e.Events = append(e.Events, o.event)
		}
	}

	return e
}

// send sends the batch once, with at most maxInFlight events unacknowledged, and returns the error of each event.
func (p *Publisher) send(ctx context.Context, batch []outgoing) []error {
	errs := make([]error, len(batch))
	waiting := make([]inFlight, len(batch))

	// Each event beyond maxInFlight waits for the acknowledgement of the oldest event in flight.
	sent := 0
	for ; sent < len(batch) && canContinue(errs[:sent]); sent++ {
		if oldest := sent - maxInFlight; oldest >= 0 && waiting[oldest].future != nil {
			errs[oldest] = waiting[oldest].acknowledged(ctx)
			waiting[oldest].future = nil
		}
		waiting[sent], errs[sent] = p.sendOne(ctx, &batch[sent])
	}

	// Events that were not sent get the error that stopped the batch.
	for i := range errs {
		switch {
		case i >= sent:
			errs[i] = errs[sent-1]
		case waiting[i].future != nil:
			errs[i] = waiting[i].acknowledged(ctx)
		}
	}

	return errs
}

// canContinue reports whether the next message can succeed after the last one failed, which is so only if that one
// was too large. Any other error would meet every message, each after another timeout.
func canContinue(errs []error) bool {
	if len(errs) == 0 {
		return true
	}
	last := errs[len(errs)-1]
	return last == nil || errors.Is(last, nats.ErrMaxPayload)
}

// inFlight is an event that is sent, and not acknowledged yet.
type inFlight struct {
	future   jetstream.PubAckFuture
	sent     time.Time
	repeated bool // the stream may have the event from an earlier attempt
}

// sendOne does not wait for the acknowledgement. PublishMsgAsync waits 200 ms by default if other publishers use up
// the connection's limit of messages in flight; WithStallWait extends that.
func (p *Publisher) sendOne(ctx context.Context, o *outgoing) (f inFlight, err error) {
	if err := ctx.Err(); err != nil {
		return f, err
	}
	if p.js.Conn().IsClosed() {
		return f, nats.ErrConnectionClosed // PublishMsgAsync has it only in another error's text
	}
	f.future, err = p.js.PublishMsgAsync(o.message, jetstream.WithStallWait(ackWait), jetstream.WithRetryAttempts(0))
	f.sent, f.repeated = time.Now(), o.sent
	o.sent = o.sent || err == nil
	return f, err
}

// acknowledged waits until [ackWait] after the event was sent, so that events which were lost together are waited
// for once.
func (f inFlight) acknowledged(ctx context.Context) error {
	timeout := time.NewTimer(ackWait - time.Since(f.sent))
	defer timeout.Stop()

	select {
	case ack := <-f.future.Ok():
		return f.stored(ack)
	case err := <-f.future.Err():
		return err
	case <-timeout.C:
	case <-ctx.Done():
	}

	// An acknowledgement that arrives together with the timeout counts, although select can choose the timeout.
	select {
	case ack := <-f.future.Ok():
		return f.stored(ack)
	default:
		return cmp.Or(ctx.Err(), nats.ErrTimeout)
	}
}

// stored returns [ErrDuplicate] if the stream stored another message instead of the event.
func (f inFlight) stored(ack *jetstream.PubAck) error {
	if ack.Duplicate && !f.repeated {
		return ErrDuplicate
	}
	return nil
}

// permanent reports whether no retry can succeed. JetStream answers 400 to an invalid message.
func permanent(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code == 400
	}
	return errors.Is(err, ErrDuplicate) || errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrConnectionClosed)
}
