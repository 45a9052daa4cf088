package events_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

// Publishers that follow the same clock message store one, and its subject stays as it is. No ID decides, so nobody
// can take one in advance.
func TestPublishClock(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	eventstest.CreateStream(t, js, 4)
	for i, c := range []struct{ after, want uint64 }{{0, 1}, {1, 2}, {1, 2}, {2, 3}, {0, 3}, {17, 3}} {
		last, err := events.PublishClock(t.Context(), js, events.StreamName, c.after)
		if err != nil || last != c.want {
			t.Errorf("attempt %d, after %d: last = %d, %v, want %d", i, c.after, last, err, c.want)
		}
	}
	if _, err := events.PublishClock(t.Context(), js, "OTHER", 3); !errors.Is(err, events.ErrClockElsewhere) {
		t.Errorf("error for another stream = %v, want %v", err, events.ErrClockElsewhere)
	}
	stream, err := js.Stream(t.Context(), events.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := stream.GetMsg(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if id := stored.Header.Get(jetstream.MsgIDHeader); stored.Subject != events.ClockSubject || id != "" {
		t.Errorf("stored subject = %s, id = %q, want %s and no id", stored.Subject, id, events.ClockSubject)
	}
}
