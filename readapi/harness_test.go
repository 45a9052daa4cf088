package readapi

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/internal/run/connection"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/auditqueue"
	"callboard/readapi/limit"
	"callboard/schema"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	eventstest.RunAtOnce(6)
	schematest.RunAndFindLeaks(m)
}

const (
	siteURL = "https://phones.example.com/api"
	baseURL = siteURL + "/v1"
)

// watermark is that of every partition.
const watermark = "2026-03-02T08:00:00.125Z"

// unlimited is a quota that a test can't use up.
const unlimited = 1_000_000

// harness is the handler over its own database and NATS server, with what a test needs to fill and query it.
type harness struct {
	testing.TB
	*fixture
	handler  http.Handler
	config   Config
	registry *access.Registry
	log      *eventstest.LogBuffer
	contract *responseContract // nil: responses are not checked
}

// newHarness connects as the reader's role. Options change the reader's configuration.
func newHarness(tb testing.TB, options ...func(*Config)) *harness {
	tb.Helper()
	database := schematest.New(tb)
	database.OnePartition(tb)
	pepper, err := access.NewPepper(bytes.Repeat([]byte("p"), 32))
	if err != nil {
		tb.Fatal(err)
	}
	h := &harness{TB: tb, log: new(eventstest.LogBuffer), contract: contract(tb)}
	h.fixture = &fixture{TB: tb, pool: schematest.OpenPool(tb, database.URL())}
	h.registry = access.NewRegistry(schematest.OpenPool(tb, database.RoleURL("callboard_operator")), pepper)
	js := newJetStream(tb)
	h.config = Config{
		Primary:    openReader(tb, database),
		Peppers:    []access.Pepper{pepper},
		Limiter:    newLimiter(tb, js, unlimited),
		AuditQueue: newAuditQueue(tb, js, 0),
		Secret:     bytes.Repeat([]byte("s"), access.MinSecret),
		Audio:      audioIn(tb, tb.TempDir()),
		BaseURL:    baseURL,
		Log:        zerolog.New(h.log),
		// Longer than a busy machine needs. Tests of timeouts set their own.
		Timeout:           time.Minute,
		DimensionsTimeout: time.Minute,
		slowGrace:         30 * time.Second,
	}
	for _, option := range options {
		option(&h.config)
	}
	h.restart()
	return h
}

// restart makes the handler again, after a change of the configuration.
func (h *harness) restart() {
	h.Helper()
	h.config.Metrics = prometheus.NewRegistry()
	var err error
	if h.handler, err = New(h.config); err != nil {
		h.Fatal(err)
	}
}

// newJetStream is a NATS server with the audit stream.
func newJetStream(tb testing.TB) jetstream.JetStream {
	tb.Helper()
	js := eventstest.JetStream(tb, eventstest.NewServer(tb).URL())
	if _, err := js.CreateStream(tb.Context(), events.AuditStreamConfig(1)); err != nil {
		tb.Fatal(err)
	}
	return js
}

