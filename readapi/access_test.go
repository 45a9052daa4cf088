package readapi

import (
	"context"
	"hash/crc32"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
	"callboard/schema/schematest"
)

// presented is a credential, and what operations answer to it.
type presented struct {
	name    string
	headers []header
	status  int // zero: what the operation answers to a key that may
	code    code
}

// forged is a well-formed key with a live key's short part and another secret.
func forged(live access.Key) string {
	other := access.NewKey().Reveal()
	body := strings.Replace(other[:len(other)-6], strings.Split(other, "_")[2], live.Short(), 1)
	sum := big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))).Text(62)
	return body + strings.Repeat("0", 6-len(sum)) + sum
}

func (h *harness) unauthenticated(system uuid.UUID) []presented {
	live := h.key(system)
	text := live.Key.Reveal()
	expired, revoked, foreign := h.key(system), h.key(system), h.key(system)
	h.exec("update access.key set expires_at = now() - interval '1 second' where id = $1", expired.ID)
	h.exec("update access.key set pepper_id = 'another' where id = $1", foreign.ID)
	if err := h.registry.Revoke(context.Background(), revoked.ID); err != nil {
		h.Fatal(err)
	}
	key := func(value string) []header { return []header{with("X-API-Key", value)} }
	all := []presented{
		{name: "no credential"},
		{name: "an empty key", headers: key("")},
		{name: "noise", headers: key("noise")},
		{name: "a key of the right family without its secret", headers: key("sk_phones_abc")},
		{name: "a key with a typing error", headers: key(text[:30] + swapped(text[30]) + text[31:])},
		{name: "a key and a space", headers: key(text + " x")},
		{name: "a key in upper case", headers: key(strings.ToUpper(text))},
		{name: "a key that was never issued", headers: key(access.NewKey().Reveal())},
		{name: "a live key's short part with another secret", headers: key(forged(live.Key))},
		{name: "an expired key", headers: []header{withKey(expired)}},
		{name: "a revoked key", headers: []header{withKey(revoked)}},
		{name: "a key under a pepper that is not held", headers: []header{withKey(foreign)}},
		{name: "the key twice", headers: []header{withKey(live), withKey(live)}},
		{name: "basic authorization", headers: []header{with("Authorization", "Basic "+text)}},
		{name: "authorization without a scheme", headers: []header{with("Authorization", text)}},
		{name: "two authorizations", headers: []header{with("Authorization", "Bearer "+text), with("Authorization", "Bearer "+text)}},
		{name: "a bad X-API-Key beside a good authorization", headers: []header{with("X-API-Key", "noise"), with("Authorization", "Bearer "+text)}},
	}
	for i := range all {
		all[i].status, all[i].code = 401, unauthenticated
	}
	return all
}

func swapped(c byte) string {
	if c == 'x' {
		return "y"
	}
	return "x"
}

