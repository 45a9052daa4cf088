package scenario_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"callboard/cmd/connection"
	"callboard/cmd/program/projector"
	"callboard/cmd/program/readapi"
	"callboard/cmd/programtest"
	"callboard/cmd/setting"
	"callboard/events"
	eventsaudit "callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/projector/projectortest"
	"callboard/readapi/access"
	"callboard/readapi/audio"
)

// tracedPrograms are a projector and a reader that export their spans.
type tracedPrograms struct {
	*projectortest.Harness
	receiver *traceReceiver
	log      eventstest.LogBuffer
	tracer   trace.Tracer // of publishers and clients, whose spans are sampled
	system   uuid.UUID
	key      access.Key
	public   net.Listener
	stop     []func()
}

const collectorSecret = "c0llector-secret"

func newTracedPrograms(t *testing.T) *tracedPrograms {
	t.Helper()
	p := &tracedPrograms{Harness: projectortest.NewHarness(t), receiver: newTraceReceiver(t), system: uuid.New()}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", p.receiver.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization="+collectorSecret)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	p.tracer = sdktrace.NewTracerProvider().Tracer("test")
	if _, err := p.JetStream.CreateStream(t.Context(), eventsaudit.StreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	pepper := newPepper(t)
	issued, err := access.NewRegistry(p.RolePool("callboard_operator", nil), pepper).Issue(t.Context(), access.KeySpec{
		Name: "traces", Grant: access.Grant{Kind: access.GrantSystem, ID: p.system}, Scopes: access.Scopes(),
		Tier: access.TierPremium, // the test asks until it sees an event
	})
	if err != nil {
		t.Fatal(err)
	}
	p.key = issued.Key
	p.startPrograms(pepper)
	return p
}

func (p *tracedPrograms) startPrograms(pepper access.Pepper) {
	p.Helper()
	log := zerolog.New(&p.log)
	nats := connection.NATSConfig{URL: programtest.Setting(p, setting.NewNATSURL, p.Server.URL()), Log: log}
	location := programtest.Setting(p, audio.ParseLocation, "file://"+p.TempDir())
	p.public = programtest.Listen(p)
	write := projector.Config{
		NATS: nats, Stream: events.StreamName, Admin: programtest.Listen(p), Log: log,
		Postgres: programtest.Setting(p, setting.NewPostgresURL, p.Database.RoleURL("callboard_projector")),
	}
	read := readapi.Config{
		NATS: nats, Premium: 120_000, BaseURL: "https://phones.example.com/v1", Public: p.public, Admin: programtest.Listen(p), Log: log, Audio: location,
		Primary: programtest.Setting(p, setting.NewPostgresURL, p.Database.RoleURL("callboard_reader")),
		Peppers: []access.Pepper{pepper}, CursorKey: setting.NewSecret(strings.Repeat("s", 32)),
		LimiterTimeout: time.Minute, RequestTimeout: time.Minute, // longer than a busy machine needs
	}
	p.stop = []func(){
		p.Run(func(ctx context.Context) error { return projector.Run(ctx, write) }),
		p.Run(func(ctx context.Context) error { return readapi.Run(ctx, read) }),
	}
}

// publish publishes an event under a span, and returns the span and the event's sequence.
func (p *tracedPrograms) publish(e events.Event) (span trace.SpanContext, sequence int64) {
	p.Helper()
	ctx, published := p.tracer.Start(p.Context(), "publish")
	defer published.End()
	if err := p.Publisher.Publish(ctx, e); err != nil {
		p.Fatal(err)
	}
	stored, err := p.Stream.GetLastMsgForSubject(p.Context(), "phones.*."+p.system.String()+".*")
	if err != nil {
		p.Fatal(err)
	}
	return published.SpanContext(), int64(stored.Sequence)
}

// extensions lists the extensions with a number under a client's span, and returns the span and the body.
func (p *tracedPrograms) extensions(number string) (span trace.SpanContext, body string) {
	p.Helper()
	_, sent := p.tracer.Start(p.Context(), "get")
	defer sent.End()
	span = sent.SpanContext()
	url := "http://" + p.public.Addr().String() + "/v1/customer/phone-systems/" + p.system.String() + "/extensions?number=" + number
	request, err := http.NewRequestWithContext(p.Context(), http.MethodGet, url, nil)
	if err != nil {
		p.Fatal(err)
	}
	request.Header.Set("X-API-Key", p.key.Reveal())
	request.Header.Set("Traceparent", "00-"+span.TraceID().String()+"-"+span.SpanID().String()+"-01")
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		p.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.Fatal(err)
	}
	return span, string(text)
}

