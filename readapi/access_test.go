package readapi

import (
	"context"
	"hash/crc32"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
	"callboard/schema/schematest"
)

// credential is what a request presents, and the code of the answer.
type credential struct {
	name    string
	headers []header
	code    code // empty: what the operation answers to a permitted key
}

// forged is a well-formed key with a live key's short part and another secret.
func forged(live access.Key) string {
	other := access.NewKey().Reveal()
	body := strings.Replace(other[:len(other)-6], strings.Split(other, "_")[2], live.Short(), 1)
	sum := big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))).Text(62)
	return body + strings.Repeat("0", 6-len(sum)) + sum
}

func (h *harness) unauthenticated(system uuid.UUID) []credential {
	live := h.key(system)
	text := live.Key.Reveal()
	expired, revoked, unknownPepper := h.key(system), h.key(system), h.key(system)
	h.exec("update access.key set expires_at = now() - interval '1 second' where id = $1", expired.ID)
	h.exec("update access.key set pepper_id = 'another' where id = $1", unknownPepper.ID)
	if _, err := h.registry.Revoke(context.Background(), revoked.ID); err != nil {
		h.Fatal(err)
	}
	typo := "x"
	if text[30] == 'x' {
		typo = "y"
	}
	key := func(value string) []header { return []header{with("X-API-Key", value)} }
	all := []credential{
		{name: "no credential"},
		{name: "key without its secret", headers: key("sk_phones_abc")},
		{name: "key with a typing error", headers: key(text[:30] + typo + text[31:])},
		{name: "key that was never issued", headers: key(access.NewKey().Reveal())},
		{name: "live key's short part with another secret", headers: key(forged(live.Key))},
		{name: "expired key", headers: []header{withKey(expired)}},
		{name: "revoked key", headers: []header{withKey(revoked)}},
		{name: "key under an unknown pepper", headers: []header{withKey(unknownPepper)}},
		{name: "basic authorization", headers: []header{with("Authorization", "Basic "+text)}},
		{name: "bad X-API-Key with a good authorization", headers: []header{with("X-API-Key", "noise"), with("Authorization", "Bearer "+text)}},
	}
	for i := range all {
		all[i].code = unauthenticated
	}
	return all
}

// fromNetwork limits a key to clients in a network.
func fromNetwork(network string) func(*access.KeySpec) {
	return func(q *access.KeySpec) { q.Networks = append(q.Networks, netip.MustParsePrefix(network)) }
}

// The address of a request in these tests is that of httptest, 192.0.2.1.
const ownNetwork, otherNetwork = "192.0.2.0/24", "203.0.113.0/24"

func (h *harness) credentials(system uuid.UUID) []credential {
	session := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	elsewhere, live := h.key(system, fromNetwork(otherNetwork)), h.key(system)
	here := h.key(system, fromNetwork("2001:db8::/32"), fromNetwork(ownNetwork), func(q *access.KeySpec) { q.Expires = time.Now().Add(time.Hour) })
	return append(h.unauthenticated(system), []credential{
		{"publishable key", []header{with("X-API-Key", "pk_phones_abc_def")}, credentialNotAccepted},
		{"platform key", []header{with("X-API-Key", "sk_platform_abc")}, credentialNotAccepted},
		{"session token", []header{with("Authorization", "Bearer "+session)}, credentialNotAccepted},
		{"session token as the key", []header{with("X-API-Key", session)}, credentialNotAccepted},
		{"address off the allowlist", []header{withKey(elsewhere)}, addressNotAllowed},
		{name: "key", headers: []header{withKey(live)}},
		{name: "key as a bearer token", headers: []header{with("Authorization", "bEARER  "+live.Key.Reveal())}},
		{name: "key with a session token", headers: []header{withKey(live), with("Authorization", "Bearer a.b.c")}},
		{name: "address on the allowlist", headers: []header{withKey(here)}},
	}...)
}

func TestAccess_EveryCredentialOnEveryOperation(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	credentials := h.credentials(system)
	for _, o := range allOperations() {
		for _, c := range credentials {
			want := c.code
			if want == "" {
				want = o.emptySystemCode()
			}
			h.expectCode(o.ID+", "+c.name, h.get(o.examplePath(system.String()), c.headers...), want)
		}
	}
}

// emptySystemCode is what a permitted key receives from a system without data.
func (o operation) emptySystemCode() code {
	switch {
	case o.ID == "listCallLogReports": // requires a window
		return validationFailed
	case strings.HasPrefix(o.ID, "get") && !o.isReport():
		return notFound
	}
	return ""
}

func TestAccess_UnauthenticatedIsOneResponse(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	var first string
	for _, c := range h.unauthenticated(system) {
		w := h.get("/customer/phone-systems", append(c.headers, with("X-Request-Id", "same"))...)
		if first == "" {
			first = whole(w)
		}
		if got := whole(w); got != first || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: response = %s, want %s with WWW-Authenticate", c.name, got, first)
		}
	}
}

func TestAccess_TrustedProxy(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(ownNetwork)} })
	key := h.key(h.system("one"), fromNetwork(otherNetwork))
	for forwarded, want := range map[string]code{"203.0.113.9": "", "203.0.113.9, 198.51.100.1": addressNotAllowed, "": addressNotAllowed} {
		h.expectCode("X-Forwarded-For: "+forwarded, h.get("/customer/phone-systems", withKey(key), with("X-Forwarded-For", forwarded)), want)
	}
}