func (h *harness) forbidden(system uuid.UUID) []presented {
	elsewhere := h.key(system, func(q *access.Request) { q.Networks = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")} })
	session := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	return []presented{
		{"a publishable key", []header{with("X-API-Key", "pk_phones_abc_def")}, 403, credentialNotAccepted},
		{"a platform key", []header{with("X-API-Key", "sk_platform_abc")}, 403, credentialNotAccepted},
		{"a session token", []header{with("Authorization", "Bearer "+session)}, 403, credentialNotAccepted},
		{"a session token as the key", []header{with("X-API-Key", session)}, 403, credentialNotAccepted},
		{"an address off the allowlist", []header{withKey(elsewhere)}, 403, addressNotAllowed},
	}
}

func (h *harness) admitted(system uuid.UUID) []presented {
	live := h.key(system)
	here := h.key(system, func(q *access.Request) {
		q.Networks = []netip.Prefix{netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("192.0.2.0/24")}
		q.Expires = time.Now().Add(time.Hour)
	})
	return []presented{
		{name: "a key", headers: []header{withKey(live)}},
		{name: "a key as a bearer token", headers: []header{with("Authorization", "bEARER  "+live.Key.Reveal())}},
		{name: "a key beside a session token", headers: []header{withKey(live), with("Authorization", "Bearer a.b.c")}},
		{name: "an address on the allowlist", headers: []header{withKey(here)}}, // httptest's is 192.0.2.1
	}
}

// Every operation answers every credential as the contract says.
func TestStatus_Credentials(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	credentials := slices.Concat(h.unauthenticated(system), h.forbidden(system), h.admitted(system))
	for _, o := range register() {
		path := o.examplePath(system.String())
		for _, c := range credentials {
			w := h.get(path, c.headers...)
			status, code := c.status, c.code
			if status == 0 {
				status, code = o.plainStatus()
			}
			if w.Code != status {
				t.Errorf("%s, %s: %d, want %d", o.ID, c.name, w.Code, status)
			}
			if status >= 400 {
				if got := problemIn(t, w).Code; got != string(code) {
					t.Errorf("%s, %s: %s, want %s", o.ID, c.name, got, code)
				}
			}
		}
	}
}

// plainStatus is the answer to a key that may, on a system without data.
func (o operation) plainStatus() (int, code) {
	switch {
	case o.ID == "listCallLogReports": // asks for a window
		return 400, validationFailed
	case strings.HasPrefix(o.ID, "get") && !o.Report:
		return 404, notFound
	}
	return 200, ""
}

// All causes of a 401 have one body and the same headers.
func TestStatus_OneUnauthenticated(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	var first string
	for _, c := range h.unauthenticated(system) {
		w := h.get("/customer/phone-systems", append(c.headers, with("X-Request-Id", "same"))...)
		answer := masked(w) + headerText(w.Header())
		if first == "" {
			first = answer
		}
		if answer != first || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %s, want %s", c.name, answer, first)
		}
	}
}

// Scopes are checked for every operation: with all others it is 403, with its own alone it is not.
func TestStatus_Scopes(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	own := h.key(system, narrowedTo(h.extension(system)))
	for _, o := range register() {
		path := o.examplePath(system.String())
		if o.Scope == "" {
			continue
		}
		others := slices.DeleteFunc(access.Scopes(), func(s access.Scope) bool { return s == o.Scope })
		without, alone := h.key(system, withScopes(others...)), h.key(system, withScopes(o.Scope))
		if w := h.get(path, withKey(without)); w.Code != 403 || problemIn(t, w).Code != "INSUFFICIENT_SCOPE" {
			t.Errorf("%s without %s: %d", o.ID, o.Scope, w.Code)
		}
		want, _ := o.plainStatus()
		if w := h.get(path, withKey(alone)); w.Code != want {
			t.Errorf("%s with %s alone: %d, want %d", o.ID, o.Scope, w.Code, want)
		}
		if o.Report {
			want = 403
		}
		if w := h.get(path, withKey(own)); w.Code != want {
			t.Errorf("%s with calls:read narrowed: %d, want %d", o.ID, w.Code, want)
		}
	}
}

// Each check comes before those after it: a request that fails from the n-th on is answered by the n-th.
func TestStatus_Order(t *testing.T) {
	h := newHarness(t)
	system, uncovered := h.system("one"), h.system("two")
	live, scopeless := h.key(system), h.key(system, withScopes(access.ScopePhones))
	elsewhere := h.key(system, withScopes(access.ScopePhones), func(q *access.Request) {
		q.Networks = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
	})
	bad, far, near := "/customer/phone-systems/x/call-logs/y?z=1",
		"/customer/phone-systems/"+uncovered.String()+"/call-logs?z=1", "/customer/phone-systems/"+system.String()+"/call-logs?z=1"
	for _, c := range []struct {
		name, path string
		headers    []header
		code       code
	}{
		{"path", "/nothing?z=1", nil, notFound},
		{"credential", bad, nil, unauthenticated},
		{"address", bad, []header{withKey(elsewhere)}, addressNotAllowed},
		{"identifiers", bad, []header{withKey(scopeless)}, validationFailed},
		{"scope", far, []header{withKey(scopeless)}, insufficientScope},
		{"coverage", far, []header{withKey(live)}, notFound},
		{"parameters", near, []header{withKey(live)}, validationFailed},
	} {
		if got := problemIn(t, h.get(c.path, c.headers...)).Code; got != string(c.code) {
			t.Errorf("%s: %s, want %s", c.name, got, c.code)
		}
	}
	if w := h.do("POST", bad); problemIn(t, w).Code != "METHOD_NOT_ALLOWED" {
		t.Errorf("method: %d", w.Code)
	}
}

// A system that is absent, was deleted, is another tenant's or outside the grant, and a record that is absent or in another
// system, are one answer to the byte.
func TestStatus_OneNotFound(t *testing.T) {
	h := newHarness(t)
	system, other, deleted := h.system("one"), h.system("two"), h.system("gone")
	h.exec("delete from projection.phone_system where id = $1", deleted)
	extension := h.extension(system)
	mine, theirs := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark)}, call{id: uuid.New(), sid: "CA2", createdAt: at(watermark)}
	h.calls(system, mine)
	h.calls(other, theirs)
	key, gone, narrowed := h.key(system), h.key(deleted), h.key(system, narrowedTo(extension))
	path := func(system, call uuid.UUID) string {
		return "/customer/phone-systems/" + system.String() + "/call-logs/" + call.String()
	}
	if w := h.get(path(system, mine.id), withKey(key)); w.Code != 200 {
		t.Fatalf("the call itself: %d", w.Code)
	}
	var first string
	for name, w := range map[string]*answered{
		"unknown system":          {path(uuid.New(), mine.id), key},
		"zero system":             {path(uuid.Nil, mine.id), key},
		"another's system":        {path(other, theirs.id), key},
		"another's call":          {path(system, theirs.id), key},
		"unknown call":            {path(system, uuid.New()), key},
		"the grant's own, gone":   {path(deleted, mine.id), gone},
		"not the extension's own": {path(system, mine.id), narrowed},
	} {
		answer := h.get(w.path, withKey(w.key), with("X-Request-Id", "same"))
		whole := masked(answer) + headerText(answer.Header())
		if first == "" {
			first = whole
		}
		if answer.Code != 404 || whole != first {
			t.Errorf("%s: %d %s, want %s", name, answer.Code, whole, first)
		}
	}
}

