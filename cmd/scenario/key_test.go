package scenario_test

import (
	"encoding/json"
	"errors"
	"hash/crc32"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/readapi/access"
)

// Credentials that are no API keys, and their outcome.
const (
	sessionToken   = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	publishableKey = "pk_phones_Zm9vYmFyYmF6_Zm9vYmFyYmF6Zm9vYmFyYmF6"
	platformKey    = "sk_platform_Zm9vYmFyYmF6_Zm9vYmFyYmF6Zm9vYmFyYmF6"
	notAccepted    = "403 CREDENTIAL_NOT_ACCEPTED"
)

// forged returns a well-formed key with the public part of a live key and another secret.
func forged(live access.Key) string {
	other := access.NewKey()
	text := strings.Replace(other.Reveal(), other.Short(), live.Short(), 1)
	body := text[:len(text)-6]
	sum := big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))).Text(62)
	return body + strings.Repeat("0", 6-len(sum)) + sum
}

// refusesKeys checks that the registry refuses requests that are changed in these ways.
func (f *fixture) refusesKeys(changes ...func(*access.KeySpec)) {
	f.Helper()
	for i, change := range changes {
		request := access.KeySpec{Name: "refused", Grant: f.harbourGrant(), Scopes: []access.Scope{access.ScopeCalls}}
		change(&request)
		issued, err := f.registry.Issue(f.Context(), request)
		var refusal *access.InvalidError
		if !errors.As(err, &refusal) {
			f.Errorf("change %d: issued a key with scopes %v on %v, error = %v, want an InvalidError", i, issued.Scopes, issued.Grant, err)
		}
	}
}

// oneGrantTarget issues keys on targets of every kind, and checks which of three phone systems they cover.
func oneGrantTarget(f *fixture) {
	for _, c := range []struct {
		kind    access.GrantKind
		id      uuid.UUID
		covered map[uuid.UUID]bool
	}{
		{access.GrantSystem, f.annex, map[uuid.UUID]bool{f.annex: true}},
		{access.GrantGroup, f.group, map[uuid.UUID]bool{f.harbour: true, f.annex: true}},
		{access.GrantOrganization, f.child, map[uuid.UUID]bool{f.branch: true}},
		{access.GrantOrganization, f.harbour, nil}, // an id of another kind
		{access.GrantSystem, f.group, nil},
	} {
		key := f.grantKey(c.kind, c.id)
		for _, system := range []uuid.UUID{f.harbour, f.annex, f.branch} {
			want := "404 NOT_FOUND"
			if c.covered[system] {
				want = "200"
			}
			f.expectOutcome(key, "/"+system.String()+"/call-logs", want)
		}
	}
	f.refusesKeys(
		func(r *access.KeySpec) { r.Grant = access.Grant{} },
		func(r *access.KeySpec) { r.Grant.ID = uuid.Nil },
		func(r *access.KeySpec) { r.Grant.Kind = "" },
		func(r *access.KeySpec) { r.Grant.Kind = "everything" },
	)
}

