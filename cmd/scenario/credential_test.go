package scenario_test

import (
	"encoding/json"
	"errors"
	"hash/crc32"
	"math/big"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

func keyInItsHeader(w *world) {
	for _, o := range operations() {
		w.judge(o.id, w.presenting("X-API-Key", w.key.Reveal(), w.example(o)), "200")
	}
}

func keyAsABearer(w *world) {
	for _, o := range operations() {
		w.judge(o.id, w.presenting("Authorization", "Bearer "+w.key.Reveal(), w.example(o)), "200")
	}
	w.judge("of another scheme", w.presenting("Authorization", "Basic "+w.key.Reveal(), ""), "401 UNAUTHENTICATED")
	w.judge("without a scheme", w.presenting("Authorization", w.key.Reveal(), ""), "401 UNAUTHENTICATED")
}

var keyForm = regexp.MustCompile(`^sk_phones_[0-9A-Za-z]+_[0-9A-Za-z]{43,}$`)

func formOfAKey(w *world) {
	seen := map[string]bool{}
	for range 20 {
		issued := w.issue(time.Time{})
		text := issued.Key.Reveal()
		if parts := strings.Split(text, "_"); !keyForm.MatchString(text) || len(parts) != 4 || parts[2] != issued.Short || seen[parts[2]] {
			w.t.Errorf("a key of another form, or twice the same: %s", issued.Key)
		}
		seen[issued.Short] = true
	}
}

// presented proves what every operation answers to a credential.
func presented(want string, credentials ...string) func(*world) {
	return func(w *world) {
		for _, credential := range credentials {
			for _, o := range operations() {
				w.judge(o.id+" with "+credential, w.presenting("X-API-Key", credential, w.example(o)), want)
				if credential != "" {
					w.judge(o.id+" with Bearer "+credential, w.presenting("Authorization", "Bearer "+credential, w.example(o)), want)
				}
			}
		}
	}
}

const (
	sessionToken   = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	publishableKey = "pk_phones_Zm9vYmFyYmF6_Zm9vYmFyYmF6Zm9vYmFyYmF6"
	platformKey    = "sk_platform_Zm9vYmFyYmF6_Zm9vYmFyYmF6Zm9vYmFyYmF6"
	noTenantKey    = "403 CREDENTIAL_NOT_ACCEPTED"
)

// forged is a key of another secret that is well formed, its checksum included, and has a live key's public part.
func forged(live access.Key) string {
	other := access.NewKey()
	text := strings.Replace(other.Reveal(), other.Short(), live.Short(), 1)
	body := text[:len(text)-6]
	sum := big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))).Text(62)
	return body + strings.Repeat("0", 6-len(sum)) + sum
}

// noLiveKey presents what was never a key, what nearly is one, and what was one.
func noLiveKey(w *world) {
	everyOperationNeedsAKey(w)
	text, short := w.key.Reveal(), w.key.Short()
	presented("401 UNAUTHENTICATED", "", "noise", "sk_phones_", "sk_phones_"+short, text[:len(text)-1], text+"0", strings.ToUpper(text),
		access.NewKey().Reveal(), forged(w.key))(w)
	w.judge("an empty bearer", w.presenting("Authorization", "Bearer ", ""), "401 UNAUTHENTICATED")
	expiredAndRevoked(w)
}

// refusedKey proves that no key is issued for requests that are changed so.
func refusedKey(changes ...func(*access.Request)) func(*world) {
	return func(w *world) {
		for i, change := range changes {
			request := access.Request{
				Name: "refused", Grant: access.Grant{Kind: access.GrantSystem, ID: w.harbour}, Scopes: []access.Scope{access.ScopeCalls},
			}
			change(&request)
			issued, err := w.registry.Issue(w.t.Context(), request)
			var refusal *access.RequestError
			if !errors.As(err, &refusal) {
				w.t.Errorf("request %d: a key of scopes %v for %v, error %v", i, issued.Scopes, issued.Grant, err)
			}
		}
	}
}