// Outside the contract nobody asks for a key, so nothing is said of its budget; all else is the same.
func TestStatus_NotFoundOutsideTheContract(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	path := "/customer/phone-systems/" + system.String() + "/call-log"
	outside := h.get(path, withKey(h.key(system)), with("X-Request-Id", "same"))
	absent := h.get(path+"s/"+uuid.NewString(), withKey(h.key(system)), with("X-Request-Id", "same"))
	for _, name := range []string{"RateLimit", "RateLimit-Policy"} {
		if absent.Header().Get(name) == "" {
			t.Errorf("no %s inside the contract", name)
		}
		absent.Header().Del(name)
	}
	if outside.Code != 404 || masked(outside) != masked(absent) || headerText(outside.Header()) != headerText(absent.Header()) {
		t.Errorf("%d %s %s, want %s %s", outside.Code, outside.Body, headerText(outside.Header()), absent.Body, headerText(absent.Header()))
	}
}

type answered struct {
	path string
	key  access.IssuedKey
}

// A request of a client behind a proxy is judged by the address that the proxy names.
func TestTrustedProxy(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix("192.0.2.0/24")) })
	system := h.system("one")
	key := h.key(system, func(q *access.Request) { q.Networks = append(q.Networks, netip.MustParsePrefix("203.0.113.0/24")) })
	for forwarded, want := range map[string]int{"203.0.113.9": 200, "203.0.113.9, 198.51.100.1": 403, "": 403} {
		if w := h.get("/customer/phone-systems", withKey(key), with("X-Forwarded-For", forwarded)); w.Code != want {
			t.Errorf("%q: %d, want %d", forwarded, w.Code, want)
		}
	}
}

