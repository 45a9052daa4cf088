package readapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/readapi/access"
	"callboard/readapi/query"
)

// locked holds the call log until released, so that whoever reads it waits.
func (h *harness) locked() (release func()) {
	h.Helper()
	tx, err := h.pool.Begin(context.Background())
	if err == nil {
		_, err = tx.Exec(context.Background(), "lock table projection.call_log in access exclusive mode")
	}
	if err != nil {
		h.Fatal(err)
	}
	return func() { _ = tx.Rollback(context.Background()) }
}

func TestFailure_Timeout(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.Timeout = 500 * time.Millisecond })
	system := h.system("one")
	key := h.key(system)
	h.get("/customer/phone-systems", withKey(key)) // the first connections take their time
	defer h.locked()()
	h.expectUnavailable(h.get("/customer/phone-systems/"+system.String()+"/call-logs", withKey(key)))
}

func (h *harness) expectUnavailable(w *httptest.ResponseRecorder) {
	h.Helper()
	got := problemIn(h, w)
	if w.Code != 503 || got.Code != "SERVICE_UNAVAILABLE" || !got.Retryable || got.RetryAfter == 0 || w.Header().Get("Retry-After") == "" {
		h.Errorf("%d %+v %v", w.Code, got, w.Header())
	}
	if line := h.log.last(h); line["level"] != "warn" || line["cause"] == nil {
		h.Errorf("logged %v", line)
	}
}

func TestFailure_Unreachable(t *testing.T) {
	unreachable := openPool(t, "postgres://callboard_reader@127.0.0.1:1/none?connect_timeout=1")
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	path := "/customer/phone-systems/" + system.String() + "/call-logs"
	for _, change := range []func(*Config){
		func(c *Config) { c.Primary = unreachable },
		func(c *Config) { c.Projection = unreachable },
	} {
		config := h.config
		config.Metrics = prometheus.NewRegistry()
		change(&config)
		var err error
		if h.handler, err = New(config); err != nil {
			t.Fatal(err)
		}
		h.expectUnavailable(h.get(path, withKey(key)))
		if w := h.get(path, with("X-API-Key", "noise")); w.Code != 401 {
			t.Errorf("a malformed key without a database: %d", w.Code)
		}
	}
}

// A client that goes away is sent nothing and is no server error.
func TestFailure_ClientGone(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	defer h.locked()()
	ctx, cancel := context.WithCancel(context.Background())
	q := httptest.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/customer/phone-systems/"+system.String()+"/call-logs", nil)
	withKey(key)(q.Header)
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.abandoned(w, q)
	}()
	cancel()
	<-done
	if line := h.log.last(t); line["status"] != 499.0 || line["level"] != "info" || len(w.Header()) > 0 {
		t.Errorf("logged %v, sent %v", line, w.Header())
	}
}

// abandoned serves a request whose client goes away, which ends in an abort.
func (h *harness) abandoned(w http.ResponseWriter, q *http.Request) {
	defer func() {
		if value := recover(); value != http.ErrAbortHandler { //nolint:errorlint // what is panicked with is that very value
			h.Errorf("ended with %v", value)
		}
	}()
	h.handler.ServeHTTP(w, q)
}

// A client that closes its side of the connection, and still listens, is not sent an answer that is none.
func TestFailure_HalfClosed(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	unlock := h.locked()
	server := httptest.NewServer(h.handler)
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
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	s := h.handler.(*service)
	o := s.routes.byID["listPhones"]
	o.handle = func(context.Context, *request, *reply) error { panic("canary in a panic") }
	s.routes.byID[o.ID] = o
	w := h.get("/customer/phone-systems/"+system.String()+"/phones", withKey(key))
	if got := problemIn(t, w); w.Code != 500 || got.Code != "INTERNAL_ERROR" || strings.Contains(w.Body.String(), "canary") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	line := h.log.last(t)
	if line["level"] != "error" || line["cause"] != "panic: canary in a panic" || !strings.Contains(line["stack"].(string), "failure_test.go") {
		t.Errorf("logged %v", line)
	}
	if strings.Count(h.log.String(), "canary in a panic") != 1 {
		t.Errorf("logged more than once: %s", h.log)
	}
	if w := h.get("/customer/phone-systems", withKey(key)); w.Code != 200 {
		t.Errorf("after the panic: %d", w.Code)
	}
}

// What the database refuses is the reader's fault, and its text stays in the log.
func TestFailure_Internal(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	h.exec("alter table projection.day_count rename column count to canary")
	w := h.get("/customer/phone-systems/"+system.String()+"/call-logs", withKey(key))
	if got := problemIn(t, w); w.Code != 500 || got.Retryable || strings.Contains(w.Body.String(), "count") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if cause, _ := h.log.last(t)["cause"].(string); !strings.Contains(cause, "SQLSTATE 42") {
		t.Errorf("cause %q", cause)
	}
}

