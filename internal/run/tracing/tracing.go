// Package tracing exports a program's spans by OTLP over HTTP. It does nothing unless OTEL_EXPORTER_OTLP_ENDPOINT is
// set. All its settings are the standard ones of OpenTelemetry, which the SDK reads from the environment.
package tracing

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"callboard/internal/run"
)

// flushTimeout limits the export of the last spans, within the time that engines give a program to stop.
const flushTimeout = 3 * time.Second

// Traces are a program's spans. Close them.
type Traces struct {
	provider *sdktrace.TracerProvider // nil: there are none
	log      zerolog.Logger
}

// New starts the export of a service's spans, if OTEL_EXPORTER_OTLP_ENDPOINT is set. No error contains the value of a
// setting, because it may be secret.
func New(ctx context.Context, service string, log zerolog.Logger) (*Traces, error) {
	if os.Getenv(endpointVariable) == "" {
		return &Traces{}, nil
	}
	host, err := checkSettings()
	if err != nil {
		return nil, err
	}

	// The SDK would print settings that it can't parse, with their values.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn().Err(err).Msg("opentelemetry error") }))

	client, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}

	described, err := describe(ctx, service)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}

	log.Info().Str("collector", host).Msg("exporting traces")

	// The queue of the batcher is bounded: it drops spans while no collector takes them.
	exporter := &reportingExporter{SpanExporter: client, log: log}
	return &Traces{
		provider: sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described)),
		log:      log,
	}, nil
}

// describe returns what all spans have in common. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override it.
func describe(ctx context.Context, service string) (*resource.Resource, error) {
	return resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", service),
			attribute.String("service.version", run.ReadBuild().Version)),
		resource.WithFromEnv(),
	)
}

// On tells whether there are spans.
func (t *Traces) On() bool { return t.provider != nil }

const instrumentation = "callboard"

// Tracer starts spans. It is nil if there are none.
func (t *Traces) Tracer() trace.Tracer {
	if !t.On() {
		return nil
	}
	return t.provider.Tracer(instrumentation)
}

// Handler starts a span for every request, as a child of that in its traceparent header. next names and describes it.
// If there are no spans, Handler returns next.
func (t *Traces) Handler(next http.Handler) http.Handler {
	if !t.On() {
		return next
	}
	tracer := t.Tracer()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Close exports the last spans and ends the export.
func (t *Traces) Close() {
	if !t.On() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn().Err(err).Msg("last traces not exported")
	}
}

// reportingExporter logs when exports begin to fail and when they succeed again. Without it, the SDK would report every
// failure.
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
