package events

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traceHeaders hold the attributes of CloudEvents' distributed tracing extension: ce-traceparent and ce-tracestate.
// They implement [propagation.TextMapCarrier].
type traceHeaders nats.Header

const attributePrefix = "ce-"

// Get returns an attribute, in any case of its name.
func (h traceHeaders) Get(attribute string) string {
	return header(nats.Header(h), attributePrefix+attribute)
}

// Set sets an attribute.
func (h traceHeaders) Set(attribute, value string) {
	h[attributePrefix+attribute] = []string{value}
}

// Keys returns the names of all headers.
func (h traceHeaders) Keys() []string { return slices.Collect(maps.Keys(h)) }

// setSpanContext adds the context's span to a message's headers, if there is one.
func setSpanContext(ctx context.Context, h nats.Header) {
	propagation.TraceContext{}.Inject(ctx, traceHeaders(h))
}

// SpanContext returns the span under which the message was published. It is not valid if the headers name none, or
// name it wrongly: that is no reason to refuse an event. The attributes of structured mode are not read.
func (m Message) SpanContext() trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), traceHeaders(m.Header))
	return trace.SpanContextFromContext(ctx)
}

// TraceParent returns the span under which the message was published, as the W3C's traceparent; empty if there is none.
func (m Message) TraceParent() string {
	if span := m.SpanContext(); span.IsValid() {
		return fmt.Sprintf("00-%s-%s-%s", span.TraceID(), span.SpanID(), span.TraceFlags())
	}
	return ""
}