// Discovery and coverage agree, live, for every kind of grant.
func TestDiscovery(t *testing.T) {
	h := newHarness(t)
	organization, other := uuid.New(), uuid.New()
	a, b, c, d := h.system("Zürich"), h.system("Aarau"), h.system("aarau"), h.system("Ähtäri")
	h.attach(a, organization)
	h.attach(b, organization)
	h.attach(c, other)
	group := h.group(c, a, uuid.New(), d)
	keys := map[string]access.IssuedKey{
		"system":        h.key(a),
		"group":         h.key(uuid.Nil, grantedTo(access.GrantGroup, group)),
		"organization":  h.key(uuid.Nil, grantedTo(access.GrantOrganization, organization)),
		"no group":      h.key(uuid.Nil, grantedTo(access.GrantGroup, uuid.New())),
		"wrong kind":    h.key(uuid.Nil, grantedTo(access.GrantOrganization, a)),
		"a scope alone": h.key(a, withScopes(access.ScopePhones)),
	}
	h.expectDiscovery(keys, []uuid.UUID{a, b, c, d}, map[string][]uuid.UUID{
		"system": {a}, "group": {a, c, d}, "organization": {b, a}, "a scope alone": {a},
	})
	h.exec("update projection.phone_system_group set phone_system_ids = $2 where id = $1", group, []uuid.UUID{b})
	h.attach(c, organization)
	h.exec("delete from projection.phone_system where id = $1", a)
	h.expectDiscovery(keys, []uuid.UUID{a, b, c, d}, map[string][]uuid.UUID{
		"group": {b}, "organization": {b, c},
	})
}

// Discovery is coverage, so it is the primary that is asked: a replica that is behind shows no system that the key has lost.
func TestDiscovery_Replica(t *testing.T) {
	replica := projection{t, openPool(t, schematest.New(t).URL())}
	h := newHarness(t, func(c *Config) { c.Projection = replica.pool })
	organization, kept := uuid.New(), h.system("kept")
	h.attach(kept, organization)
	replica.attach(replica.system("lost"), organization)
	key := h.key(uuid.Nil, grantedTo(access.GrantOrganization, organization))
	want := `{"data":[{"id":"` + kept.String() + `","name":"kept"}]}`
	if w := h.get("/customer/phone-systems", withKey(key)); w.Body.String() != want {
		t.Errorf("%s, want %s", w.Body, want)
	}
}

func (h *harness) expectDiscovery(keys map[string]access.IssuedKey, systems []uuid.UUID, want map[string][]uuid.UUID) {
	h.Helper()
	for name, key := range keys {
		w := h.get("/customer/phone-systems", withKey(key))
		var got struct{ Data []struct{ ID uuid.UUID } }
		decode(h, w, &got)
		ids := []uuid.UUID{}
		for _, s := range got.Data {
			ids = append(ids, s.ID)
		}
		if got.Data == nil || !slices.Equal(ids, append([]uuid.UUID{}, want[name]...)) {
			h.Errorf("%s: %s, want %v", name, w.Body, want[name])
		}
		for _, system := range systems {
			status := h.get("/customer/phone-systems/"+system.String()+"/phones", withKey(key)).Code
			covered := slices.Contains(want[name], system)
			if name == "a scope alone" || status == 403 {
				continue
			}
			if (status == 200) != covered {
				h.Errorf("%s: %s answers %d, covered: %v", name, system, status, covered)
			}
		}
	}
}