// oneGrantTarget issues a key for each kind of target and holds what it covers, of three systems, against it.
func oneGrantTarget(w *world) {
	for _, c := range []struct {
		grant   access.Grant
		covered map[uuid.UUID]bool
	}{
		{access.Grant{Kind: access.GrantSystem, ID: w.annex}, map[uuid.UUID]bool{w.annex: true}},
		{access.Grant{Kind: access.GrantGroup, ID: w.group}, map[uuid.UUID]bool{w.harbour: true, w.annex: true}},
		{access.Grant{Kind: access.GrantOrganization, ID: w.child}, map[uuid.UUID]bool{w.branch: true}},
		{access.Grant{Kind: access.GrantOrganization, ID: w.harbour}, nil}, // an id of another kind
		{access.Grant{Kind: access.GrantSystem, ID: w.group}, nil},
	} {
		key := w.stage.key(access.Request{Grant: c.grant})
		for _, system := range []uuid.UUID{w.harbour, w.annex, w.branch} {
			want := "404 NOT_FOUND"
			if c.covered[system] {
				want = "200"
			}
			w.judged(key, "/"+system.String()+"/call-logs", want)
		}
	}
	refusedKey(
		func(r *access.Request) { r.Grant = access.Grant{} },
		func(r *access.Request) { r.Grant.ID = uuid.Nil },
		func(r *access.Request) { r.Grant.Kind = "" },
		func(r *access.Request) { r.Grant.Kind = "everything" },
	)(w)
}

func allowlists(w *world) {
	within := func(network string) access.Key {
		return w.stage.key(access.Request{
			Grant: access.Grant{Kind: access.GrantSystem, ID: w.harbour}, Networks: []netip.Prefix{netip.MustParsePrefix(network)},
		})
	}
	here, elsewhere := within("127.0.0.0/8"), within("203.0.113.0/24")
	for _, o := range operations() {
		w.judged(here, w.example(o), "200")
		w.judged(elsewhere, w.example(o), "403 ADDRESS_NOT_ALLOWED")
	}
	// Who no trusted proxy is doesn't say where the request comes from.
	header := keyed(elsewhere)
	header.Set("X-Forwarded-For", "203.0.113.7")
	w.judge("behind a claim", w.send(http.MethodGet, w.url(""), header), "403 ADDRESS_NOT_ALLOWED")
}

func rateTiers(w *world) {
	for given, want := range map[access.Tier]access.Tier{"": "standard", "standard": "standard", "premium": "premium"} {
		issued, err := w.registry.Issue(w.t.Context(), access.Request{
			Name: "tier", Grant: access.Grant{Kind: access.GrantSystem, ID: w.harbour}, Scopes: access.Scopes(), Tier: given,
		})
		if err != nil {
			w.t.Fatal(err)
		}
		shown, err := w.registry.Show(w.t.Context(), issued.ID)
		if err != nil || issued.Tier != want || shown.Tier != want {
			w.t.Errorf("%q: issued as %q, shown as %q, %v", given, issued.Tier, shown.Tier, err)
		}
	}
	refusedKey(func(r *access.Request) { r.Tier = "unlimited" })(w)
}

// hashesAlone looks for a key in all that is stored of it, and in all that operators are shown after its issue.
func hashesAlone(w *world) {
	issued := w.issue(time.Time{})
	var row string
	var hash []byte
	if err := w.pool.QueryRow(w.t.Context(), "select k::text, k.hash from access.key k where id = $1", issued.ID).Scan(&row, &hash); err != nil {
		w.t.Fatal(err)
	}
	shown, err := w.registry.Show(w.t.Context(), issued.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	list, err := w.registry.List(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := json.Marshal([]any{issued, shown, list})
	if err != nil {
		w.t.Fatal(err)
	}
	secret := strings.Split(issued.Key.Reveal(), "_")[3]
	for _, part := range []string{secret, secret[:16], secret[len(secret)-16:]} {
		if strings.Contains(row, part) || strings.Contains(string(text), part) || w.log.has(part) {
			w.t.Errorf("a part of the secret is in %s or %s", row, text)
		}
	}
	if len(hash) != 32 || !strings.Contains(row, issued.Short) {
		w.t.Errorf("%d bytes of hash in %s", len(hash), row)
	}
}

// keyInTheURL is refused with a key in the header as without: no parameter is a credential.
func keyInTheURL(w *world) {
	for _, o := range operations() {
		for _, name := range []string{"api_key", "apiKey", "key", "X-API-Key", "access_token", "authorization"} {
			path := strings.Replace(w.strayed(o), "stray=1", name+"="+w.key.Reveal(), 1)
			w.judge(o.id, w.anonymous(path), "401 UNAUTHENTICATED")
			w.judged(w.key, path, "400 VALIDATION_FAILED /"+name+" UNKNOWN_PARAMETER")
		}
	}
	if w.log.has(w.key.Reveal()) {
		w.t.Error("the key is in the log")
	}
}
