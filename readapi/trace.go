package readapi

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// describeSpan describes the request in its context's span, if there is one. It says no more than the log does and what
// the request read: no key, no phone system, no URL and no parameter.
func (s *service) describeSpan(ctx context.Context, x *exchange, out *reply, status int, err error) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}

	operation := cmp.Or(x.operation, noOperation)
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

	// Every event of the partition that was stored before the watermark is in the response.
	if !out.completeThrough.IsZero() {
		span.SetAttributes(
			attribute.Int("callboard.partition", int(s.projection.Partition(x.system))),
			attribute.String("callboard.watermark", out.completeThrough.UTC().Format(time.RFC3339Nano)),
		)
	}
}
