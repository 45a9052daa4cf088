package readapi

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"callboard/readapi/query"
)

// describeSpan describes the request in its context's span, if there is one. It says no more than the log does and what the request read:
// no key, no phone system, no URL and no parameter.
func describeSpan(ctx context.Context, x *exchange, out *reply, status int, err error) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	operation := cmp.Or(x.operation, "none")
	span.SetName(operation)
	span.SetAttributes(
		attribute.String("callboard.operation", operation),
		attribute.String("callboard.request_id", x.requestID),
		attribute.Int("http.response.status_code", status),
	)
	if err != nil {
		span.SetAttributes(attribute.String("callboard.code", string(problemOf(err).code)))
	}
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	describeSnapshot(span, out.snapshot)
}

// describeSnapshot says which events a response may contain: those of the partition up to the position.
func describeSnapshot(span trace.Span, s query.Snapshot) {
	if !s.CompleteThrough.IsZero() {
		span.SetAttributes(attribute.String("callboard.watermark", s.CompleteThrough.UTC().Format(time.RFC3339Nano)))
	}
	if s.Partition.Valid {
		span.SetAttributes(
			attribute.Int("callboard.partition", int(s.Partition.Int16)),
			attribute.Int64("callboard.position", s.Position.Int64),
		)
	}
}