func TestProblemOf(t *testing.T) {
	t.Parallel()
	refused := func(state string) error { return &pgconn.PgError{Code: state} }
	for name, c := range map[string]struct {
		err  error
		want code
	}{
		"statement timeout":                    {refused(pgerrcode.QueryCanceled), serviceUnavailable},
		"shutdown":                             {refused(pgerrcode.AdminShutdown), serviceUnavailable},
		"too many connections":                 {refused(pgerrcode.TooManyConnections), serviceUnavailable},
		"disk full":                            {refused(pgerrcode.DiskFull), serviceUnavailable},
		"I/O error":                            {refused(pgerrcode.IOError), serviceUnavailable},
		"connection failure":                   {refused(pgerrcode.ConnectionFailure), serviceUnavailable},
		"a replica's recovery":                 {refused(pgerrcode.SerializationFailure), serviceUnavailable},
		"missing column":                       {refused(pgerrcode.UndefinedColumn), serviceUnavailable},
		"missing privilege":                    {refused(pgerrcode.InsufficientPrivilege), internalError},
		"invalid text":                         {refused(pgerrcode.InvalidTextRepresentation), internalError},
		"internal error":                       {refused(pgerrcode.InternalError), internalError},
		"internal error instead of connection": {connectError(t, pgerrcode.InternalError), serviceUnavailable},
		"wrong password":                       {connectError(t, pgerrcode.InvalidPassword), serviceUnavailable},
		"too many connections at connect":      {connectError(t, pgerrcode.TooManyConnections), serviceUnavailable},
		"deadline exceeded":                    {context.DeadlineExceeded, serviceUnavailable},
		"no row":                               {query.ErrNotFound, notFound},
		"credential not accepted":              {&access.DeniedError{Code: access.CredentialNotAccepted}, credentialNotAccepted},
		"denied":                               {&access.DeniedError{}, unauthenticated},
		"problem":                              {&problem{code: rateLimited}, rateLimited},
		"any other error":                      {errors.New("other"), internalError},
		"closed transaction":                   {pgx.ErrTxClosed, internalError},
	} {
		if got := problemOf(errors.Join(errors.New("outer"), c.err)).code; got != c.want {
			t.Errorf("%s: code = %s, want %s: %v", name, got, c.want, c.err)
		}
	}
}

// connectError is the error of a connection that the server refuses with a SQLSTATE.
func connectError(tb testing.TB, state string) error {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	var server sync.WaitGroup
	defer server.Wait()
	server.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		backend := pgproto3.NewBackend(conn, conn)
		_, err = backend.ReceiveStartupMessage()
		backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: state, Message: "could not write init file"})
		if err = errors.Join(err, backend.Flush()); err != nil {
			tb.Error(err)
		}
	})
	_, err = pgconn.Connect(tb.Context(), "postgres://any@"+listener.Addr().String()+"/any?sslmode=disable")
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != state {
		tb.Fatalf("connect: %v, want SQLSTATE %s", err, state)
	}
	return err
}

// The reader's role can select, and nothing else.
func TestReaderRole(t *testing.T) {
	h := newHarness(t)
	h.key(h.system("one"))
	for _, sql := range []string{
		"insert into projection.day_count values ($1, 'call_log', '', '2026-01-01', 1)",
		"update projection.phone_system set name = $1::text",
		"delete from access.key where id <> $1",
		"update access.key set lineage = $1",
		"insert into access.key (id) values ($1)",
		"select count(*) from control.generation where $1::uuid is not null",
	} {
		_, err := h.config.Primary.Exec(context.Background(), "set default_transaction_read_only to off")
		if err == nil {
			_, err = h.config.Primary.Exec(context.Background(), sql, uuid.New())
		}
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != pgerrcode.InsufficientPrivilege {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// A new generation's columns may have other types: what was prepared for the old one is prepared anew, within the request.
func TestGeneration_OtherTypes(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	id := uuid.New()
	h.full(system, id)
	key := h.key(system)
	config := h.config.Primary.Config()
	config.MaxConns = 1 // one connection, whose statements are prepared for the old generation
	single, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(single.Close)
	h.config.Primary, h.config.Metrics = single, prometheus.NewRegistry()
	if h.handler, err = New(h.config); err != nil {
		t.Fatal(err)
	}
	path := "/customer/phone-systems/" + system.String() + "/call-logs/" + id.String()
	before := h.get(path, withKey(key))
	h.exec("alter table projection.call_log alter column outcome type varchar(40), alter column recording_sid type varchar(70)")
	after := h.get(path, withKey(key))
	if before.Code != http.StatusOK || after.Code != http.StatusOK || before.Body.String() != after.Body.String() {
		t.Errorf("before: %d, after: %d %s, %v", before.Code, after.Code, after.Body, h.log.last(t)["cause"])
	}
}

// Generations are switched by renaming schemas while requests go on, and none of them notices.
func TestGeneration_Switch(t *testing.T) {
	h := newHarness(t)
	system, id := h.system("one"), uuid.New()
	h.full(system, id)
	key := h.key(system)
	h.copyGeneration("next")
	path := "/customer/phone-systems/" + system.String() + "/call-logs/" + id.String()
	want := h.get(path, withKey(key)).Body.String()
	stop := make(chan struct{})
	var readers sync.WaitGroup
	var answers atomic.Int64
	for range 4 {
		readers.Go(func() {
			for answers.Add(1); ; answers.Add(1) {
				select {
				case <-stop:
					return
				default:
				}
				if w := h.get(path, withKey(key)); w.Code != http.StatusOK || w.Body.String() != want {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
		})
	}
	for range 20 {
		for seen := answers.Load(); answers.Load() < seen+8; {
			runtime.Gosched()
		}
		h.exec(`begin;
			alter schema projection rename to previous;
			alter schema next rename to projection;
			alter schema previous rename to next;
			commit`)
	}
	close(stop)
	readers.Wait()
}

// copyGeneration makes a copy of the projection in another schema.
func (h *harness) copyGeneration(name string) {
	h.Helper()
	h.exec(`do $$
		declare
		  source record;
		begin
		  create schema ` + name + `;
		  for source in select tablename from pg_tables where schemaname = 'projection' loop
		    execute format('create table ` + name + `.%I (like projection.%I including all)', source.tablename, source.tablename);
		    execute format('insert into ` + name + `.%I select * from projection.%I', source.tablename, source.tablename);
		  end loop;
		  grant usage on schema ` + name + ` to callboard_reader;
		  grant select on all tables in schema ` + name + ` to callboard_reader;
		end
		$$`)
}
