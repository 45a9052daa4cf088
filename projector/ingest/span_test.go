package ingest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"callboard/events"
)

// trace makes the applier record its spans.
func (e *env) trace() *tracetest.InMemoryExporter {
	recorded := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(recorded))
	e.applier.Tracer = provider.Tracer("test")
	return recorded
}

// publishUnder publishes phone systems, each under a separate span, and returns these spans.
func (e *env) publishUnder(count int, flags trace.TraceFlags) []trace.SpanContext {
	e.t.Helper()
	spans := make([]trace.SpanContext, count)
	for i := range spans {
		spans[i] = trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID(uuid.New()), SpanID: trace.SpanID{1}, TraceFlags: flags, Remote: true,
		})
		ctx := trace.ContextWithSpanContext(e.t.Context(), spans[i])
		if err := e.publisher.Publish(ctx, events.Changed(&events.PhoneSystem{ID: uuid.New(), Version: 1, Name: "A"})); err != nil {
			e.t.Fatal(err)
		}
	}
	return spans
}

func values(attributes []attribute.KeyValue) map[attribute.Key]int64 {
	named := make(map[attribute.Key]int64, len(attributes))
	for _, a := range attributes {
		named[a.Key] = a.Value.AsInt64()
	}
	return named
}

// A commit has one span, which is linked to the first 64 messages that were published under a sampled span.
func TestApplier_Span(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.publishUnder(2, 0)
	sampled := e.publishUnder(70, trace.FlagsSampled)
	e.publish(&events.PhoneSystem{ID: uuid.New(), Version: 1, Name: "B"})
	recorded := e.trace()
	e.apply()
	spans := recorded.GetSpans()
	if len(spans) != 1 || spans[0].Name != "commit" || spans[0].Parent.IsValid() || spans[0].Status.Code != codes.Unset {
		t.Fatalf("spans = %v, want one commit without a parent and an error", spans)
	}
	want := map[attribute.Key]int64{
		"callboard.partition": 0, "callboard.first_sequence": 1, "callboard.last_sequence": 73, "callboard.messages": 73,
	}
	for key, value := range values(spans[0].Attributes) {
		if value != want[key] {
			t.Errorf("%s = %d, want %d", key, value, want[key])
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("attributes = %v, want also %v", spans[0].Attributes, want)
	}
	links := spans[0].Links
	if len(links) != 64 {
		t.Fatalf("links = %d, want 64", len(links))
	}
	for i, link := range links {
		if !link.SpanContext.Equal(sampled[i]) || values(link.Attributes)["callboard.sequence"] != int64(3+i) {
			t.Errorf("link %d = %v %v, want %v and sequence %d", i, link.SpanContext, link.Attributes, sampled[i], 3+i)
		}
	}
}

// A message with a wrong span is applied like any other.
func TestApplier_WrongSpan(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	event := events.Changed(&events.PhoneSystem{ID: uuid.New(), Version: 1, Name: "A"})
	event.ID, event.Source = "1", "test"
	m, err := events.Encode(event)
	if err != nil {
		t.Fatal(err)
	}
	m.Header["ce-traceparent"] = []string{"00-wrong-01"}
	if _, err := e.js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}); err != nil {
		t.Fatal(err)
	}
	recorded := e.trace()
	e.apply()
	if got := e.counts()[events.EntityPhoneSystem]; got.Applied != 1 || got.Dead != 0 {
		t.Errorf("message count = %+v, want one applied", got)
	}
	if spans := recorded.GetSpans(); len(spans) != 1 || len(spans[0].Links) != 0 {
		t.Errorf("spans = %v, want one without links", spans)
	}
}

// The span of a commit that fails has no text of the error, which can quote rows.
func TestApplier_SpanOfFailedCommit(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.publishUnder(1, trace.FlagsSampled)
	recorded := e.trace()
	decoded := e.applier.Decoder.Decode(e.messages(0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := e.applier.Apply(ctx, decoded, time.Now())
	if err == nil {
		t.Fatal("error of a canceled commit = nil, want one")
	}
	spans := recorded.GetSpans()
	if len(spans) != 1 || spans[0].Status.Code != codes.Error || strings.Contains(spans[0].Status.Description, err.Error()) {
		t.Errorf("spans = %v, want one with an error and without its text", spans)
	}
}
