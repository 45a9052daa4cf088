package readapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

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
	r := newReader(t, func(c *Config) { c.Timeout = 50 * time.Millisecond })
	system := r.system("one")
	key := r.key(system)
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
	q := httptest.NewRequest("GET", baseURL+"/customer/phone-systems/"+system.String()+"/call-logs", nil).WithContext(ctx)
	withKey(key)(q.Header)
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.handler.ServeHTTP(w, q)
	}()
	cancel()
	<-done
	if line := r.log.last(t); line["status"] != 499.0 || line["level"] != "info" || len(w.Header()) > 0 {
		t.Errorf("logged %v, sent %v", line, w.Header())
	}
}

func TestFailure_Panic(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	key := r.key(system)
	s := r.handler.(*service)
	o := s.routes.byID["listPhones"]
	o.answer = func(context.Context, *request, *reply) error { panic("canary in a panic") }
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
		{refused("57014"), serviceUnavailable}, // a statement timeout
		{refused("57P01"), serviceUnavailable}, // shutdown
		{refused("53300"), serviceUnavailable}, // too many connections
		{refused("08006"), serviceUnavailable},
		{refused("40001"), serviceUnavailable}, // a replica's recovery
		{refused("42501"), internalError},
		{refused("22P02"), internalError},
		{context.DeadlineExceeded, serviceUnavailable},
		{query.ErrNotFound, notFound},
		{&access.Denial{Verdict: access.NotAccepted}, credentialNotAccepted},
		{&access.Denial{}, unauthenticated},
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
		"insert into projection.day_count values ($1, 'call_log', $1, '2026-01-01', 1)",
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
		if !errors.As(err, &refused) || refused.Code != "42501" {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// No secret and no query string is in the log, in an error or in a printed configuration.
func TestLog(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	key := r.key(system)
	text := key.Key.Reveal()
	secret := strings.Split(text, "_")[3]
	path := "/customer/phone-systems/" + system.String() + "/call-logs"
	r.get(path+"?callSid=canary&api_key="+text, withKey(key), with("Cookie", "canary"), with("User-Agent", "canary"))
	r.get(path, with("Authorization", "Bearer "+text))
	r.get(path, with("X-API-Key", text+"canary"))
	r.get("/"+text, withKey(key))
	r.get("/customer/phone-systems/"+text+"/phones/canary", withKey(key))
	r.get(path, with("X-API-Key", forged(key.Key)), with("X-Forwarded-For", "canary"))
	for _, forbidden := range []string{secret, "canary", "pppp"} {
		if strings.Contains(r.log.String(), forbidden) {
			t.Errorf("%q is in the log: %s", forbidden, r.log)
		}
	}
	r.get(path, withKey(key), with("X-Request-Id", "abc"))
	line := r.log.last(t)
	for field, want := range map[string]any{
		"request_id": "abc", "operation": "listCallLogs", "method": "GET", "status": 200.0, "key": key.ID.String(), "level": "info",
	} {
		if line[field] != want {
			t.Errorf("%s: %v, want %v", field, line[field], want)
		}
	}
	if got := strings.Count(r.log.String(), "\n"); got != 7 {
		t.Errorf("%d lines of 7 requests", got)
	}
	r.get(path, with("X-API-Key", forged(key.Key)))
	if line := r.log.last(t); line["denial"] != "wrong secret" || line["key"] != key.ID.String() {
		t.Errorf("denied: %v", line)
	}
}

func TestMetrics(t *testing.T) {
	r := newReader(t)
	key := r.key(r.system("one"))
	r.get("/customer/phone-systems", withKey(key))
	r.get("/customer/phone-systems")
	r.get("/nothing")
	want := `
		# HELP callboard_readapi_requests_total Requests answered, by operation and status. 499: the client did not wait.
		# TYPE callboard_readapi_requests_total counter
		callboard_readapi_requests_total{operation="listAccessiblePhoneSystems",status="200"} 1
		callboard_readapi_requests_total{operation="listAccessiblePhoneSystems",status="401"} 1
		callboard_readapi_requests_total{operation="none",status="404"} 1
	`
	registry := r.config.Metrics.(*prometheus.Registry)
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "callboard_readapi_requests_total"); err != nil {
		t.Error(err)
	}
	if count, err := testutil.GatherAndCount(registry, "callboard_readapi_request_duration_seconds"); count != 2 || err != nil {
		t.Errorf("%d histograms, %v", count, err)
	}
}

// A request of a client behind a proxy is judged by the address that the proxy names.
func TestTrustedProxy(t *testing.T) {
	r := newReader(t, func(c *Config) { c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix("192.0.2.0/24")) })
	system := r.system("one")
	key := r.key(system, func(q *access.Request) { q.Networks = append(q.Networks, netip.MustParsePrefix("203.0.113.0/24")) })
	for forwarded, want := range map[string]int{"203.0.113.9": 200, "203.0.113.9, 198.51.100.1": 403, "": 403} {
		if w := r.get("/customer/phone-systems", withKey(key), with("X-Forwarded-For", forwarded)); w.Code != want {
			t.Errorf("%q: %d, want %d", forwarded, w.Code, want)
		}
	}
}

// A generation of the projection can be switched in by renaming schemas, column types changed, while requests go on.
func TestGenerationSwitch(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	id := uuid.New()
	r.full(system, id)
	key := r.key(system)
	config := r.config.Primary.Config()
	config.MaxConns = 1 // one connection, whose statements are prepared for the old generation
	single, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(single.Close)
	r.config.Primary, r.config.Metrics = single, prometheus.NewRegistry()
	if r.handler, err = New(r.config); err != nil {
		t.Fatal(err)
	}
	path := "/customer/phone-systems/" + system.String() + "/call-logs/" + id.String()
	before := r.get(path, withKey(key))
	r.exec("alter table projection.call_log alter column outcome type varchar(40), alter column recording_sid type varchar(70)")
	after := r.get(path, withKey(key))
	if before.Code != http.StatusOK || after.Code != http.StatusOK || before.Body.String() != after.Body.String() {
		t.Errorf("before: %d, after: %d %s, %v", before.Code, after.Code, after.Body, r.log.last(t)["cause"])
	}
}
