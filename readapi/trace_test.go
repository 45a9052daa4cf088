package readapi

import (
	"net/http/httptest"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// BenchmarkDescribeSpan is what a request costs more with spans, and without them.
func BenchmarkDescribeSpan(b *testing.B) {
	x, out := &exchange{operation: "listCallLogs", requestID: "1"}, &reply{}
	b.Run("off", func(b *testing.B) {
		ctx := httptest.NewRequestWithContext(b.Context(), "GET", "/", nil).Context()
		b.ReportAllocs()
		for b.Loop() {
			describeSpan(ctx, x, out, 200, nil)
		}
	})
	b.Run("on", func(b *testing.B) {
		tracer := sdktrace.NewTracerProvider().Tracer("test")
		b.ReportAllocs()
		for b.Loop() {
			ctx, span := tracer.Start(b.Context(), "request")
			describeSpan(ctx, x, out, 200, nil)
			span.End()
		}
	})
}
