package ingest

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// maxLinks is how many messages a commit's span is linked to. It is below the limit of the SDK, which drops the rest.
const maxLinks = 64

// startSpan starts the span of a commit. It is not a part of the trace of any message, since a commit has many: it is
// linked to them. end must be called with the commit's error, which the span does not show, because errors of
// PostgreSQL quote values.
func (a *Applier) startSpan(ctx context.Context, messages []Decoded) (_ context.Context, end func(error)) {
	if a.Tracer == nil {
		return ctx, func(error) {}
	}

	ctx, span := a.Tracer.Start(ctx, "commit", trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer))
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("callboard.partition", int(a.Position.Partition)))
		describe(span, messages)
	}

	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "not committed")
		}
		span.End()
	}
}

// describe sets the attributes of the messages, and links the span to those that were published under a sampled span.
func describe(span trace.Span, messages []Decoded) {
	links := 0
	for _, m := range messages {
		if links == maxLinks {
			break
		}
		if published := m.SpanContext(); published.IsSampled() {
			span.AddLink(trace.Link{SpanContext: published,
				Attributes: []attribute.KeyValue{attribute.Int64("callboard.sequence", int64(m.Sequence))}})
			links++
		}
	}

	span.SetAttributes(
		attribute.Int("callboard.messages", len(messages)),
		attribute.Int64("callboard.first_sequence", int64(messages[0].Sequence)),
		attribute.Int64("callboard.last_sequence", int64(messages[len(messages)-1].Sequence)),
	)
}
