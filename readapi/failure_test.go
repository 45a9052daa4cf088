package readapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/limit"
	"callboard/readapi/query"
	"callboard/schema/schematest"
)

// unreachable is the URL of a database that can't be connected to.
const unreachable = "postgres://callboard_reader@127.0.0.1:1/none"

func (h *harness) expectUnavailable(w *httptest.ResponseRecorder) {
	h.Helper()
	h.expectCode("response", w, serviceUnavailable)
	if got := problemIn(h, w); !got.Retryable || got.RetryAfter == 0 || w.Header().Get("Retry-After") == "" {
		h.Errorf("retryable = %t, retry_after = %d, Retry-After = %q, want a delay", got.Retryable, got.RetryAfter, w.Header().Get("Retry-After"))
	}
	h.expectLogged(map[string]any{"level": "warn", "cause": "any"})
}

func TestFailure_Timeout(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(c *Config) { c.Timeout = 200 * time.Millisecond })
	system := h.system("one")
	key := h.key(system)
	defer h.lock("call_log")()
	h.expectUnavailable(h.get(systemPath(system, "/call-logs"), withKey(key)))
}

func TestFailure_DatabaseUnreachable(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	path, pool := systemPath(system, "/call-logs"), schematest.OpenPool(t, unreachable)
	h.config.Projection = pool
	h.restart()
	h.expectUnavailable(h.get(path, withKey(key)))
	h.config.Primary = pool
	h.restart()
	h.expectUnavailable(h.get(path, withKey(key)))
	h.expectCode("malformed key", h.get(path, with("X-API-Key", "noise")), unauthenticated)
}

func TestFailure_ClientGone(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	unlock := h.lock("call_log")
	ctx, cancel := context.WithCancel(t.Context())
	h.expectClientGone(ctx, systemPath(system, "/call-logs"), key, func() {
		cancel()
		unlock()
	})
}

// Clients that leave while their statements run, or while they wait for a connection, cost no connection: neither
// light statements, which are finished, nor long ones, which are cancelled.
func TestFailure_ClientsGoneKeepConnections(t *testing.T) {
	t.Parallel()
	patient := func(c *pgxpool.Config) {
		watch := c.ConnConfig.BuildContextWatcherHandler
		c.ConnConfig.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
			handler := watch(conn).(*pgconn.CancelRequestContextWatcherHandler)
			handler.DeadlineDelay = time.Minute // a busy machine may take more than a second to cancel a statement
			return handler
		}
	}
	h := newHarness(t, func(c *Config) {
		c.Primary = schematest.OpenPoolLike(t, c.Primary, patient)
		c.Projection = schematest.OpenPoolLike(t, c.Primary)
	})
	system := h.system("one")
	var keys []access.IssuedKey // so many that no key's share of the memory is used up
	for range 32 {
		keys = append(keys, h.key(system))
	}
	pools := []*pgxpool.Pool{h.config.Primary, h.config.Projection}
	for _, pool := range pools {
		schematest.OpenAll(t, pool)
	}
	opened := func() (n int64) {
		for _, pool := range pools {
			n += pool.Stat().NewConnsCount()
		}
		return n
	}
	before, connections := opened(), h.config.Projection.Stat().MaxConns()
	for path, c := range map[string]struct {
		requests int
		busy     int32 // connections
	}{
		systemPath(system, "/call-logs"):                                    {500, connections},
		systemPath(system, "/call-log-reports/dimensions"):                  {20, connections / 2},
		reportPath(system, reportQuery("includeTranscripts", "true")):       {20, connections / 2},
		reportPath(system, reportQuery("limit", "1", "dateTo", windowFrom)): {100, connections},
	} {
		unlock := h.lock("call_log", "row_count")
		ctx, cancel := context.WithCancel(t.Context())
		var served sync.WaitGroup
		for i := range c.requests {
			served.Go(func() {
				q := httptest.NewRequestWithContext(ctx, http.MethodGet, baseURL+path, nil)
				withKey(keys[i%len(keys)])(q.Header)
				defer func() {
					if value := recover(); value != http.ErrAbortHandler { //nolint:errorlint // the handler panics with this value
						t.Errorf("%s: panic value = %v, want %v", path, value, http.ErrAbortHandler)
					}
				}()
				h.handler.ServeHTTP(httptest.NewRecorder(), q)
			})
		}
		eventstest.Eventually(t, "statements on their share of the connections", func() bool {
			return h.config.Projection.Stat().AcquiredConns() == c.busy
		})
		cancel()
		unlock()
		served.Wait()
		h.expectCode("after it: "+path, h.get(path, withKey(keys[0])), "")
	}
	if got := opened(); got != before {
		t.Errorf("connections opened = %d, want none beyond %d", got, before)
	}
}

