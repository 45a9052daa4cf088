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

func (r *reader) unauthenticated(system uuid.UUID) []presented {
	live := r.key(system)
	text := live.Key.Reveal()
	expired, revoked, foreign := r.key(system), r.key(system), r.key(system)
	r.exec("update access.key set expires_at = now() - interval '1 second' where id = $1", expired.ID)
	r.exec("update access.key set pepper_id = 'another' where id = $1", foreign.ID)
	if err := r.registry.Revoke(context.Background(), revoked.ID); err != nil {
		r.Fatal(err)
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

func (r *reader) forbidden(system uuid.UUID) []presented {
	elsewhere := r.key(system, func(q *access.Request) { q.Networks = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")} })
	session := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	return []presented{
		{"a publishable key", []header{with("X-API-Key", "pk_phones_abc_def")}, 403, credentialNotAccepted},
		{"a platform key", []header{with("X-API-Key", "sk_platform_abc")}, 403, credentialNotAccepted},
		{"a session token", []header{with("Authorization", "Bearer "+session)}, 403, credentialNotAccepted},
		{"a session token as the key", []header{with("X-API-Key", session)}, 403, credentialNotAccepted},
		{"an address off the allowlist", []header{withKey(elsewhere)}, 403, addressNotAllowed},
	}
}

func (r *reader) admitted(system uuid.UUID) []presented {
	live := r.key(system)
	here := r.key(system, func(q *access.Request) {
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
	r := newReader(t)
	system := r.system("one")
	credentials := slices.Concat(r.unauthenticated(system), r.forbidden(system), r.admitted(system))
	for _, o := range register() {
		path := o.examplePath(system.String())
		for _, c := range credentials {
			w := r.get(path, c.headers...)
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
	r := newReader(t)
	system := r.system("one")
	var first string
	for _, c := range r.unauthenticated(system) {
		w := r.get("/customer/phone-systems", append(c.headers, with("X-Request-Id", "same"))...)
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
	r := newReader(t)
	system := r.system("one")
	own := r.key(system, narrowedTo(r.extension(system)))
	for _, o := range register() {
		path := o.examplePath(system.String())
		if o.Scope == "" {
			continue
		}
		others := slices.DeleteFunc(access.Scopes(), func(s access.Scope) bool { return s == o.Scope })
		without, alone := r.key(system, withScopes(others...)), r.key(system, withScopes(o.Scope))
		if w := r.get(path, withKey(without)); w.Code != 403 || problemIn(t, w).Code != "INSUFFICIENT_SCOPE" {
			t.Errorf("%s without %s: %d", o.ID, o.Scope, w.Code)
		}
		want, _ := o.plainStatus()
		if w := r.get(path, withKey(alone)); w.Code != want {
			t.Errorf("%s with %s alone: %d, want %d", o.ID, o.Scope, w.Code, want)
		}
		if o.Report {
			want = 403
		}
		if w := r.get(path, withKey(own)); w.Code != want {
			t.Errorf("%s with calls:read narrowed: %d, want %d", o.ID, w.Code, want)
		}
	}
}

// Each check comes before those after it: a request that fails from the n-th on is answered by the n-th.
func TestStatus_Order(t *testing.T) {
	r := newReader(t)
	system, uncovered := r.system("one"), r.system("two")
	live, scopeless := r.key(system), r.key(system, withScopes(access.ScopePhones))
	elsewhere := r.key(system, withScopes(access.ScopePhones), func(q *access.Request) {
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
		if got := problemIn(t, r.get(c.path, c.headers...)).Code; got != string(c.code) {
			t.Errorf("%s: %s, want %s", c.name, got, c.code)
		}
	}
	if w := r.do("POST", bad); problemIn(t, w).Code != "METHOD_NOT_ALLOWED" {
		t.Errorf("method: %d", w.Code)
	}
}
