package tracing

import (
	"context"
	"sync/atomic"

	"github.com/rs/zerolog"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// reportingExporter logs when exports begin to fail and when they succeed again. Without it, the SDK would report every failure.
type reportingExporter struct {
	sdktrace.SpanExporter
	log     zerolog.Logger
	failing atomic.Bool
}

// ExportSpans never returns an error, since it has been logged.
func (e *reportingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	switch failed := err != nil; {
	case e.failing.Swap(failed) == failed:
	case failed:
		e.log.Warn().Err(err).Msg("traces not exported")
	default:
		e.log.Info().Msg("traces exported again")
	}
	return nil
}
