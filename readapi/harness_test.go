package readapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	trail "callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/audit"
	"callboard/readapi/docs/docstest"
	"callboard/readapi/limit"
	"callboard/readapi/query/querytest"
	"callboard/readapi/seal"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m, func() error { return goleak.Find() }) }

const baseURL = "https://phones.example.com/api/v1"

// reader is the handler over a database of its own, with everything that a test needs to fill and question it.
type harness struct {
	testing.TB
	*projection
	handler  http.Handler
	config   Config
	registry *access.Registry
	log      *logBuffer
	contract *docstest.Contract
}

// newReader is a reader under the reader's own role. Options change its configuration.
func newHarness(tb testing.TB, options ...func(*Config)) *harness {
	tb.Helper()
	database := schematest.New(tb)
	pepper, err := access.NewPepper(bytes.Repeat([]byte("p"), 32))
	if err != nil {
		tb.Fatal(err)
	}
	h := &harness{TB: tb, log: new(logBuffer), contract: contract(tb)}
	h.projection = &projection{TB: tb, pool: openPool(tb, database.URL())}
	h.registry = access.NewRegistry(openPool(tb, database.RoleURL("callboard_operator")), pepper)
	js := messages(tb)
	h.config = Config{
		Primary:    openPool(tb, database.RoleURL("callboard_reader")),
		Peppers:    []access.Pepper{pepper},
		Limiter:    newLimiter(tb, js, plenty),
		AuditQueue: newAuditQueue(tb, js, 0),
		Secret:     bytes.Repeat([]byte("s"), seal.MinSecret),
		Audio:      audioIn(tb, tb.TempDir()),
		BaseURL:    baseURL,
		Log:        zerolog.New(h.log),
		Metrics:    prometheus.NewRegistry(),
	}
	for _, option := range options {
		option(&h.config)
	}
	if h.handler, err = New(h.config); err != nil {
		tb.Fatal(err)
	}
	return h
}

func audioIn(tb testing.TB, dir string) audio.Location {
	tb.Helper()
	at, err := audio.ParseLocation("file://" + dir)
	if err != nil {
		tb.Fatal(err)
	}
	return at
}

func openPool(tb testing.TB, url string) *pgxpool.Pool {
	tb.Helper()
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

// key issues a key for one system with every scope. Changes are made to the request before.
func (h *harness) key(system uuid.UUID, changes ...func(*access.Request)) access.IssuedKey {
	h.Helper()
	request := access.Request{
		Name:   "test",
		Grant:  access.Grant{Kind: access.GrantSystem, ID: system},
		Scopes: access.Scopes(),
	}
	for _, change := range changes {
		change(&request)
	}
	issued, err := h.registry.Issue(context.Background(), request)
	if err != nil {
		h.Fatal(err)
	}
	return issued
}

func narrowedTo(extension uuid.UUID) func(*access.Request) {
	return func(q *access.Request) { q.OwnExtension = uuid.NullUUID{UUID: extension, Valid: true} }
}

func withScopes(scopes ...access.Scope) func(*access.Request) {
	return func(q *access.Request) { q.Scopes = scopes }
}

func grantedTo(kind access.GrantKind, id uuid.UUID) func(*access.Request) {
	return func(q *access.Request) { q.Grant = access.Grant{Kind: kind, ID: id} }
}

// header changes a request's headers.
type header func(http.Header)

func with(name, value string) header { return func(h http.Header) { h.Add(name, value) } }

func withKey(k access.IssuedKey) header { return with("X-API-Key", k.Key.Reveal()) }

// do sends a request for a path below the base URL, or for a whole URL.
func (h *harness) do(method, path string, headers ...header) *httptest.ResponseRecorder {
	h.Helper()
	if !strings.HasPrefix(path, "http") {
		path = baseURL + path
	}
	q := httptest.NewRequestWithContext(h.Context(), method, path, nil)
	for _, set := range headers {
		set(q.Header)
	}
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, q)
	h.conform(method, path, w)
	return w
}

func (h *harness) get(path string, headers ...header) *httptest.ResponseRecorder {
	h.Helper()
	return h.do(http.MethodGet, path, headers...)
}

// document is a problem document.
type document struct {
	Type          string       `json:"type"`
	Title         string       `json:"title"`
	Status        int          `json:"status"`
	Code          string       `json:"code"`
	Detail        string       `json:"detail"`
	CorrelationID string       `json:"correlationId"`
	Retryable     bool         `json:"retryable"`
	Errors        []fieldError `json:"errors"`
	RetryAfter    int          `json:"retry_after"`
}

type fieldError struct{ Pointer, Code, Detail string }

// problem checks that the answer is a whole problem document and returns it.
func problemIn(tb testing.TB, w *httptest.ResponseRecorder) document {
	tb.Helper()
	var d document
	decode(tb, w, &d)
	switch {
	case w.Header().Get("Content-Type") != "application/problem+json":
		tb.Errorf("%d has content type %q", w.Code, w.Header().Get("Content-Type"))
	case d.Status != w.Code, d.Title == "", d.Detail == "", !strings.HasPrefix(d.Type, "https://"):
		tb.Errorf("%d has problem document %+v", w.Code, d)
	case d.CorrelationID == "" || d.CorrelationID != w.Header().Get("X-Request-Id"):
		tb.Errorf("correlation id %q, request id %q", d.CorrelationID, w.Header().Get("X-Request-Id"))
	}
	return d
}

