package scenario_test

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

func (w *world) organizationKey(organization uuid.UUID) access.Key {
	w.t.Helper()
	return w.stage.key(access.Request{Grant: access.Grant{Kind: access.GrantOrganization, ID: organization}})
}

// issue issues a key on the harbour.
func (w *world) issue(expires time.Time) access.IssuedKey {
	w.t.Helper()
	issued, err := w.registry.Issue(w.t.Context(), access.Request{
		Name: "issued", Grant: access.Grant{Kind: access.GrantSystem, ID: w.harbour}, Scopes: access.Scopes(), Expires: expires,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return issued
}

func (w *world) revoke(id uuid.UUID) {
	w.t.Helper()
	if err := w.registry.Revoke(w.t.Context(), id); err != nil {
		w.t.Fatal(err)
	}
}

var aboutKeys = regexp.MustCompile(`(^|[^a-z])keys?([^a-z]|$)`)

// No path of the API is about keys, and where one might be, no method of any kind leads anywhere.
func keysAreTheOperators(w *world) {
	for path := range w.description().body["paths"].(map[string]any) {
		if aboutKeys.MatchString(path) {
			w.t.Errorf("%s is about keys", path)
		}
	}
	issued := w.issue(time.Time{})
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		for _, path := range []string{"/keys", "/api-keys", "/keys/" + issued.ID.String(), "/customer/keys", "/customer/phone-systems/" + w.harbour.String() + "/keys"} {
			a := w.send(method, w.api.URL+"/v1"+path, keyed(issued.Key))
			if a.status != http.StatusNotFound && a.status != http.StatusMethodNotAllowed {
				w.t.Errorf("%s %s: %d %s", method, path, a.status, a.text)
			}
		}
	}
	w.read(issued.Key, "")
	w.revoke(issued.ID)
	w.judged(issued.Key, "", "401 UNAUTHENTICATED")
}

// The request after a revocation is refused, on every operation, and other keys are not.
func revocationIsImmediate(w *world) {
	for _, o := range operations() {
		issued := w.issue(time.Time{})
		if a := w.get(issued.Key, w.example(o)); a.status != 200 {
			w.t.Errorf("%s: %d %s", o.id, a.status, a.text)
		}
		w.revoke(issued.ID)
		w.judged(issued.Key, w.example(o), "401 UNAUTHENTICATED")
	}
	w.read(w.key, "")
}

// A key works until its time and not from then on; what is said of it then is what is said of a revoked one and of none.
func expiredAndRevoked(w *world) {
	expiring, revoked := w.issue(time.Now().Add(time.Hour)), w.issue(time.Time{})
	w.read(expiring.Key, "")
	// As if the hour were over but for two seconds.
	const over = time.Hour - 2*time.Second
	if _, err := w.pool.Exec(w.t.Context(), "update access.key set expires_at = expires_at - $2::interval where id = $1", expiring.ID, over); err != nil {
		w.t.Fatal(err)
	}
	w.revoke(revoked.ID)
	var expired answer
	for end := time.Now().Add(time.Minute); expired.status != http.StatusUnauthorized; <-time.After(5 * time.Millisecond) {
		if expired = w.get(expiring.Key, ""); time.Now().After(end) {
			w.t.Fatal("the key never expired")
		}
	}
	if end := expiring.ExpiresAt.Add(-over); time.Now().Before(end) {
		w.t.Errorf("expired before %s", end)
	}
	never := w.presenting("X-API-Key", "sk_phones_"+strings.Repeat("x", 8)+"_"+strings.Repeat("y", 43), "")
	for what, a := range map[string]answer{"expired": expired, "revoked": w.get(revoked.Key, "")} {
		w.judge(what, a, "401 UNAUTHENTICATED")
		if !sameBut("correlationId", a.body, never.body) {
			w.t.Errorf("%s: %s, and for no key %s", what, a.text, never.text)
		}
	}
}

// rolledWithOverlap rolls a key: both open the same until the overlap is over, and then the new one alone.
func rolledWithOverlap(w *world) {
	old := w.issue(time.Time{})
	const overlap = 24 * time.Hour
	rolled, err := w.registry.Roll(w.t.Context(), old.ID, access.Roll{Overlap: overlap})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range operations() {
		w.judged(old.Key, w.example(o), "200")
		w.judged(rolled.Key, w.example(o), "200")
	}
	if end := rolled.Old.ExpiresAt; end == nil || time.Until(*end) > overlap || time.Until(*end) < overlap-time.Hour {
		w.t.Errorf("the old key ends at %v", end)
	}
	// As if the overlap were over.
	if _, err := w.pool.Exec(w.t.Context(), "update access.key set expires_at = expires_at - interval '24 hours' where id = $1", old.ID); err != nil {
		w.t.Fatal(err)
	}
	w.judged(old.Key, "", "401 UNAUTHENTICATED")
	w.judged(rolled.Key, "", "200")
}
