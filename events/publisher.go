package events

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Publisher publishes events and waits until the stream has acknowledged them. It is safe for concurrent use.
type Publisher struct {
	js         jetstream.JetStream
	source     string
	maxMessage int // bytes; 0 to derive it from the connection's max_payload
}

// maxInFlight is how many events of one call to Publish wait for their acknowledgement at a time.
const maxInFlight = 512

// PublisherOption changes a setting of a Publisher.
type PublisherOption func(*Publisher)

// MaxMessage sets the message size in bytes, headers included, above which a transcript is published as a claim
// check and any other event is refused. The default is the server's max_payload less one sixteenth, because
// gateways add headers.
func MaxMessage(bytes int) PublisherOption {
	return func(p *Publisher) { p.maxMessage = bytes }
}

// NewPublisher returns a Publisher over a connection's JetStream. source is the ce-source of events that name none:
// a URI reference that identifies the publishing service.
func NewPublisher(js jetstream.JetStream, source string, options ...PublisherOption) *Publisher {
	p := &Publisher{js: js, source: source}
	for _, option := range options {
		option(p)
	}
	return p
}

// newBackOff has no time limit: the caller's context limits how long a Publisher retries.
func newBackOff() backoff.BackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond),
		backoff.WithMaxInterval(5*time.Second),
		backoff.WithMaxElapsedTime(0),
	)
}

// Publish returns nil when the server has acknowledged all events. It sets ID, Source and Time where an event has
// none, without changing the caller's events. It checks all events before it sends the first: if one is invalid or
// too large, or two have the same source and ID, it sends none. It stores the body of a large transcript before it
// sends the event.
//
// If ctx has a span of OpenTelemetry, the messages name it (ce-traceparent), and the spans that apply the events
// are linked to it.
//
// Publish sends the events in the order given, without waiting for each acknowledgement. It sends an event that is
// not acknowledged again, under the same ID, until ctx ends, and the stream stores it once. A retry can be stored
// after a later event of the same entity. That is harmless: consumers ignore an event whose version is not above
// the one that they have. Concurrent calls have no defined order.
//
// An [*UnacknowledgedError] has the events that are left when ctx ends or when the server refuses an event
// permanently. That includes an event whose source and ID the stream has already ([ErrDuplicate]).
func (p *Publisher) Publish(ctx context.Context, events ...Event) error {
	batch := make([]outgoing, 0, len(events))
	numbers := make(map[string]int, len(events)) // by the ID of the message

	// No event is sent before all events are valid.
	for i, e := range events {
		o, err := p.prepare(ctx, e)
		if err == nil {
			// The stream would take the second event for a repetition of the first.
			id := o.message.Header.Get(jetstream.MsgIDHeader)
			if first := numbers[id]; first > 0 {
				err = fmt.Errorf("event %d has the same source and ID, %s: give each event an ID of its own", first, o.event.ID)
			}
			numbers[id] = i + 1
		}

		if err != nil {
			return fmt.Errorf("event %d of %d (%s %s): %w", i+1, len(events), e.Type(), e.Key, err)
		}

		batch = append(batch, o)
	}

	return p.deliver(ctx, batch)
}

// outgoing is an event and its message.
type outgoing struct {
	event   Event
	message *nats.Msg
	sent    bool // the stream may have it
}

func (p *Publisher) prepare(ctx context.Context, e Event) (outgoing, error) {
	e.ID = cmp.Or(e.ID, uuid.NewString())
	e.Source = cmp.Or(e.Source, p.source)
	if e.Time.IsZero() {
		e.Time = time.Now()
	}

	o, err := encodeOutgoing(ctx, e)
	if err != nil || o.message.Size() <= p.limit() {
		return o, err
	}

	// A transcript that is too large for a message gets a claim check.
	if t, ok := e.State.(*Transcript); ok && t.Object == nil {
		if e.State, err = p.storeBody(ctx, t); err != nil {
			return outgoing{}, err
		}
		if o, err = encodeOutgoing(ctx, e); err != nil {
			return outgoing{}, err
		}
	}

	if size := o.message.Size(); size > p.limit() {
		return outgoing{}, fmt.Errorf("message of %d bytes is over the limit of %d", size, p.limit())
	}
	return o, nil
}

func encodeOutgoing(ctx context.Context, e Event) (outgoing, error) {
	m, err := Encode(e)
	if err != nil {
		return outgoing{}, err
	}
	setSpanContext(ctx, m.Header)
	return outgoing{event: e, message: &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}}, nil
}

func (p *Publisher) limit() int {
	if p.maxMessage > 0 {
		return p.maxMessage
	}
	maxPayload := int(p.js.Conn().MaxPayload())
	return maxPayload - maxPayload/16
}