// expectClientGone serves a request that fails because its context ends, and checks that it is logged as 499 and
// not answered. It calls during while the request is served.
func (h *harness) expectClientGone(ctx context.Context, path string, key access.IssuedKey, during func()) {
	h.Helper()
	q := httptest.NewRequestWithContext(ctx, http.MethodGet, baseURL+path, nil)
	withKey(key)(q.Header)
	w := httptest.NewRecorder()
	aborted := make(chan any, 1)
	go func() {
		defer func() { aborted <- recover() }()
		h.handler.ServeHTTP(w, q)
	}()
	during()
	if value := <-aborted; value != http.ErrAbortHandler { //nolint:errorlint // the handler panics with this value
		h.Errorf("panic value = %v, want %v", value, http.ErrAbortHandler)
	}
	h.expectLogged(map[string]any{"status": 499.0, "level": "info"})
	if len(w.Header()) > 0 {
		h.Errorf("headers = %v, want none", w.Header())
	}
}

func TestFailure_Panic(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	s := h.handler.(*service)
	o := s.routes.byID["listPhones"]
	o.handle = func(context.Context, *request, *reply) error { panic("canary in a panic") }
	s.routes.byID[o.ID] = o
	w := h.get(systemPath(system, "/phones"), withKey(key))
	h.expectCode("panic", w, internalError)
	if strings.Contains(w.Body.String(), "canary") {
		t.Errorf("body has the panic's value: %s", w.Body)
	}
	h.expectLogged(map[string]any{"level": "error", "cause": "panic: canary in a panic"})
	if stack, _ := h.lastLine()["stack"].(string); !strings.Contains(stack, "failure_test.go") {
		t.Errorf("logged stack = %s, want it to name failure_test.go", stack)
	}
	if got := h.log.Count("canary in a panic"); got != 1 {
		t.Errorf("log lines with the panic = %d, want 1: %s", got, h.log)
	}
	h.expectCode("request after the panic", h.get("/customer/phone-systems", withKey(key)), "")
	s.publicRoutes["/api/docs"] = publicRoute{"docs", func(http.ResponseWriter, *http.Request, *exchange) error { panic("in a page") }}
	h.expectCode("panic in a page", h.get(siteURL+"/docs"), internalError)
}

