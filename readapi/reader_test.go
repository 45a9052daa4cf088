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
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/docs/docstest"
	"callboard/readapi/seal"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m, func() error { return goleak.Find() }) }

const baseURL = "https://phones.example.com/api/v1"

// reader is the handler over a database of its own, with everything that a test needs to fill and question it.
type reader struct {
	testing.TB
	*projection
	handler  http.Handler
	config   Config
	registry *access.Registry
	log      *logBuffer
	contract *docstest.Contract
}

// newReader is a reader under the reader's own role. Options change its configuration.
func newReader(tb testing.TB, options ...func(*Config)) *reader {
	tb.Helper()
	database := schematest.New(tb)
	pepper, err := access.NewPepper(bytes.Repeat([]byte("p"), 32))
	if err != nil {
		tb.Fatal(err)
	}
	r := &reader{TB: tb, log: new(logBuffer), contract: contract(tb)}
	r.projection = &projection{TB: tb, pool: openPool(tb, database.URL())}
	r.registry = access.NewRegistry(openPool(tb, database.RoleURL("callboard_operator")), pepper)
	js := messages(tb)
	r.config = Config{
		Primary:    openPool(tb, database.RoleURL("callboard_reader")),
		Peppers:    []access.Pepper{pepper},
		Limiter:    newLimiter(tb, js, plenty),
		AuditQueue: newAuditQueue(tb, js, 0),
		Secret:     bytes.Repeat([]byte("s"), seal.MinSecret),
		Audio:      audioIn(tb, tb.TempDir()),
		BaseURL:    baseURL,
		Log:        zerolog.New(r.log),
		Metrics:    prometheus.NewRegistry(),
	}
	for _, option := range options {
		option(&r.config)
	}
	if r.handler, err = New(r.config); err != nil {
		tb.Fatal(err)
	}
	return r
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
func (r *reader) key(system uuid.UUID, changes ...func(*access.Request)) access.IssuedKey {
	r.Helper()
	request := access.Request{
		Name:   "test",
		Grant:  access.Grant{Kind: access.GrantSystem, ID: system},
		Scopes: access.Scopes(),
	}
	for _, change := range changes {
		change(&request)
	}
	issued, err := r.registry.Issue(context.Background(), request)
	if err != nil {
		r.Fatal(err)
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
func (r *reader) do(method, path string, headers ...header) *httptest.ResponseRecorder {
	r.Helper()
	if !strings.HasPrefix(path, "http") {
		path = baseURL + path
	}
	q := httptest.NewRequestWithContext(r.Context(), method, path, nil)
	for _, set := range headers {
		set(q.Header)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, q)
	r.conform(method, path, w)
	return w
}

func (r *reader) get(path string, headers ...header) *httptest.ResponseRecorder {
	r.Helper()
	return r.do(http.MethodGet, path, headers...)
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
