package events_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

// Publishers that follow the same clock message store one, and its subject stays as it is.
func TestPublishClock(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	eventstest.CreateStream(t, js, 4)
	for _, c := range []struct {
		after, want uint64
		duplicate   bool
	}{
		{0, 1, false}, {1, 2, false}, {1, 2, true}, {2, 3, false}, {0, 1, true},
	} {
		ack, err := events.PublishClock(t.Context(), js, c.after, 0)
		if err != nil {
			t.Fatal(err)
		}
		if ack.Sequence != c.want || ack.Duplicate != c.duplicate {
			t.Errorf("after %d: sequence = %d, duplicate = %t, want %d, %t", c.after, ack.Sequence, ack.Duplicate, c.want, c.duplicate)
		}
	}
	if ack, err := events.PublishClock(t.Context(), js, 1, 1); err != nil || ack.Sequence != 4 {
		t.Errorf("second attempt: acknowledgement = %+v, %v, want sequence 4", ack, err)
	}
	stream, err := js.Stream(t.Context(), events.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := stream.GetMsg(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if stored.Subject != events.ClockSubject {
		t.Errorf("stored subject = %s, want %s", stored.Subject, events.ClockSubject)
	}
}

// A stream of an earlier release takes no clock messages until they are added. Nothing else of it changes.
func TestAddClock(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	earlier := events.StreamConfig(events.StreamName, 4, 1)
	earlier.Subjects = []string{"phones.*.*"}
	if _, err := js.CreateStream(t.Context(), earlier); err != nil {
		t.Fatal(err)
	}
	if _, err := events.PublishClock(t.Context(), js, 0, 0); !errors.Is(err, jetstream.ErrNoStreamResponse) {
		t.Errorf("error of a clock message that no stream takes = %v, want %v", err, jetstream.ErrNoStreamResponse)
	}
	for _, want := range []bool{true, false} {
		if added, err := events.AddClock(t.Context(), js, events.StreamName); added != want || err != nil {
			t.Errorf("added = %t, %v, want %t", added, err, want)
		}
	}
	stream, err := js.Stream(t.Context(), events.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	if faults := events.CheckStream(stream.CachedInfo().Config); len(faults) != 0 {
		t.Errorf("faults = %q, want none", faults)
	}
	if partitions, err := events.Partitions(stream.CachedInfo().Config); partitions != 4 || err != nil {
		t.Errorf("partitions = %d, %v, want 4", partitions, err)
	}
	if _, err := events.PublishClock(t.Context(), js, 0, 0); err != nil {
		t.Error(err)
	}
}
