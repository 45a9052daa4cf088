package events_test

import (
	"math"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
)

func TestParseRetry(t *testing.T) {
	t.Parallel()
	for _, sequence := range []uint64{0, 1, math.MaxInt64} {
		for _, storedAt := range []events.Time{0, 1764000000123, math.MaxInt64} {
			header := nats.Header{events.RetryHeader: {events.FormatRetry(sequence, storedAt)}}
			if gotSequence, gotTime, ok := events.ParseRetry(header); !ok || gotSequence != sequence || gotTime != storedAt {
				t.Errorf("%v: sequence = %d, time = %d, %t, want %d, %d, true", header, gotSequence, gotTime, ok, sequence, storedAt)
			}
		}
	}
	for _, value := range []string{
		"", "1", "1/", "/1", "x/1", "1/x", "1/2/3", "01/2", "+1/2", "1/ 2", "-1/2", "9223372036854775808/1", "1/9223372036854775808",
	} {
		if sequence, _, ok := events.ParseRetry(nats.Header{events.RetryHeader: {value}}); ok {
			t.Errorf("%q: sequence = %d, want none", value, sequence)
		}
	}
	if _, _, ok := events.ParseRetry(nil); ok {
		t.Error("no header: want none")
	}
}

func TestPublishedSubject(t *testing.T) {
	t.Parallel()
	published := events.Subject(uuid.New(), events.EntityCall)
	if got, ok := events.PublishedSubject("phones.3." + published[len("phones."):]); !ok || got != published {
		t.Errorf("subject = %q, %t, want %q", got, ok, published)
	}
	for _, stored := range []string{"", published, "other.3.x.call", "phones.3.x.call.y", "callboard.audit"} {
		if got, ok := events.PublishedSubject(stored); ok {
			t.Errorf("%q: subject = %q, want none", stored, got)
		}
	}
}
