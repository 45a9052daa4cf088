package readapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	trail "callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/readapi/limit"
)

// perMinute is a reader whose keys have a budget of their own size.
func perMinute(tb testing.TB, permits int) func(*Config) {
	tb.Helper()
	return func(c *Config) { c.Limiter = newLimiter(tb, messages(tb), permits) }
}

// The rate is asked after the scope and before coverage; what a scope forbids costs nothing, what a grant doesn't cover does.
func TestBudget_Order(t *testing.T) {
	h := newHarness(t, perMinute(t, 2))
	system, other := h.system("one"), h.system("two")
	key, scopeless := h.key(system), h.key(system, withScopes(access.ScopePhones))
	base := "/customer/phone-systems/"
	for _, c := range []struct {
		name, path string
		key        access.IssuedKey
		code       code
		left       string // empty: the budget was not asked
	}{
		{"scope", base + system.String() + "/call-logs", scopeless, insufficientScope, ""},
		{"scope again", base + system.String() + "/call-logs", scopeless, insufficientScope, ""},
		{"malformed", base + "x/call-logs", key, validationFailed, ""},
		{"not covered", base + other.String() + "/call-logs", key, notFound, "1"},
		{"parameters", base + system.String() + "/call-logs?z=1", key, validationFailed, "0"},
		{"over the budget, not covered", base + other.String() + "/call-logs", key, rateLimited, "0"},
		{"over the budget, parameters", base + system.String() + "/call-logs?z=1", key, rateLimited, "0"},
		{"over the budget, malformed", base + "x/call-logs", key, validationFailed, ""},
		{"within the scopes", base + system.String() + "/phones?z=1", scopeless, validationFailed, "1"},
	} {
		w := h.get(c.path, withKey(c.key))
		if got := problemIn(t, w).Code; got != string(c.code) {
			t.Errorf("%s: %s, want %s", c.name, got, c.code)
		}
		policy, standing := w.Header().Get("RateLimit-Policy"), w.Header().Get("RateLimit")
		if c.left == "" {
			if policy+standing != "" {
				t.Errorf("%s: %s, %s", c.name, policy, standing)
			}
		} else if policy != `"tier";q=2;w=60` || !strings.HasPrefix(standing, `"tier";r=`+c.left+`;t=`) {
			t.Errorf("%s: %s, %s", c.name, policy, standing)
		}
	}
}

// A refusal says when to come back, in the body and in the header alike.
func TestBudget_RetryAfter(t *testing.T) {
	h := newHarness(t, perMinute(t, 1))
	key := h.key(h.system("one"))
	if w := h.get("/customer/phone-systems", withKey(key)); w.Code != 200 {
		t.Fatal(w.Code)
	}
	w := h.get("/customer/phone-systems", withKey(key))
	d := problemIn(t, w)
	if w.Code != 429 || !d.Retryable || d.RetryAfter < 1 || d.RetryAfter > 60 || w.Header().Get("Retry-After") != strconv.Itoa(d.RetryAfter) {
		t.Errorf("%d %+v, Retry-After %q", w.Code, d, w.Header().Get("Retry-After"))
	}
}

// Keys of one lineage share a budget; others don't.
func TestBudget_Lineage(t *testing.T) {
	h := newHarness(t, perMinute(t, 1))
	system := h.system("one")
	old, next, other := h.key(system), h.key(system), h.key(system)
	h.exec("update access.key set lineage = $1 where id = $2", old.ID, next.ID)
	for _, c := range []struct {
		key    access.IssuedKey
		status int
	}{{old, 200}, {next, 429}, {other, 200}} {
		if w := h.get("/customer/phone-systems", withKey(c.key)); w.Code != c.status {
			t.Errorf("%d, want %d", w.Code, c.status)
		}
	}
}

// Whoever may not read reports is refused without a statement on the projection, which is out of reach here.
func TestReports_RefusedBeforeTheyAreRead(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.Projection = openPool(t, "postgres://nobody@127.0.0.1:1/nowhere") })
	system := h.system("one")
	for name, c := range map[string]struct {
		key    access.IssuedKey
		status int
	}{
		"may":       {h.key(system), 503},
		"narrowed":  {h.key(system, narrowedTo(h.extension(system))), 403},
		"no scope":  {h.key(system, withScopes(access.ScopePhones)), 403},
		"not its":   {h.key(h.system("two")), 404},
		"not alive": {h.key(uuid.New()), 404},
	} {
		for _, path := range []string{"/call-log-reports?dateFrom=2026-03-01T00:00:00Z&dateTo=2026-03-02T00:00:00Z", "/call-log-reports/dimensions"} {
			if w := h.get("/customer/phone-systems/"+system.String()+path, withKey(c.key)); w.Code != c.status {
				t.Errorf("%s, %s: %d, want %d", name, path, w.Code, c.status)
			}
		}
	}
}