func decode(tb testing.TB, w *httptest.ResponseRecorder, into any) {
	tb.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		tb.Fatalf("%d %q: %v", w.Code, w.Body, err)
	}
}

// masked is a body without its correlation id.
func masked(w *httptest.ResponseRecorder) string {
	return strings.ReplaceAll(w.Body.String(), w.Header().Get("X-Request-Id"), "#")
}

// logBuffer keeps what is logged. Lines are written by requests that may run at once.
type logBuffer struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.Write(line)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.String()
}

// last is the newest line's fields.
func (b *logBuffer) last(tb testing.TB) map[string]any {
	tb.Helper()
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	var fields map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &fields); err != nil {
		tb.Fatal(err)
	}
	return fields
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

// projection fills the tables that the projector would.
type projection struct {
	testing.TB
	pool *pgxpool.Pool
}

// watermark is that of every partition.
const watermark = "2026-03-02T08:00:00.125Z"

func (p *projection) exec(sql string, arguments ...any) {
	p.Helper()
	if _, err := p.pool.Exec(context.Background(), sql, arguments...); err != nil {
		p.Fatal(err)
	}
}

// system adds a phone system in a partition that stands at the watermark.
func (p *projection) system(name string) uuid.UUID {
	p.Helper()
	id := uuid.New()
	p.exec(`insert into projection.position (partition, stream, stream_created, sequence, epoch, clock, watermark)
		values (3, 'PHONES', 'epoch', 1, 1, $1, $1) on conflict do nothing`, at(watermark))
	p.exec("insert into projection.phone_system (id, version, name, partition) values ($1, 1, $2, 3)", id, name)
	return id
}

func (p *projection) attach(system, organization uuid.UUID) {
	p.Helper()
	p.exec("update projection.phone_system set organization_id = $2 where id = $1", system, organization)
}

func (p *projection) group(members ...uuid.UUID) uuid.UUID {
	p.Helper()
	id := uuid.New()
	p.exec("insert into projection.phone_system_group (id, version, name, phone_system_ids) values ($1, 1, 'group', $2)", id, members)
	return id
}

func (p *projection) extension(system uuid.UUID) uuid.UUID {
	p.Helper()
	id := uuid.New()
	p.exec(`insert into projection.extension (system_id, id, version, number, name, status, created_at, updated_at, assigned_phones)
		values ($1, $2, 1, '101', 'Front desk', 'active', now(), now(), '[]')`, system, id)
	return id
}

// call is a row of the call log as a test sees it.
type call struct {
	id         uuid.UUID
	sid        string
	createdAt  time.Time
	answeredBy *uuid.UUID
	from       *uuid.UUID
}

// calls adds calls with their counts.
func (p *projection) calls(system uuid.UUID, calls ...call) {
	p.Helper()
	columns := []string{
		"system_id", "id", "version", "updated_at", "call_sid", "direction", "status", "from_party", "to_party", "created_at",
		"answered_by_extension_id", "from_extension_id", "is_emergency", "is_converted", "is_edited", "tags", "transcription_status",
		"representative_state",
	}
	rows := pgx.CopyFromSlice(len(calls), func(i int) ([]any, error) {
		c := calls[i]
		return []any{
			system, c.id, 1, c.createdAt, c.sid, "inbound", "completed", "+15550001", "+15550002", c.createdAt,
			c.answeredBy, c.from, false, false, false, "[]", "unavailable", "not_analyzed",
		}, nil
	})
	if _, err := p.pool.CopyFrom(context.Background(), pgx.Identifier{"projection", "call_log"}, columns, rows); err != nil {
		p.Fatal(err)
	}
	querytest.Count(p, p.pool)
}

// plenty is a budget that no test uses up, save those that are about budgets.
const plenty = 1_000_000

// messages is a NATS with the audit's stream.
func messages(tb testing.TB) jetstream.JetStream {
	tb.Helper()
	js := eventstest.JetStream(tb, eventstest.NewServer(tb).URL())
	if _, err := js.CreateStream(tb.Context(), trail.StreamConfig(1)); err != nil {
		tb.Fatal(err)
	}
	return js
}

// newLimiter is a limiter that runs as long as the test.
func newLimiter(tb testing.TB, js jetstream.JetStream, perMinute int) *limit.Limiter {
	tb.Helper()
	l, err := limit.New(limit.Config{
		JetStream: js, Report: perMinute, Standard: perMinute, Premium: perMinute, DecisionTimeout: time.Minute, Log: zerolog.Nop(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	hold(tb, l.Run)
	return l
}

// newAuditQueue is an audit queue that runs as long as the test.
func newAuditQueue(tb testing.TB, js jetstream.JetStream, capacity int) *audit.Queue {
	tb.Helper()
	j, err := audit.NewQueue(audit.Config{JetStream: js, Capacity: capacity, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry()})
	if err != nil {
		tb.Fatal(err)
	}
	hold(tb, j.Run)
	return j
}

func hold(tb testing.TB, run func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
}
