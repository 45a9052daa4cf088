package readapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A request's span has the operation, the answer, and the watermark of the partition that the request read. It has
// nothing of the request.
func TestSpan(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	for path, want := range map[string]map[attribute.Key]string{
		"/extensions?number=47118150": {
			"callboard.operation": "listExtensions", "http.response.status_code": "200", "callboard.request_id": "same",
			"callboard.partition": "0", "callboard.watermark": watermark,
		},
		"/extensions?page=0": {
			"callboard.operation": "listExtensions", "http.response.status_code": "400", "callboard.request_id": "same",
			"callboard.code": "VALIDATION_FAILED",
		},
	} {
		recorder := tracetest.NewSpanRecorder()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
		ctx, span := tracer.Start(t.Context(), "request")
		q := httptest.NewRequestWithContext(ctx, http.MethodGet, baseURL+systemPath(system, path), nil)
		withKey(key)(q.Header)
		q.Header.Set("X-Request-Id", "same")
		h.handler.ServeHTTP(httptest.NewRecorder(), q)
		span.End()

		ended := recorder.Ended()[0]
		got := make(map[attribute.Key]string)
		for _, a := range ended.Attributes() {
			got[a.Key] = a.Value.String()
		}
		if ended.Name() != "listExtensions" || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: span = %s %v, want listExtensions %v", path, ended.Name(), got, want)
		}
		for _, secret := range []string{key.Key.Reveal(), system.String(), "47118150"} {
			if strings.Contains(fmt.Sprint(got), secret) {
				t.Errorf("%s: span = %v, want it without %s", path, got, secret)
			}
		}
	}
}
