package readapi

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/readapi/limit"
	"callboard/schema/schematest"
)

// withQuota limits every key to a number of permits a minute.
func withQuota(tb testing.TB, permits int) func(*Config) {
	tb.Helper()
	return func(c *Config) { c.Limiter = newLimiter(tb, newJetStream(tb), permits) }
}

// Checks are made in the contract's order. The quota is checked after the scope and before coverage: a request
// without the scope takes no permit, one for a system that is not covered does.
func TestChecks_Order(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withQuota(t, 2))
	system, uncovered := h.system("one"), h.system("two")
	key, scopeless := h.key(system), h.key(system, withScopes(access.ScopePhones))
	elsewhere := h.key(system, withScopes(access.ScopePhones), fromNetwork(otherNetwork))
	bad, far, near := "/customer/phone-systems/x/call-logs/y?z=1", systemPath(uncovered, "/call-logs?z=1"), systemPath(system, "/call-logs?z=1")
	for _, c := range []struct {
		name, path string
		headers    []header
		code       code
		remaining  string // empty: the quota was not checked
	}{
		{"path", "/nothing?z=1", nil, notFound, ""},
		{"credential", bad, nil, unauthenticated, ""},
		{"address", bad, []header{withKey(elsewhere)}, addressNotAllowed, ""},
		{"identifiers", bad, []header{withKey(scopeless)}, validationFailed, ""},
		{"scope", far, []header{withKey(scopeless)}, insufficientScope, ""},
		{"scope again", far, []header{withKey(scopeless)}, insufficientScope, ""},
		{"coverage", far, []header{withKey(key)}, notFound, "1"},
		{"parameters", near, []header{withKey(key)}, validationFailed, "0"},
		{"quota before coverage", far, []header{withKey(key)}, rateLimited, "0"},
		{"quota before parameters", near, []header{withKey(key)}, rateLimited, "0"},
		{"identifiers before quota", bad, []header{withKey(key)}, validationFailed, ""},
		{"quota untouched by missing scopes", systemPath(system, "/phones?z=1"), []header{withKey(scopeless)}, validationFailed, "1"},
	} {
		w := h.get(c.path, c.headers...)
		h.expectCode(c.name, w, c.code)
		if d := problemIn(t, w); c.code == rateLimited && (!d.Retryable || d.RetryAfter < 1 || d.RetryAfter > 60 || w.Header().Get("Retry-After") != strconv.Itoa(d.RetryAfter)) {
			t.Errorf("%s: retryable = %t, retry_after = %d, Retry-After = %q, want 1 to 60 s in both", c.name, d.Retryable, d.RetryAfter, w.Header().Get("Retry-After"))
		}
		policy, quota := w.Header().Get("RateLimit-Policy"), w.Header().Get("RateLimit")
		switch {
		case c.remaining == "" && policy+quota != "":
			t.Errorf("%s: RateLimit-Policy = %q, RateLimit = %q, want none", c.name, policy, quota)
		case c.remaining != "" && (policy != `"tier";q=2;w=60` || !strings.HasPrefix(quota, `"tier";r=`+c.remaining+`;t=`)):
			t.Errorf("%s: RateLimit-Policy = %q, RateLimit = %q, want %s of 2 remaining", c.name, policy, quota, c.remaining)
		}
	}
	h.expectCode("method", h.do("POST", bad), methodNotAllowed)
}

// The projection is unreachable here, so every other code than SERVICE_UNAVAILABLE is decided without it.
func TestReports_DeniedBeforeTheProjectionIsRead(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(c *Config) { c.Projection = schematest.OpenPool(t, unreachable) })
	system := h.system("one")
	for name, c := range map[string]struct {
		key  access.IssuedKey
		code code
	}{
		"permitted":      {h.key(system), serviceUnavailable},
		"narrowed":       {h.key(system, narrowedTo(h.extension(system))), insufficientScope},
		"without scope":  {h.key(system, withScopes(access.ScopePhones)), insufficientScope},
		"not covered":    {h.key(h.system("two")), notFound},
		"unknown system": {h.key(uuid.New()), notFound},
	} {
		for _, path := range []string{reportPath(system, reportQuery()), dimensionsPath(system)} {
			h.expectCode(name+", "+path, h.get(path, withKey(c.key)), c.code)
		}
	}
}

// While a lineage's share of the audit queue is full, its requests are refused. Others are answered, and so are
// requests that get no permit.
func TestAudit_QueueFull(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL()) // without the audit stream
	h := newHarness(t, func(c *Config) { c.AuditQueue = newAuditQueue(t, js, 16) })
	key, other := h.key(h.system("one")), h.key(h.system("two"))
	for i, want := range []code{"", "", serviceUnavailable} {
		w := h.get("/customer/phone-systems", withKey(key))
		h.expectCode("request "+strconv.Itoa(i), w, want)
		if want != "" && problemIn(t, w).RetryAfter == 0 {
			t.Errorf("retry_after = 0, want a delay")
		}
	}
	h.expectCode("another lineage", h.get("/customer/phone-systems", withKey(other)), "")
	if _, err := h.registry.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	h.expectCode("revoked key", h.get("/customer/phone-systems", withKey(key)), unauthenticated)
	if _, err := js.CreateStream(t.Context(), events.AuditStreamConfig(1)); err != nil { // so that the queue can end
		t.Fatal(err)
	}
}

