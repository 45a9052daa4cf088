package feed

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

// ErrGap is a delivery that another client took, or that came twice.
var ErrGap = errors.New("the consumer skipped or repeated a delivery: another client may read from it")

// order checks that no delivery of a consumer is missing or repeated.
type order struct {
	deliveries uint64 // the server counts from 1
	last       uint64 // stream sequence of the last delivery
}

// check must get every delivery. Another client's pull on the same consumer would take deliveries away, which their numbers show. The server
// counts a repeated delivery as a new one, but its stream sequence is not a new one.
func (o *order) check(m *nats.Msg) (events.StoredMessage, error) {
	meta, err := m.Metadata()
	if err != nil {
		return events.StoredMessage{}, fmt.Errorf("delivery: %w", err)
	}
	if meta.Sequence.Consumer != o.deliveries+1 || meta.Sequence.Stream <= o.last {
		return events.StoredMessage{}, ErrGap
	}
	o.deliveries++
	o.last = meta.Sequence.Stream
	return events.StoredMessage{
		Message:  events.Message{Subject: m.Subject, Header: m.Header, Data: m.Data},
		Sequence: meta.Sequence.Stream,
		StoredAt: meta.Timestamp,
	}, nil
}

// isFinal tells whether a consumer can't recover from an error. It recovers from missed heartbeats and reconnects.
func isFinal(err error) bool {
	return errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrBadRequest)
}
