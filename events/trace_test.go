package events_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"

	"callboard/events"
)

// The messages of a Publisher name the span of its context.
func TestPublisher_SpanContext(t *testing.T) {
	h := newHarness(t)
	state, err := trace.ParseTraceState("vendor=1")
	if err != nil {
		t.Fatal(err)
	}
	want := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state, Remote: true,
	})
	publisher := events.NewPublisher(h.js, "/pbx")
	for i, ctx := range []context.Context{trace.ContextWithSpanContext(t.Context(), want), t.Context()} {
		if err := publisher.Publish(ctx, events.Changed(&events.PhoneSystem{ID: uuid.New(), Version: 1, Name: "A"})); err != nil {
			t.Fatal(err)
		}
		m, err := h.stream.GetMsg(t.Context(), uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		got := events.Message{Subject: m.Subject, Header: m.Header, Data: m.Data}.SpanContext()
		switch {
		case i == 0 && !got.Equal(want):
			t.Errorf("span = %v, want %v", got, want)
		case i == 1 && (got.IsValid() || m.Header.Get("ce-traceparent") != ""):
			t.Errorf("span without one in the context = %v, want none", got)
		}
	}
}

// A wrong traceparent is no reason to refuse an event.
func TestMessage_SpanContext(t *testing.T) {
	t.Parallel()
	const valid = "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"
	for _, c := range []struct {
		name, header, value string
		want                bool
	}{
		{"valid", "ce-traceparent", valid, true},
		{"of another case", "Ce-Traceparent", valid, true},
		{"not an attribute", "traceparent", valid, false},
		{"empty", "ce-traceparent", "", false},
		{"text", "ce-traceparent", "no trace", false},
		{"zero trace", "ce-traceparent", "00-00000000000000000000000000000000-0102030405060708-01", false},
		{"too long", "ce-traceparent", valid + "-00", false},
		{"control characters", "ce-traceparent", "\x00\x01", false},
	} {
		m := fixture(t, "call.changed")
		m.Header[c.header] = []string{c.value}
		if got := m.SpanContext(); got.IsValid() != c.want {
			t.Errorf("%s: span = %v, want a valid one: %t", c.name, got, c.want)
		}
		if _, err := events.Decode(m); err != nil {
			t.Errorf("%s: Decode: %v", c.name, err)
		}
	}
	if got := (events.Message{Header: nats.Header(nil)}).SpanContext(); got.IsValid() {
		t.Errorf("span without headers = %v, want none", got)
	}
}