func newLimiter(tb testing.TB, js jetstream.JetStream, perMinute int) *limit.Limiter {
	tb.Helper()
	l, err := limit.New(limit.Config{
		JetStream: js, Report: perMinute, Standard: perMinute, Premium: perMinute, Timeout: time.Minute, Log: zerolog.Nop(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	eventstest.Run(tb, l.Run)
	return l
}

func newAuditQueue(tb testing.TB, js jetstream.JetStream, capacity int) *auditqueue.Queue {
	tb.Helper()
	q := auditqueue.NewQueue(auditqueue.Config{
		JetStream: js, Capacity: capacity, FlushTimeout: time.Minute, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	eventstest.Run(tb, q.Run)
	return q
}

func audioIn(tb testing.TB, dir string) audio.Location {
	tb.Helper()
	location, err := audio.ParseLocation("file://" + dir)
	if err != nil {
		tb.Fatal(err)
	}
	return location
}

// openReader opens a pool with the role and the settings of a reader.
func openReader(tb testing.TB, database *schematest.Database) *pgxpool.Pool {
	tb.Helper()
	return schematest.OpenPool(tb, database.RoleURL("callboard_reader"), func(c *pgxpool.Config) {
		maps.Copy(c.ConnConfig.RuntimeParams, connection.ReaderSettings())
		c.AfterConnect = schema.PlanEachTime
		connection.CancelStatements(&c.ConnConfig.Config)
	})
}

// key issues a key for one system with every scope. Changes are made to the request before.
func (h *harness) key(system uuid.UUID, changes ...func(*access.KeySpec)) access.IssuedKey {
	h.Helper()
	request := access.KeySpec{
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

func narrowedTo(extension uuid.UUID) func(*access.KeySpec) {
	return func(q *access.KeySpec) { q.OwnExtension = uuid.NullUUID{UUID: extension, Valid: true} }
}

func withScopes(scopes ...access.Scope) func(*access.KeySpec) {
	return func(q *access.KeySpec) { q.Scopes = scopes }
}

func grantedTo(kind access.GrantKind, id uuid.UUID) func(*access.KeySpec) {
	return func(q *access.KeySpec) { q.Grant = access.Grant{Kind: kind, ID: id} }
}

// header changes a request's headers.
type header func(http.Header)

func with(name, value string) header { return func(h http.Header) { h.Add(name, value) } }

func withKey(k access.IssuedKey) header { return with("X-API-Key", k.Key.Reveal()) }

// systemPath is a path below a phone system's.
func systemPath(system uuid.UUID, rest string) string {
	return "/customer/phone-systems/" + system.String() + rest
}

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
	Type          string         `json:"type"`
	Title         string         `json:"title"`
	Status        int            `json:"status"`
	Code          code           `json:"code"`
	Detail        string         `json:"detail"`
	CorrelationID string         `json:"correlationId"`
	Retryable     bool           `json:"retryable"`
	Errors        []fieldError   `json:"errors"`
	Params        map[string]any `json:"params"`
	RetryAfter    int            `json:"retry_after"`
}

type fieldError struct{ Pointer, Code, Detail string }

// fields are the pointers and codes of the errors, in order.
func (d document) fields() string {
	var all []string
	for _, e := range d.Errors {
		all = append(all, e.Pointer+" "+e.Code)
	}
	return strings.Join(all, ", ")
}

// problemIn checks that the response is a complete problem document and returns it.
func problemIn(tb testing.TB, w *httptest.ResponseRecorder) document {
	tb.Helper()
	var d document
	decode(tb, w, &d)
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		tb.Errorf("Content-Type of a %d = %q, want application/problem+json", w.Code, got)
	}
	if d.Status != w.Code || d.Title == "" || d.Detail == "" || !strings.HasPrefix(d.Type, "https://") {
		tb.Errorf("problem document of a %d = %+v, want status, title, detail and type", w.Code, d)
	}
	if id := w.Header().Get("X-Request-Id"); d.CorrelationID == "" || d.CorrelationID != id {
		tb.Errorf("correlationId = %q, want the request id %q", d.CorrelationID, id)
	}
	return d
}

// expectCode checks a response's status and problem code. The empty code is that of a 200.
func (h *harness) expectCode(what string, w *httptest.ResponseRecorder, want code) {
	h.Helper()
	if want == "" {
		if w.Code != http.StatusOK {
			h.Errorf("%.200s: status = %d, want 200: %.500s", what, w.Code, w.Body)
		}
		return
	}
	if got := problemIn(h, w).Code; got != want || w.Code != want.info().status {
		h.Errorf("%.200s: status = %d, code = %s, want %d, %s", what, w.Code, got, want.info().status, want)
	}
}

// expectHeaders checks a response's headers. An empty value is a header that must be absent.
func (h *harness) expectHeaders(what string, w *httptest.ResponseRecorder, want map[string]string) {
	h.Helper()
	for name, value := range want {
		if got := w.Header().Get(name); got != value {
			h.Errorf("%s: %s = %q, want %q", what, name, got, value)
		}
	}
}

func decode(tb testing.TB, w *httptest.ResponseRecorder, into any) {
	tb.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		tb.Fatalf("decode a %d %.500q: %v", w.Code, w.Body, err)
	}
}

// masked is a body without its correlation id.
func masked(w *httptest.ResponseRecorder) string {
	return strings.ReplaceAll(w.Body.String(), w.Header().Get("X-Request-Id"), "#")
}

// lastLine is the fields of the newest log line.
func (h *harness) lastLine() map[string]any {
	h.Helper()
	lines := strings.Split(strings.TrimSpace(h.log.String()), "\n")
	var fields map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &fields); err != nil {
		h.Fatal(err)
	}
	return fields
}

// expectLogged checks fields of the newest log line. The value any stands for every value but nil.
func (h *harness) expectLogged(want map[string]any) {
	h.Helper()
	line := h.lastLine()
	for field, value := range want {
		if got := line[field]; got != value && (value != "any" || got == nil) {
			h.Errorf("logged %s = %v, want %v", field, got, value)
		}
	}
}

// metric is the value of a gauge or a counter, by its name and the value of its label.
func (h *harness) metric(name, label string) float64 {
	h.Helper()
	return eventstest.Metric(h, h.config.Metrics.(*prometheus.Registry), strings.TrimSpace(name+" "+label))
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

// fixture fills the tables that the projector fills in production.
type fixture struct {
	testing.TB
	pool *pgxpool.Pool
}

func (f *fixture) exec(sql string, arguments ...any) {
	f.Helper()
	schematest.Exec(f, f.pool, sql, arguments...)
}

// lock locks tables of the projection until unlock, so that statements on them wait.
func (f *fixture) lock(tables ...string) (unlock func()) {
	f.Helper()
	tx, err := f.pool.Begin(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	for _, table := range tables {
		schematest.Exec(f, tx, "lock table projection."+table+" in access exclusive mode")
	}
	return func() { _ = tx.Rollback(context.Background()) }
}

// system adds a phone system in partition 0, with the watermark.
func (f *fixture) system(name string) uuid.UUID {
	f.Helper()
	id := uuid.New()
	f.exec(`insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
		values (0, gen_random_uuid(), 1, 1, $1, $1) on conflict do nothing`, at(watermark))
	f.exec("insert into projection.phone_system (partition, id, version, name) values (0, $1, 1, $2)", id, name)
	return id
}

// setWatermark sets every partition's watermark.
func (f *fixture) setWatermark(watermark time.Time) {
	f.Helper()
	f.exec("update projection.position set watermark = $1", watermark)
}

func (f *fixture) attach(system, organization uuid.UUID) {
	f.Helper()
	f.exec("update projection.phone_system set organization_id = $2 where id = $1", system, organization)
}

func (f *fixture) group(members ...uuid.UUID) uuid.UUID {
	f.Helper()
	id := uuid.New()
	f.exec("insert into projection.phone_system_group (id, version, name, phone_system_ids) values ($1, 1, 'group', $2)", id, members)
	f.exec("insert into projection.phone_system_group_member (group_id, system_id) select $1, unnest($2::uuid[])", id, members)
	return id
}

func (f *fixture) extension(system uuid.UUID) uuid.UUID {
	f.Helper()
	id := uuid.New()
	insertRows(f, f.pool, "extension", columns{"system_id": system, "id": id, "number": "101"})
	return id
}

// call is a row of the call log.
type call struct {
	id         uuid.UUID
	sid        string
	createdAt  time.Time
	answeredBy *uuid.UUID
	from       *uuid.UUID
}

// calls adds calls and counts them.
func (f *fixture) calls(system uuid.UUID, calls ...call) {
	f.Helper()
	f.insertCalls(system, calls...)
	countRows(f, f.pool)
}

func (f *fixture) insertCalls(system uuid.UUID, calls ...call) {
	f.Helper()
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
	if _, err := f.pool.CopyFrom(context.Background(), pgx.Identifier{"projection", "call_log"}, columns, rows); err != nil {
		f.Fatal(err)
	}
}

// oneCall adds a call at the watermark and returns its id.
func (f *fixture) oneCall(system uuid.UUID) uuid.UUID {
	f.Helper()
	id := uuid.New()
	f.calls(system, call{id: id, sid: "CA1", createdAt: at(watermark)})
	return id
}