// Every response to a key's request has an entry that says what was answered.
func TestAudit_Entries(t *testing.T) {
	t.Parallel()
	js := newJetStream(t)
	h := newHarness(t, withQuota(t, 5), func(c *Config) {
		c.AuditQueue, c.Projection = newAuditQueue(t, js, 0), schematest.OpenPool(t, unreachable)
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(ownNetwork)}
	})
	system := h.system("one")
	key := h.key(system)
	path := "/customer/phone-systems"
	tag := h.get(path, withKey(key), with("X-Request-Id", "read")).Header().Get("ETag")
	h.get(path, withKey(key), with("If-None-Match", tag), with("X-Request-Id", "unchanged"))
	h.do("HEAD", path, withKey(key), with("X-Request-Id", "head"))
	h.get(systemPath(system, "/phones"), withKey(key), with("X-Request-Id", "unavailable"))
	h.get(path, with("X-API-Key", forged(key.Key)), with("X-Request-Id", "forged"))
	h.get(path, with("X-Request-Id", "anonymous"))
	h.do("POST", path, withKey(key), with("X-Request-Id", "method"))
	h.get("/elsewhere", withKey(key), with("X-Request-Id", "elsewhere"))
	h.get("/elsewhere", with("X-API-Key", forged(key.Key)))
	h.get("/elsewhere")
	h.get("/customer/phone-systems/"+system.String()[:35]+"g/phones", withKey(key), with("X-Request-Id", "malformed"))
	h.get(path, withKey(key), with("X-Forwarded-For", "203.0.113.7, 192.0.2.9"), with("X-Request-Id", "proxied"))
	h.get(path, withKey(key), with("X-Request-Id", "limited"))
	want := []string{
		"read listAccessiblePhoneSystems 200  192.0.2.1", "unchanged listAccessiblePhoneSystems 304  192.0.2.1",
		"head listAccessiblePhoneSystems 200  192.0.2.1", "unavailable listPhones 503 SERVICE_UNAVAILABLE 192.0.2.1",
		"method none 405 METHOD_NOT_ALLOWED 192.0.2.1", "elsewhere none 404 NOT_FOUND 192.0.2.1",
		"malformed listPhones 400 VALIDATION_FAILED 192.0.2.1",
		"proxied listAccessiblePhoneSystems 200  203.0.113.7", "limited listAccessiblePhoneSystems 429 RATE_LIMITED 192.0.2.1",
	}
	got := auditEntries(t, js, func(all []events.AuditEntry) bool { return len(all) >= len(want) })
	if len(got) != len(want) {
		t.Fatalf("entries = %d, want %d", len(got), len(want))
	}
	for i, e := range got {
		if text := strings.Join([]string{e.RequestID, e.Operation, strconv.Itoa(e.Status), e.Code, e.Address.String()}, " "); text != want[i] {
			t.Errorf("entry %d = %s, want %s", i, text, want[i])
		}
		wantSystem := uuid.NullUUID{UUID: system, Valid: true}
		if e.RequestID != "unavailable" {
			wantSystem = uuid.NullUUID{}
		}
		if e.KeyID != key.ID || e.System != wantSystem {
			t.Errorf("entry %d: key id = %s, system = %v, want %s, %v", i, e.KeyID, e.System, key.ID, wantSystem)
		}
	}
}

// auditEntries reads messages of the audit stream until their entries are enough.
func auditEntries(t *testing.T, js jetstream.JetStream, enough func([]events.AuditEntry) bool) (all []events.AuditEntry) {
	t.Helper()
	consumer, err := js.CreateConsumer(t.Context(), events.AuditStream, jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	for !enough(all) {
		m, err := consumer.Next(jetstream.FetchMaxWait(time.Minute))
		if err != nil {
			t.Fatalf("entries = %d, want more: %v", len(all), err)
		}
		list, err := events.DecodeAudit(m.Data())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	return all
}

// A client that leaves while its quota is being checked is not rate limited.
func TestQuota_ClientLeavesDuringTheCheck(t *testing.T) {
	t.Parallel()
	js := newJetStream(t)
	stopped, err := limit.New(limit.Config{JetStream: js, Report: 1, Standard: 1, Premium: 1, Timeout: time.Hour, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	authorized := make(chan struct{}, 1) // is notified when statements have ended
	h := newHarness(t, func(c *Config) {
		c.Limiter, c.Timeout, c.AuditQueue = stopped, time.Hour, newAuditQueue(t, js, 0)
		c.Primary = schematest.OpenTracedPool(t, c.Primary, &schematest.Tracer{End: func() { notify(authorized) }})
	})
	key := h.key(h.system("one"))
	h.get("/customer/phone-systems", with("X-API-Key", forged(key.Key))) // opens the first connection
	<-authorized
	ctx, cancel := context.WithCancel(t.Context())
	h.expectClientGone(ctx, "/customer/phone-systems", key, func() {
		<-authorized
		cancel()
	})
}

// notify sends to a channel unless a notification waits there.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// NATS that does not decide costs a request half of its time at most.
func TestQuota_LimiterLeavesTimeForTheAnswer(t *testing.T) {
	t.Parallel()
	js := newJetStream(t)
	stopped, err := limit.New(limit.Config{JetStream: js, Report: 1, Standard: 1, Premium: 1, Timeout: time.Hour, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, func(c *Config) { c.Limiter, c.Timeout = stopped, 3*time.Second })
	h.expectCode("without NATS", h.get("/customer/phone-systems", withKey(h.key(h.system("one")))), "")
}