// A statement that PostgreSQL refuses is an internal error. Its text is logged and not sent.
func TestFailure_StatementRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	h.exec("alter table projection.row_count rename column count to canary")
	w := h.get(systemPath(system, "/call-logs"), withKey(key))
	if got := problemIn(t, w); w.Code != 500 || got.Retryable || strings.Contains(w.Body.String(), "count") {
		t.Errorf("response = %d %s, want a 500 that is not retryable, without the cause", w.Code, w.Body)
	}
	if cause, _ := h.lastLine()["cause"].(string); !strings.Contains(cause, "SQLSTATE 42") {
		t.Errorf("logged cause = %q, want the SQLSTATE", cause)
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
		"a killed node":                        {&pgconn.PgError{Code: pgerrcode.InternalError, Where: "while executing command on db1:5432"}, serviceUnavailable},
		"a killed coordinator of nodes":        {&pgconn.PgError{Code: pgerrcode.InternalError, Message: "postmaster was shut down, exiting"}, serviceUnavailable},
		"a node that does not answer":          {access.ErrNodeDown, serviceUnavailable},
		"internal error instead of connection": {connectError(t, pgerrcode.InternalError), serviceUnavailable},
		"wrong password":                       {connectError(t, pgerrcode.InvalidPassword), serviceUnavailable},
		"too many connections at connect":      {connectError(t, pgerrcode.TooManyConnections), serviceUnavailable},
		"no credentials for a bucket":          {audio.ErrNoCredentials, serviceUnavailable},
		"deadline exceeded":                    {context.DeadlineExceeded, serviceUnavailable},
		"no row":                               {query.ErrNotFound, notFound},
		"no phone system that was covered":     {query.ErrNoSystem, serviceUnavailable},
		"partitions that change":               {access.ErrSwitching, serviceUnavailable},
		"credential not accepted":              {&access.DeniedError{Code: access.CredentialNotAccepted}, credentialNotAccepted},
		"denied":                               {&access.DeniedError{}, unauthenticated},
		"address":                              {&access.DeniedError{Code: access.AddressNotAllowed}, addressNotAllowed},
		"too many unknown keys":                {access.ErrThrottled, serviceUnavailable},
		"problem":                              {&problem{code: rateLimited}, rateLimited},
		"a report above the limit":             {operation{Report: limit.CallLogReports}.tooLarge(maxBody + 1), exportTooLarge},
		"another body above the limit":         {operation{}.tooLarge(maxBody + 1), internalError},
		"any other error":                      {errors.New("other"), internalError},
		"closed transaction":                   {pgx.ErrTxClosed, internalError},
	} {
		got := problemOf(errors.Join(errors.New("outer"), c.err))
		if got.code != c.want || (got.retryAfter > 0) != (c.want == serviceUnavailable) {
			t.Errorf("%s: code = %s, retry after %d s, want %s: %v", name, got.code, got.retryAfter, c.want, c.err)
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

// The columns of a new generation may have other types. A statement that was prepared for the old one is prepared
// again.
func TestGeneration_OtherColumnTypes(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(c *Config) {
		// One connection, which prepares its statements for the old generation.
		c.Primary = schematest.OpenPoolLike(t, c.Primary, func(p *pgxpool.Config) { p.MaxConns = 1 })
	})
	system, id := h.system("one"), uuid.New()
	insertRows(t, h.pool, "call_log", columns{"system_id": system, "id": id, "outcome": "answered", "recording_sid": "RE1"})
	key, path := h.key(system), systemPath(system, "/call-logs/"+id.String())
	before := h.get(path, withKey(key))
	h.exec("alter table projection.call_log alter column outcome type varchar(40), alter column recording_sid type varchar(70)")
	after := h.get(path, withKey(key))
	h.expectCode("before", before, "")
	h.expectCode("after", after, "")
	if got, want := after.Body.String(), before.Body.String(); got != want {
		t.Errorf("body = %s, want %s", got, want)
	}
}

// The load balancer says the same of a code as the reader: its type, its title and whether it is retryable.
func TestProblem_OfTheLoadBalancer(t *testing.T) {
	t.Parallel()
	document := regexp.MustCompile(`"type": ?"([^"]*)", ?"title": ?"([^"]*)",[^{}]*"code": ?"([A-Z_]+)",[^{}]*"retryable": ?(true|false)`)
	text, err := os.ReadFile("../deploy/haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	problems := document.FindAllStringSubmatch(string(text), -1)
	if len(problems) != 5 || strings.Count(string(text), "https://callboard.dev/problems/") != 5 {
		t.Errorf("problem documents = %d, want 5", len(problems))
	}
	for _, p := range problems {
		c := code(p[3])
		if i := c.info(); p[1] != c.problemType() || p[2] != i.title || p[4] != strconv.FormatBool(i.retryable) {
			t.Errorf("%s, want type %s, title %q, retryable %t", p[0], c.problemType(), i.title, i.retryable)
		}
	}
}

// Each code has a status of its own meaning, and these are worth another try.
func TestCode_Info(t *testing.T) {
	t.Parallel()
	retryable := []code{recordingNotReady, rateLimited, serviceUnavailable, externalServiceTimeout}
	for _, c := range []code{
		validationFailed, unauthenticated, insufficientScope, credentialNotAccepted, addressNotAllowed, notFound, methodNotAllowed, preconditionFailed,
		rangeNotSatisfiable, recordingNotReady, exportTooLarge, rateLimited, internalError, serviceUnavailable, externalServiceTimeout,
	} {
		i := c.info()
		if i.retryable != slices.Contains(retryable, c) || (i.status == http.StatusInternalServerError) != (c == internalError) {
			t.Errorf("%s: status = %d, retryable = %t", c, i.status, i.retryable)
		}
	}
}
