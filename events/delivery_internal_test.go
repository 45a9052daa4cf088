package events

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// unanswered is a message that the server never acknowledges.
type unanswered struct{ jetstream.PubAckFuture }

func (unanswered) Ok() <-chan *jetstream.PubAck { return nil }
func (unanswered) Err() <-chan error            { return nil }

// acknowledgedLate is a message whose acknowledgement has arrived, although nothing waited for it in time.
type acknowledgedLate struct{ unanswered }

func (acknowledgedLate) Ok() <-chan *jetstream.PubAck {
	ok := make(chan *jetstream.PubAck, 1)
	ok <- new(jetstream.PubAck)
	return ok
}

// Events that were lost together, because the stream's leader was, are waited for once and not one after the other.
func TestInFlight_LostTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for range maxInFlight {
			if err := (inFlight{future: unanswered{}, sent: began}).acknowledged(t.Context()); !errors.Is(err, nats.ErrTimeout) {
				t.Fatalf("error = %v, want %v", err, nats.ErrTimeout)
			}
		}
		if waited := time.Since(began); waited != ackWait {
			t.Errorf("waited = %s, want %s", waited, ackWait)
		}
		if err := (inFlight{future: acknowledgedLate{}, sent: began}).acknowledged(t.Context()); err != nil {
			t.Errorf("error = %v of an event that was acknowledged meanwhile, want none", err)
		}
	})
}
