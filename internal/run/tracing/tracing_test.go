package tracing_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"callboard/events/eventstest"
	"callboard/internal/run/tracing"
)

// Without an endpoint nothing runs, and no other setting and no header is read.
func TestNew_Off(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "not a list of headers")
	before := goleak.IgnoreCurrent()
	traces, err := tracing.New(t.Context(), "test", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if err := goleak.Find(before); err != nil {
		t.Errorf("goroutines: %v, want none", err)
	}
	if tracer := traces.Tracer(); tracer != nil {
		t.Errorf("tracer = %v, want none", tracer)
	}
	handler := http.NewServeMux()
	if got := traces.Handler(handler); got != http.Handler(handler) {
		t.Errorf("handler = %v, want the one that was given", got)
	}
	traces.Close()
}

func TestNew_InvalidSettings(t *testing.T) {
	for _, c := range []struct{ name, variable, value string }{
		{"endpoint without a scheme", "OTEL_EXPORTER_OTLP_ENDPOINT", "s3cret:4318"},
		{"endpoint that is no URL", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://s3cret\x7f"},
		{"header without a value", "OTEL_EXPORTER_OTLP_HEADERS", "Bearer s3cret"},
		{"header without a name", "OTEL_EXPORTER_OTLP_HEADERS", "=s3cret"},
		{"header with a wrong escape", "OTEL_EXPORTER_OTLP_HEADERS", "authorization=s3cret%"},
		{"header of traces", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "s3cret"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv(c.variable, c.value)
			var log bytes.Buffer
			_, err := tracing.New(t.Context(), "test", zerolog.New(&log))
			if err == nil || !strings.Contains(err.Error(), c.variable) {
				t.Fatalf("error = %v, want one that names %s", err, c.variable)
			}
			if text := err.Error() + log.String(); strings.Contains(text, "s3cret") {
				t.Errorf("error and log = %s, want them without the value", text)
			}
		})
	}
}

// A collector that refuses spans is logged once, and once more when it takes them again.
func TestTraces_RefusedByTheCollector(t *testing.T) {
	var requests eventstest.LogBuffer
	refuse := make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = requests.Write([]byte(r.Header.Get("Authorization") + "\n"))
		select {
		case <-refuse:
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=s3cret")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	var log eventstest.LogBuffer
	traces, err := tracing.New(t.Context(), "test", zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	export := func(until string, done func() bool) {
		t.Helper()
		eventstest.Eventually(t, until, func() bool {
			_, span := traces.Tracer().Start(t.Context(), "test")
			span.End()
			return done()
		})
	}
	export("three refusals", func() bool { return requests.Count("s3cret\n") >= 3 })
	close(refuse)
	export("the log of an export", func() bool { return log.Contains("traces exported again") })
	if got := log.Count(`"message":"traces not exported"`); got != 1 {
		t.Errorf("logged refusals = %d, want 1:\n%s", got, log.String())
	}
	traces.Close()
	if log.Contains("s3cret") {
		t.Errorf("log has the value of a header:\n%s", log.String())
	}
}

// The span of a request continues its client's trace.
func TestTraces_Handler(t *testing.T) {
	collector := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	traces, err := tracing.New(t.Context(), "test", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer traces.Close()
	var got trace.SpanContext
	handler := traces.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = trace.SpanContextFromContext(r.Context()) }))
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	const id = "0af7651916cd43dd8448eb211c80319c"
	request.Header.Set("Traceparent", "00-"+id+"-b7ad6b7169203331-01")
	handler.ServeHTTP(httptest.NewRecorder(), request)
	if got.TraceID().String() != id || !got.IsSampled() {
		t.Errorf("span = %v, want a sampled one of trace %s", got, id)
	}
}