// whole is a response's body and headers, without its correlation id.
func whole(w *httptest.ResponseRecorder) string { return masked(w) + headerText(w.Header()) }

// A path outside the contract is answered before the quota is checked. Apart from the quota's headers, the response
// is that of a call that doesn't exist, as for the zero phone system and for a call outside the key's extension.
func TestAccess_NotFoundOutsideTheContract(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	outside := h.get(systemPath(system, "/call-log"), withKey(h.key(system)), with("X-Request-Id", "same"))
	call := systemPath(system, "/call-logs/"+h.oneCall(system).String())
	h.expectCode("the call", h.get(call, withKey(h.key(system))), "")
	for name, c := range map[string]struct {
		path string
		key  access.IssuedKey
	}{
		"unknown call":                       {systemPath(system, "/call-logs/"+uuid.NewString()), h.key(system)},
		"zero system":                        {systemPath(uuid.Nil, "/call-logs/"+uuid.NewString()), h.key(system)},
		"a call outside the key's extension": {call, h.key(system, narrowedTo(h.extension(system)))},
	} {
		absent := h.get(c.path, withKey(c.key), with("X-Request-Id", "same"))
		for _, header := range []string{"RateLimit", "RateLimit-Policy"} {
			if absent.Header().Get(header) == "" {
				t.Errorf("%s: %s = %q, want a value", name, header, "")
			}
			absent.Header().Del(header)
		}
		if got, want := whole(absent), whole(outside); absent.Code != 404 || outside.Code != 404 || got != want {
			t.Errorf("%s: response = %d %s, want 404 as outside the contract: %d %s", name, absent.Code, got, outside.Code, want)
		}
	}
}

// The primary decides coverage, so it also lists the phone systems: a stale replica must not show a system that was
// lost.
func TestPhoneSystems_ReadFromThePrimary(t *testing.T) {
	t.Parallel()
	replicaDatabase := schematest.New(t)
	replicaDatabase.OnePartition(t)
	replica := fixture{t, schematest.OpenPool(t, replicaDatabase.URL())}
	h := newHarness(t, func(c *Config) { c.Projection = replica.pool })
	organization, present := uuid.New(), h.system("present")
	h.attach(present, organization)
	replica.attach(replica.system("lost"), organization)
	key := h.key(uuid.Nil, grantedTo(access.GrantOrganization, organization))
	want := `{"data":[{"id":"` + present.String() + `","name":"present"}]}`
	if got := h.get("/customer/phone-systems", withKey(key)).Body.String(); got != want {
		t.Errorf("body = %s, want %s", got, want)
	}
}

// While the replica lacks a phone system that the primary covers, every operation below it is unavailable: 404
// would mean that it was removed. What the replica lacks below a phone system is answered 404, and so is a phone
// system that is not covered.
func TestPhoneSystems_NotYetInTheReplica(t *testing.T) {
	t.Parallel()
	replicaDatabase := schematest.New(t)
	replicaDatabase.OnePartition(t)
	replica := fixture{t, schematest.OpenPool(t, replicaDatabase.URL())}
	h := newHarness(t, func(c *Config) { c.Projection = replica.pool })
	system := h.system("new")
	key := h.key(system)
	for _, o := range allOperations() {
		if !strings.Contains(o.Path, systemVariable) {
			continue
		}
		path := o.examplePath(system.String())
		if o.ID == "listCallLogReports" {
			path += "?" + reportQuery()
		}
		w := h.get(path, withKey(key))
		h.expectCode(o.ID, w, serviceUnavailable)
		h.expectHeaders(o.ID, w, map[string]string{"Retry-After": "2"})
	}
	h.expectCode("not covered", h.get(systemPath(uuid.New(), "/phones"), withKey(key)), notFound)
	replica.exec("insert into projection.phone_system (partition, id, version, name) values (0, $1, 1, 'new')", system)
	h.expectCode("in the replica", h.get(systemPath(system, "/phones"), withKey(key)), "")
	h.expectCode("in the replica, without the call", h.get(systemPath(system, "/call-logs/"+uuid.NewString()), withKey(key)), notFound)
}

// A network that sends too many unknown keys is told to wait, and its valid keys are answered. The clock is
// stopped: a busy machine would not send them fast enough.
func TestAccess_UnknownKeysThrottled(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h := newHarness(t, func(c *Config) { c.now = func() time.Time { return now } })
	key := h.key(h.system("one"))
	const path = "/customer/phone-systems"
	h.expectCode("valid key", h.get(path, withKey(key)), "")
	unknown := func() *httptest.ResponseRecorder { return h.get(path, with("X-API-Key", access.NewKey().Reveal())) }
	w := unknown()
	h.expectCode("unknown key", w, unauthenticated)
	for n := 0; w.Code == http.StatusUnauthorized && n < 1000; n++ {
		w = unknown()
	}
	h.expectCode("throttled key", w, serviceUnavailable)
	h.expectHeaders("throttled key", w, map[string]string{"Retry-After": "1"})
	h.expectCode("valid key of the network", h.get(path, withKey(key)), "")
}
