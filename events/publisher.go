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

// Publisher publishes events and waits for the stream's word that it has them. It is safe for concurrent use.
type Publisher struct {
	js         jetstream.JetStream
	source     string
	inFlight   int
	maxMessage int // 0: by the connection's max_payload
	pause      func() backoff.BackOff
}

// PublisherOption changes a Publisher's settings.
type PublisherOption func(*Publisher)

// InFlight bounds how many events of one call to Publish wait for their acknowledgement at a time; 512 without it.
func InFlight(events int) PublisherOption {
	return func(p *Publisher) { p.inFlight = max(events, 1) }
}

// MaxMessage sets the size, headers included, above which a transcript travels as a claim check and any other event is refused.
// Without it the limit is what the server accepts, less a sixteenth for what gateways add on the way.
func MaxMessage(bytes int) PublisherOption {
	return func(p *Publisher) { p.maxMessage = bytes }
}

// NewPublisher returns a Publisher over a connection's JetStream. source is the ce-source of events that name none: a URI
// reference that tells the publishing service from all others.
func NewPublisher(js jetstream.JetStream, source string, options ...PublisherOption) *Publisher {
	p := &Publisher{js: js, source: source, inFlight: 512, pause: patientBackOff}
	for _, option := range options {
		option(p)
	}
	return p
}

// patientBackOff never gives up: how long to try is the caller's decision, and ctx says it.
func patientBackOff() backoff.BackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond),
		backoff.WithMaxInterval(5*time.Second),
		backoff.WithMaxElapsedTime(0),
	)
}

// Publish returns nil once the server has acknowledged all events. An event without ID, Source or Time gets them here; the
// caller's events are not changed. All are checked before the first is sent, so an event that readers would refuse, or that is
// too large, means that none was sent. The body of a large transcript is stored before its event is sent.
//
// Events are sent in the order given, without waiting for each other. What the server does not acknowledge is sent again while
// ctx lives, under the same ID, so that the stream stores it once. Such a retry can come behind a later event of the same
// entity; that is harmless, since readers ignore what is not above the version that they have. Calls running at the same time
// have no order among them.
//
// An [*UnacknowledgedError] names what is left when ctx ends or the server refuses an event for good.
func (p *Publisher) Publish(ctx context.Context, events ...Event) error {
	batch := make([]outgoing, 0, len(events))
	for i, e := range events {
		o, err := p.prepare(ctx, e)
		if err != nil {
			return fmt.Errorf("event %d of %d, %s %s: %w", i+1, len(events), e.Type(), e.Key, err)
		}
		batch = append(batch, o)
	}
	return p.deliver(ctx, batch)
}

// outgoing is an event and the message that carries it.
type outgoing struct {
	event   Event
	message *nats.Msg
}

func (p *Publisher) prepare(ctx context.Context, e Event) (outgoing, error) {
	e.ID = cmp.Or(e.ID, uuid.NewString())
	e.Source = cmp.Or(e.Source, p.source)
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	o, err := encodeOutgoing(e)
	if err != nil || o.message.Size() <= p.limit() {
		return o, err
	}
	if t, ok := e.State.(*Transcript); ok && t.Object == nil {
		if e.State, err = p.checkIn(ctx, t); err != nil {
			return outgoing{}, err
		}
		if o, err = encodeOutgoing(e); err != nil {
			return outgoing{}, err
		}
	}
	if size := o.message.Size(); size > p.limit() {
		return outgoing{}, fmt.Errorf("a message of %d bytes is over the limit of %d", size, p.limit())
	}
	return o, nil
}

func encodeOutgoing(e Event) (outgoing, error) {
	m, err := Encode(e)
	return outgoing{e, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}}, err
}

func (p *Publisher) limit() int {
	if p.maxMessage > 0 {
		return p.maxMessage
	}
	most := int(p.js.Conn().MaxPayload())
	return most - most/16
}