// onlyHashes searches for a key's secret in its row, in what operators are shown, and in the log.
func onlyHashes(f *fixture) {
	issued := f.issue(access.KeySpec{Grant: f.harbourGrant()})
	f.mustGet(issued.Key, "")
	var row string
	var hash []byte
	if err := f.Pool.QueryRow(f.Context(), "select k::text, k.hash from access.key k where id = $1", issued.ID).Scan(&row, &hash); err != nil {
		f.Fatal(err)
	}
	shown, err := f.registry.Show(f.Context(), issued.ID)
	if err != nil {
		f.Fatal(err)
	}
	list, err := f.registry.List(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	text, err := json.Marshal([]any{issued, shown, list})
	if err != nil {
		f.Fatal(err)
	}
	secret := strings.Split(issued.Key.Reveal(), "_")[3]
	for _, part := range []string{secret, secret[:16], secret[len(secret)-16:]} {
		if strings.Contains(row, part) || strings.Contains(string(text), part) || f.log.Contains(part) {
			f.Errorf("a part of the secret is in %s, in %s or in the log", row, text)
		}
	}
	if len(hash) != 32 || !strings.Contains(row, issued.Short) {
		f.Errorf("bytes of the hash = %d, want 32, in %s", len(hash), row)
	}
}

// keyInTheURL sends a key as a query parameter, with a key in the header and without one.
func keyInTheURL(f *fixture) {
	for _, o := range operations() {
		path := strings.Replace(f.withUnknownParameter(o), "unknown=1", "api_key="+f.key.Reveal(), 1)
		f.checkOutcome(o.id, f.getWithoutKey(path), "401 UNAUTHENTICATED")
		f.expectOutcome(f.key, path, "400 VALIDATION_FAILED /api_key UNKNOWN_PARAMETER")
	}
	for _, name := range []string{"apiKey", "key", "X-API-Key", "access_token", "authorization"} {
		f.checkOutcome(name, f.getWithoutKey("?"+name+"="+f.key.Reveal()), "401 UNAUTHENTICATED")
	}
	if f.log.Contains(f.key.Reveal()) {
		f.Error("the log has the key")
	}
}

var keysPath = regexp.MustCompile(`(^|[^a-z])keys?([^a-z]|$)`)

// noOperationOnKeys checks that the API has no path for keys.
func noOperationOnKeys(f *fixture) {
	for path := range f.openAPI().body["paths"].(map[string]any) {
		if keysPath.MatchString(path) {
			f.Errorf("path %s is about keys", path)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		for _, path := range []string{"/keys", "/api-keys", "/customer/keys", "/customer/phone-systems" + f.harbourPath("/keys")} {
			a := f.send(method, f.api.URL+"/v1"+path, keyHeader(f.key))
			if a.status != http.StatusNotFound && a.status != http.StatusMethodNotAllowed {
				f.Errorf("%s %s: status = %d, want 404 or 405: %s", method, path, a.status, a.text)
			}
		}
	}
}

// keysAreReadOnly tries to change keys as the role of the readers.
func keysAreReadOnly(f *fixture) {
	issued := f.issue(access.KeySpec{Grant: f.harbourGrant()})
	pool := f.readerPool()
	for _, statement := range []string{
		"update access.key set scopes = '{}' where id = $1", "update access.key set revoked_at = now() where id = $1", "delete from access.key where id = $1",
	} {
		if _, err := pool.Exec(f.Context(), statement, issued.ID); err == nil || !strings.Contains(err.Error(), "permission denied") {
			f.Errorf("%s: error = %v, want permission denied", statement, err)
		}
	}
	f.expectOutcome(issued.Key, "", "200")
}

// revocationIsImmediate checks every operation after the revocation.
func revocationIsImmediate(f *fixture) {
	issued := f.issue(access.KeySpec{Grant: f.harbourGrant()})
	f.expectOutcome(issued.Key, "", "200")
	f.revoke(issued.ID)
	for _, o := range operations() {
		f.expectOutcome(issued.Key, f.example(o), "401 UNAUTHENTICATED")
	}
	f.expectOutcome(f.key, "", "200")
}

// expiredKeys checks that a key works until its time and not after it, and that expired, revoked and unknown keys have one answer.
func expiredKeys(f *fixture) {
	expiring, revoked := f.issue(access.KeySpec{Grant: f.harbourGrant(), Expires: time.Now().Add(time.Hour)}), f.issue(access.KeySpec{Grant: f.harbourGrant()})
	f.expectOutcome(expiring.Key, "", "200")
	f.revoke(revoked.ID)
	const left = 300 * time.Millisecond
	at := time.Now().Add(left)
	f.Exec("update access.key set expires_at = $2 where id = $1", expiring.ID, at)
	var expired answer
	eventstest.Eventually(f.TB, "the key has expired", func() bool {
		expired = f.get(expiring.Key, "")
		return expired.status == http.StatusUnauthorized
	})
	if now := time.Now(); now.Before(at) {
		f.Errorf("the key has expired at %s, want %s", now, at)
	}
	unknown := f.getWithHeader("X-API-Key", access.NewKey().Reveal(), "")
	for what, a := range map[string]answer{"expired": expired, "revoked": f.get(revoked.Key, "")} {
		f.checkOutcome(what, a, "401 UNAUTHENTICATED")
		if !equalExcept("correlationId", a.body, unknown.body) {
			f.Errorf("%s: body = %s, want that of an unknown key: %s", what, a.text, unknown.text)
		}
	}
}

// rolledWithOverlap rolls a key. Both keys work until the overlap is over, then the new one alone.
func rolledWithOverlap(f *fixture) {
	old := f.issue(access.KeySpec{Grant: f.harbourGrant()})
	const overlap = 24 * time.Hour
	rolled, err := f.registry.Roll(f.Context(), old.ID, access.Roll{Overlap: overlap})
	if err != nil {
		f.Fatal(err)
	}
	f.expectOutcome(old.Key, "", "200")
	f.expectOutcome(rolled.Key, "", "200")
	if end := rolled.Old.ExpiresAt; end == nil || time.Until(*end) > overlap || time.Until(*end) < overlap-time.Hour {
		f.Errorf("the old key expires at %v, want in %s", end, overlap)
	}
	f.Exec("update access.key set expires_at = expires_at - interval '24 hours' where id = $1", old.ID)
	f.expectOutcome(old.Key, "", "401 UNAUTHENTICATED")
	f.expectOutcome(rolled.Key, "", "200")
}