// While the audit can take no entry, whoever holds a key is refused, and whoever doesn't hears what it always hears.
func TestAudit_Full(t *testing.T) {
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	h := newHarness(t, func(c *Config) { c.AuditQueue = newAuditQueue(t, js, 2) })
	key := h.key(h.system("one"))
	for _, want := range []int{200, 200, 503} {
		if w := h.get("/customer/phone-systems", withKey(key)); w.Code != want {
			t.Errorf("%d, want %d", w.Code, want)
		} else if want == 503 && problemIn(t, w).RetryAfter == 0 {
			t.Error("no retry_after")
		}
	}
	if err := h.registry.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	if w := h.get("/customer/phone-systems", withKey(key)); w.Code != 503 {
		t.Errorf("revoked: %d", w.Code)
	}
	if w := h.get("/customer/phone-systems", with("X-API-Key", forged(key.Key))); w.Code != 401 {
		t.Errorf("forged: %d", w.Code)
	}
	if _, err := js.CreateStream(t.Context(), trail.StreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for w := h.get("/customer/phone-systems", withKey(key)); w.Code != 401; w = h.get("/customer/phone-systems", withKey(key)) {
		select {
		case <-deadline:
			t.Fatalf("still %d", w.Code)
		case <-tick.C:
		}
	}
}

// What is said of a request is what was answered, whatever that was.
func TestAudit_Entries(t *testing.T) {
	js := messages(t)
	h := newHarness(t, perMinute(t, 5), func(c *Config) {
		c.AuditQueue, c.Projection = newAuditQueue(t, js, 0), openPool(t, "postgres://nobody@127.0.0.1:1/nowhere")
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} // httptest's address is within
	})
	system := h.system("one")
	key := h.key(system)
	path := "/customer/phone-systems"
	tag := h.get(path, withKey(key), with("X-Request-Id", "read")).Header().Get("ETag")
	h.get(path, withKey(key), with("If-None-Match", tag), with("X-Request-Id", "unchanged"))
	h.do("HEAD", path, withKey(key), with("X-Request-Id", "head"))
	h.get(path+"/"+system.String()+"/phones", withKey(key), with("X-Request-Id", "unavailable"))
	h.get(path, with("X-API-Key", forged(key.Key)), with("X-Request-Id", "forged"))
	h.get(path, with("X-Request-Id", "anonymous"))
	h.do("POST", path, withKey(key), with("X-Request-Id", "method"))
	h.get("/elsewhere", withKey(key), with("X-Request-Id", "elsewhere"))
	h.get(path, withKey(key), with("X-Forwarded-For", "203.0.113.7, 192.0.2.9"), with("X-Request-Id", "proxied"))
	h.get(path, withKey(key), with("X-Request-Id", "limited"))
	want := []string{
		"read listAccessiblePhoneSystems 200  192.0.2.1", "unchanged listAccessiblePhoneSystems 304  192.0.2.1",
		"head listAccessiblePhoneSystems 200  192.0.2.1", "unavailable listPhones 503 SERVICE_UNAVAILABLE 192.0.2.1",
		"proxied listAccessiblePhoneSystems 200  203.0.113.7", "limited listAccessiblePhoneSystems 429 RATE_LIMITED 192.0.2.1",
	}
	got := entries(t, js, len(want))
	for i, e := range got {
		if text := strings.Join([]string{e.RequestID, e.Operation, strconv.Itoa(e.Status), e.Code, e.Address.String()}, " "); i >= len(want) || text != want[i] {
			t.Errorf("entry %d: %s", i, text)
		}
		if e.KeyID != key.ID || e.System.Valid != (e.Operation == "listPhones") || e.System.Valid && e.System.UUID != system {
			t.Errorf("entry %d: key %s, system %v", i, e.KeyID, e.System)
		}
	}
}

// entries are the audit's, once there are as many.
func entries(t *testing.T, js jetstream.JetStream, least int) (all []trail.Entry) {
	t.Helper()
	consumer, err := js.CreateConsumer(t.Context(), trail.StreamName, trail.ConsumerConfig())
	if err != nil {
		t.Fatal(err)
	}
	for len(all) < least {
		m, err := consumer.Next(jetstream.FetchMaxWait(30 * time.Second))
		if err != nil {
			t.Fatalf("%d entries, %v", len(all), err)
		}
		list, err := trail.Decode(m.Data())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	return all
}

// A request that ends while its budget is asked for was not over it: it is unavailable, or gone.
func TestBudget_EndedMeanwhile(t *testing.T) {
	js := messages(t)
	silent, err := limit.New(limit.Config{JetStream: js, Report: 1, Standard: 1, Premium: 1, DecisionTimeout: time.Hour, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, func(c *Config) { c.Limiter, c.Timeout, c.AuditQueue = silent, time.Second, newAuditQueue(t, js, 0) })
	key := h.key(h.system("one"))
	h.get("/customer/phone-systems", with("X-API-Key", forged(key.Key))) // the pool's first connection takes its time
	h.expectUnavailable(h.get("/customer/phone-systems", withKey(key)))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	q := httptest.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/customer/phone-systems", nil)
	withKey(key)(q.Header)
	w := httptest.NewRecorder()
	h.abandoned(w, q)
	if line := h.log.last(t); line["status"] != 499.0 || len(w.Header()) > 0 {
		t.Errorf("logged %v, sent %v", line, w.Header())
	}
	if e := entries(t, js, 1)[0]; e.Status != 503 || e.Code != "SERVICE_UNAVAILABLE" {
		t.Errorf("%+v", e)
	}
}
