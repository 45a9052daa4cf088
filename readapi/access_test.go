package readapi

import (
	"context"
	"hash/crc32"
	"math/big"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

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

// credentials has one of each answer, and those whose answer must not tell them apart.
func (h *harness) credentials(system uuid.UUID) []credential {
	live, expired, revoked, unknownPepper := h.key(system), h.key(system), h.key(system), h.key(system)
	h.exec("update access.key set expires_at = now() - interval '1 second' where id = $1", expired.ID)
	h.exec("update access.key set pepper_id = 'another' where id = $1", unknownPepper.ID)
	if _, err := h.registry.Revoke(context.Background(), revoked.ID); err != nil {
		h.Fatal(err)
	}
	return []credential{
		{"no credential", nil, unauthenticated},
		{"malformed key", []header{with("X-API-Key", "sk_phones_abc")}, unauthenticated},
		{"key that was never issued", []header{with("X-API-Key", access.NewKey().Reveal())}, unauthenticated},
		{"live key's short part with another secret", []header{with("X-API-Key", forged(live.Key))}, unauthenticated},
		{"expired key", []header{withKey(expired)}, unauthenticated},
		{"revoked key", []header{withKey(revoked)}, unauthenticated},
		{"key under an unknown pepper", []header{withKey(unknownPepper)}, unauthenticated},
		{"session token", []header{with("Authorization", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2ln")}, credentialNotAccepted},
		{"address off the allowlist", []header{withKey(h.key(system, fromNetwork(otherNetwork)))}, addressNotAllowed},
		{"address on the allowlist", []header{withKey(h.key(system, fromNetwork(otherNetwork), fromNetwork(ownNetwork)))}, ""},
		{"key as a bearer token", []header{with("Authorization", "bEARER  "+live.Key.Reveal())}, ""},
	}
}

// Every operation checks the credential. All that is unauthenticated is one response.
func TestAccess_EveryCredentialOnEveryOperation(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	var first string
	for _, c := range h.credentials(system) {
		for _, o := range allOperations() {
			want := c.code
			if want == "" {
				want = o.emptySystemCode()
			}
			w := h.get(o.examplePath(system.String()), append(c.headers, with("X-Request-Id", "same"))...)
			h.expectCode(o.ID+", "+c.name, w, want)
			if c.code != unauthenticated {
				continue
			}
			if first == "" {
				first = whole(w)
			}
			if got := whole(w); got != first || w.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("%s, %s: response = %s, want %s with WWW-Authenticate", o.ID, c.name, got, first)
			}
		}
	}
}

// fromNetwork limits a key to clients in a network.
func fromNetwork(network string) func(*access.KeySpec) {
	return func(q *access.KeySpec) { q.Networks = append(q.Networks, netip.MustParsePrefix(network)) }
}

// The address of a request in these tests is that of httptest, 192.0.2.1.
const ownNetwork, otherNetwork = "192.0.2.0/24", "203.0.113.0/24"

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
