package readapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/readapi/access"
	"callboard/readapi/query"
)

// locked holds the call log until released, so that whoever reads it waits.
func (r *reader) locked() (release func()) {
	r.Helper()
	tx, err := r.pool.Begin(context.Background())
	if err == nil {
		_, err = tx.Exec(context.Background(), "lock table projection.call_log in access exclusive mode")
	}
	if err != nil {
		r.Fatal(err)
	}
	return func() { _ = tx.Rollback(context.Background()) }
}

func TestFailure_Timeout(t *testing.T) {
	r := newReader(t, func(c *Config) { c.Timeout = 500 * time.Millisecond })
	system := r.system("one")
	key := r.key(system)
	r.get("/customer/phone-systems", withKey(key)) // the first connections take their time
	defer r.locked()()
	r.expectUnavailable(r.get("/customer/phone-systems/"+system.String()+"/call-logs", withKey(key)))
}

func (r *reader) expectUnavailable(w *httptest.ResponseRecorder) {
	r.Helper()
	got := problemIn(r, w)
	if w.Code != 503 || got.Code != "SERVICE_UNAVAILABLE" || !got.Retryable || got.RetryAfter == 0 || w.Header().Get("Retry-After") == "" {
		r.Errorf("%d %+v %v", w.Code, got, w.Header())
	}
	if line := r.log.last(r); line["level"] != "warn" || line["cause"] == nil {
		r.Errorf("logged %v", line)
	}
}

func TestFailure_Unreachable(t *testing.T) {
	unreachable := openPool(t, "postgres://callboard_reader@127.0.0.1:1/none?connect_timeout=1")
	r := newReader(t)
	system := r.system("one")
	key := r.key(system)
	path := "/customer/phone-systems/" + system.String() + "/call-logs"
	for _, change := range []func(*Config){
		func(c *Config) { c.Primary = unreachable },
		func(c *Config) { c.Projection = unreachable },
	} {
		config := r.config
		config.Metrics = prometheus.NewRegistry()
		change(&config)
		var err error
		if r.handler, err = New(config); err != nil {
			t.Fatal(err)
		}
		r.expectUnavailable(r.get(path, withKey(key)))
		if w := r.get(path, with("X-API-Key", "noise")); w.Code != 401 {
			t.Errorf("a malformed key without a database: %d", w.Code)
		}
	}
}

// A client that goes away is sent nothing and is no server error.
func TestFailure_ClientGone(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	key := r.key(system)
	defer r.locked()()
	ctx, cancel := context.WithCancel(context.Background())
	q := httptest.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/customer/phone-systems/"+system.String()+"/call-logs", nil)
	withKey(key)(q.Header)
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.abandoned(w, q)
	}()
	cancel()
	<-done
	if line := r.log.last(t); line["status"] != 499.0 || line["level"] != "info" || len(w.Header()) > 0 {
		t.Errorf("logged %v, sent %v", line, w.Header())
	}
}

// abandoned serves a request whose client goes away, which ends in an abort.
func (r *reader) abandoned(w http.ResponseWriter, q *http.Request) {
	defer func() {
		if value := recover(); value != http.ErrAbortHandler { //nolint:errorlint // what is panicked with is that very value
			r.Errorf("ended with %v", value)
		}
	}()
	r.handler.ServeHTTP(w, q)
}

// A client that closes its side of the connection, and still listens, is not sent an answer that is none.
func TestFailure_HalfClosed(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	key := r.key(system)
	unlock := r.locked()
	server := httptest.NewServer(r.handler)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String()) //nolint:noctx // closed by the test
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprintf(conn, "GET /api/v1/customer/phone-systems/%s/call-logs HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", system, key.Key.Reveal())
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	sent, err := io.ReadAll(conn)
	unlock()
	if len(sent) > 0 {
		t.Errorf("%q, %v", sent, err)
	}
}

func TestFailure_Panic(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	key := r.key(system)
	s := r.handler.(*service)
	o := s.routes.byID["listPhones"]
	o.handle = func(context.Context, *request, *reply) error { panic("canary in a panic") }
	s.routes.byID[o.ID] = o
	w := r.get("/customer/phone-systems/"+system.String()+"/phones", withKey(key))
	if got := problemIn(t, w); w.Code != 500 || got.Code != "INTERNAL_ERROR" || strings.Contains(w.Body.String(), "canary") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	line := r.log.last(t)
	if line["level"] != "error" || line["cause"] != "panic: canary in a panic" || !strings.Contains(line["stack"].(string), "failure_test.go") {
		t.Errorf("logged %v", line)
	}
	if strings.Count(r.log.String(), "canary in a panic") != 1 {
		t.Errorf("logged more than once: %s", r.log)
	}
	if w := r.get("/customer/phone-systems", withKey(key)); w.Code != 200 {
		t.Errorf("after the panic: %d", w.Code)
	}
}

// What the database refuses is the reader's fault, and its text stays in the log.
func TestFailure_Internal(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	key := r.key(system)
	r.exec("alter table projection.day_count rename column count to canary")
	w := r.get("/customer/phone-systems/"+system.String()+"/call-logs", withKey(key))
	if got := problemIn(t, w); w.Code != 500 || got.Retryable || strings.Contains(w.Body.String(), "count") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if cause, _ := r.log.last(t)["cause"].(string); !strings.Contains(cause, "SQLSTATE 42") {
		t.Errorf("cause %q", cause)
	}
}

func TestProblemOf(t *testing.T) {
	refused := func(state string) error { return &pgconn.PgError{Code: state} }
	for _, c := range []struct {
		err  error
		want code
	}{
		{refused(pgerrcode.QueryCanceled), serviceUnavailable},
		{refused(pgerrcode.AdminShutdown), serviceUnavailable},
		{refused(pgerrcode.TooManyConnections), serviceUnavailable},
		{refused(pgerrcode.ConnectionFailure), serviceUnavailable},
		{refused(pgerrcode.SerializationFailure), serviceUnavailable}, // a replica's recovery
		{refused(pgerrcode.UndefinedColumn), serviceUnavailable},      // an earlier release's projection
		{refused(pgerrcode.InsufficientPrivilege), internalError},
		{refused(pgerrcode.InvalidTextRepresentation), internalError},
		{context.DeadlineExceeded, serviceUnavailable},
		{query.ErrNotFound, notFound},
		{&access.DeniedError{Verdict: access.CredentialNotAccepted}, credentialNotAccepted},
		{&access.DeniedError{}, unauthenticated},
		{&problem{code: rateLimited}, rateLimited},
		{errors.New("anything else"), internalError},
		{pgx.ErrTxClosed, internalError},
	} {
		if got := problemOf(errors.Join(errors.New("outer"), c.err)).code; got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}

// The reader's role can select, and nothing else.
func TestReaderRole(t *testing.T) {
	r := newReader(t)
	r.key(r.system("one"))
	for _, sql := range []string{
		"insert into projection.day_count values ($1, 'call_log', '', '2026-01-01', 1)",
		"update projection.phone_system set name = $1::text",
		"delete from access.key where id <> $1",
		"update access.key set lineage = $1",
		"insert into access.key (id) values ($1)",
		"select count(*) from control.generation where $1::uuid is not null",
	} {
		_, err := r.config.Primary.Exec(context.Background(), "set default_transaction_read_only to off")
		if err == nil {
			_, err = r.config.Primary.Exec(context.Background(), sql, uuid.New())
		}
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != pgerrcode.InsufficientPrivilege {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
