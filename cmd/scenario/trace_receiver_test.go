package scenario_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// traceReceiver is a receiver of OTLP over HTTP.
type traceReceiver struct {
	*httptest.Server

	mu    sync.Mutex
	spans []span
	auth  []string // the Authorization header of every export
	raw   []byte   // everything that was received
}

// span is an exported span, with its attributes by name, as text or number.
type span struct {
	*otlp.Span
	service    string
	attributes map[string]any
}

// continues reports whether the span belongs to the trace of a client's.
func (s span) continues(client trace.SpanContext) bool {
	id := client.TraceID()
	return bytes.Equal(s.GetTraceId(), id[:])
}

// linkTo returns the link to the trace of a client's span; nil: there is none.
func (s span) linkTo(client trace.SpanContext) *otlp.Span_Link {
	id := client.TraceID()
	for _, link := range s.GetLinks() {
		if bytes.Equal(link.GetTraceId(), id[:]) {
			return link
		}
	}
	return nil
}

func newTraceReceiver(t *testing.T) *traceReceiver {
	t.Helper()
	r := &traceReceiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP stores exported spans.
func (r *traceReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	var export collector.ExportTraceServiceRequest
	if err != nil || request.URL.Path != "/v1/traces" || proto.Unmarshal(body, &export) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw, r.auth = append(r.raw, body...), append(r.auth, request.Header.Get("Authorization"))
	for _, resource := range export.GetResourceSpans() {
		service, _ := attributes(resource.GetResource().GetAttributes())["service.name"].(string)
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				r.spans = append(r.spans, span{s, service, attributes(s.GetAttributes())})
			}
		}
	}
}

func attributes(list []*common.KeyValue) map[string]any {
	named := make(map[string]any, len(list))
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			named[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			named[a.GetKey()] = v.IntValue
		default:
			named[a.GetKey()] = a.GetValue().String()
		}
	}
	return named
}

// find returns the spans for which match is true.
func (r *traceReceiver) find(match func(span) bool) []span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.spans), func(s span) bool { return !match(s) })
}