// An event leads to its commit by a link, and the commit to the first request that saw the event by partition and position.
func TestTraces(t *testing.T) {
	p := newTracedPrograms(t)
	const number, name = "47118150", "Reception desk"
	p.publish(events.Changed(&events.PhoneSystem{ID: p.system, Version: 1, Name: "Harbour"}))
	eventstest.Eventually(t, "the phone system", func() bool {
		_, body := p.extensions(number)
		return strings.Contains(body, `"data":[]`)
	})
	unseen, _ := p.extensions(number)
	published, sequence := p.publish(events.Changed(&events.Extension{
		ID: uuid.New(), PhoneSystemID: p.system, Version: 1, Number: number, Name: name, Status: "active",
	}))
	var seen trace.SpanContext
	eventstest.Eventually(t, "the extension", func() bool {
		span, body := p.extensions(number)
		seen = span
		return strings.Contains(body, name)
	})
	for _, client := range []trace.SpanContext{published, unseen, seen} {
		p.awaitSpan(client)
	}
	for _, stop := range p.stop {
		stop()
	}
	commit := p.commitOf(published, sequence)
	p.expectRequest(unseen, commit, func(position int64) bool { return position < sequence })
	p.expectRequest(seen, commit, func(position int64) bool { return position >= sequence })
	p.expectNoSecrets(number, name)
}

// awaitSpan waits until a span is exported that continues a client's or is linked to it. What is not exported before a program stops can be
// lost then.
func (p *tracedPrograms) awaitSpan(client trace.SpanContext) {
	p.Helper()
	eventstest.Eventually(p, "a span of trace "+client.TraceID().String(), func() bool {
		return len(p.receiver.find(func(s span) bool { return s.continues(client) || s.linkTo(client) != nil })) > 0
	})
}

// commitOf returns the commit that is linked to the span under which an event was published.
func (p *tracedPrograms) commitOf(published trace.SpanContext, sequence int64) span {
	p.Helper()
	commits := p.receiver.find(func(s span) bool { return s.linkTo(published) != nil })
	if len(commits) != 1 {
		p.Fatalf("spans that are linked to the event = %d, want 1; log:\n%s", len(commits), p.log.String())
	}
	commit := commits[0]
	if commit.GetName() != "commit" || commit.service != "callboard-projector" || len(commit.GetParentSpanId()) != 0 {
		p.Errorf("span = %v of %s, want a commit of callboard-projector without a parent", commit.Span, commit.service)
	}
	if got := attributes(commit.linkTo(published).GetAttributes())["callboard.sequence"]; got != sequence {
		p.Errorf("sequence of the link = %v, want %d", got, sequence)
	}
	first, _ := commit.attributes["callboard.first_sequence"].(int64)
	last, _ := commit.attributes["callboard.last_sequence"].(int64)
	messages, _ := commit.attributes["callboard.messages"].(int64)
	if first < 1 || first > sequence || last < sequence || messages < 1 {
		p.Errorf("commit = %d messages, %d to %d, want %d among them", messages, first, last, sequence)
	}
	return commit
}

// expectRequest checks the span of a list request: a child of the client's, with the snapshot that it read.
func (p *tracedPrograms) expectRequest(client trace.SpanContext, commit span, position func(int64) bool) {
	p.Helper()
	id, parent := client.TraceID(), client.SpanID()
	requests := p.receiver.find(func(s span) bool { return s.continues(client) })
	if len(requests) != 1 {
		p.Fatalf("spans of request %s = %d, want 1; log:\n%s", id, len(requests), p.log.String())
	}
	s := requests[0]
	if s.GetName() != "listExtensions" || s.service != "callboard-readapi" || s.GetKind() != otlp.Span_SPAN_KIND_SERVER ||
		!bytes.Equal(s.GetParentSpanId(), parent[:]) {
		p.Errorf("span = %v of %s, want listExtensions of callboard-readapi, of kind server, with parent %s", s.Span, s.service, parent)
	}
	if got := s.attributes["http.response.status_code"]; got != int64(http.StatusOK) {
		p.Errorf("status = %v, want 200", got)
	}
	if got, want := s.attributes["callboard.partition"], commit.attributes["callboard.partition"]; got != want {
		p.Errorf("partition = %v, want %v", got, want)
	}
	if got, ok := s.attributes["callboard.position"].(int64); !ok || !position(got) {
		p.Errorf("position = %v, want one on the other side of the commit %v", s.attributes["callboard.position"], commit.attributes)
	}
	if got, _ := s.attributes["callboard.watermark"].(string); got == "" {
		p.Errorf("attributes = %v, want a watermark", s.attributes)
	}
}

// expectNoSecrets checks that exports are authorized, and have nothing of requests and events. The log has no header of the exports.
func (p *tracedPrograms) expectNoSecrets(texts ...string) {
	p.Helper()
	for _, got := range p.receiver.auth {
		if got != collectorSecret {
			p.Errorf("Authorization of an export = %q, want the setting's", got)
		}
	}
	binary := p.system[:]
	for _, secret := range append(texts, p.key.Reveal(), p.system.String(), string(binary), hex.EncodeToString(binary), "Harbour") {
		if bytes.Contains(p.receiver.raw, []byte(secret)) {
			p.Errorf("exported spans have %q, want nothing of requests and events", secret)
		}
	}
	if p.log.Contains(collectorSecret) {
		p.Errorf("log has a header of the exports:\n%s", p.log.String())
	}
}
