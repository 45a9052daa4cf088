package access

import (
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/schema/schematest"
)

// Issued keys are shown and listed unchanged. The database has only the hash of a key.
func TestRegistry_Issue(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	spec := fullRequest()
	spec.Name, spec.Expires = "  Everything ", time.Now().Add(time.Hour)
	full := h.issue(spec)
	bare := h.issue(minimalSpec())
	for _, issued := range []IssuedKey{full, bare} {
		shown := h.show(issued.ID)
		normalize(&shown.Record)
		normalize(&issued.Record)
		if !reflect.DeepEqual(shown.Record, issued.Record) || len(shown.LineageKeys) != 1 {
			t.Errorf("shown = %+v,\nwant %+v", shown, issued.Record)
		}
	}
	listed, err := h.registry.List(t.Context())
	if err != nil || len(listed) != 2 || listed[0].ID != bare.ID || listed[1].Name != "Everything" || listed[0].Tier != TierStandard {
		t.Errorf("listed = %+v, error = %v, want both keys", listed, err)
	}
	row := schematest.QueryOne[string](t, h.super, "select string_agg(k::text, ' ') from access.key k")
	if strings.Contains(row, full.Key.Reveal()[23:40]) || !strings.Contains(row, full.Key.Short()) || !strings.Contains(row, h.pepper.ID()) {
		t.Errorf("stored = %s, want the public part and the pepper without the secret", row)
	}
}

// normalize makes records comparable with reflect.DeepEqual, which distinguishes time zones.
func normalize(r *Record) {
	r.CreatedAt = r.CreatedAt.UTC()
	if r.ExpiresAt != nil {
		expires := r.ExpiresAt.UTC()
		r.ExpiresAt = &expires
	}
}

func TestRegistry_Covers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	organization, group, empty := uuid.New(), uuid.New(), uuid.New()
	h.exec("update projection.generation set partitions = 16")
	system := h.systemIn(3, organization)
	h.exec("insert into projection.phone_system_group_member (group_id, system_id) values ($1, $2), ($3, $4)", group, system, empty, uuid.New())
	for _, c := range []struct {
		grant Grant
		want  bool
	}{
		{Grant{GrantSystem, system}, true},
		{Grant{GrantGroup, group}, true},
		{Grant{GrantOrganization, organization}, true},
		{Grant{GrantSystem, organization}, false},
		{Grant{GrantGroup, system}, false},
		{Grant{GrantGroup, empty}, false},
		{Grant{GrantOrganization, uuid.New()}, false},
	} {
		if got, err := h.registry.Covers(t.Context(), c.grant); err != nil || got != c.want {
			t.Errorf("grant of %s %s covers a phone system = %t, %v, want %t", c.grant.Kind, c.grant.ID, got, err, c.want)
		}
	}
}

// Show and List include the last use of a key, with or without an address.
func TestRegistry_LastUse(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	known, unknown, unused := h.issue(minimalSpec()), h.issue(minimalSpec()), h.issue(minimalSpec())
	at, address := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC), netip.MustParseAddr("2001:db8::7")
	h.exec("insert into access.key_use values ($1, $2, $3)", known.ID, at, address)
	h.exec("insert into access.key_use values ($1, $2, null)", unknown.ID, at)
	listed, err := h.registry.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []IssuedKey{known, unknown, unused} {
		shown := h.show(key.ID)
		used := shown.LastUsedAt != nil && shown.LastUsedAt.Equal(at)
		from := shown.LastUsedAddress != nil && *shown.LastUsedAddress == address
		if used != (key.ID != unused.ID) || from != (key.ID == known.ID) {
			t.Errorf("record = %+v, want its last use at %s", shown.Record, at)
		}
		if !slices.ContainsFunc(listed, func(k Record) bool { return reflect.DeepEqual(k, shown.Record) }) {
			t.Errorf("listed = %+v, want %+v among them", listed, shown.Record)
		}
	}
}

// A second revocation changes nothing.
func TestRegistry_Revoke(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	key := h.issue(minimalSpec())
	h.revoke(key.ID)
	first := h.show(key.ID)
	h.revoke(key.ID)
	if again := h.show(key.ID); first.State != StateRevoked || !equalTimes(first.RevokedAt, again.RevokedAt) || first.RevokedAt == nil {
		t.Errorf("revoked = %+v, then %+v, want the same", first.Record, again.Record)
	}
	_, revoke := h.registry.Revoke(t.Context(), uuid.New())
	_, show := h.registry.Show(t.Context(), uuid.New())
	if !errors.Is(revoke, ErrUnknownKey) || !errors.Is(show, ErrUnknownKey) {
		t.Errorf("unknown key: errors = %v, %v, want ErrUnknownKey", revoke, show)
	}
}

func TestRegistry_RefusesInvalidRequests(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for problem, change := range map[string]func(*KeySpec){
		"name":               func(r *KeySpec) { r.Name = "  " },
		"name ":              func(r *KeySpec) { r.Name = "a\x00" },
		"needs one grant":    func(r *KeySpec) { r.Grant.Kind = "tenant" },
		"UUID":               func(r *KeySpec) { r.Grant.ID = uuid.Nil },
		"at least one scope": func(r *KeySpec) { r.Scopes = nil },
		"unknown scope":      func(r *KeySpec) { r.Scopes = []Scope{"calls:write"} },
		"listed twice":       func(r *KeySpec) { r.Scopes = append(r.Scopes, ScopeCalls) },
		"own extension":      func(r *KeySpec) { r.Scopes, r.OwnExtension.Valid = []Scope{ScopePhones}, true },
		"not a network":      func(r *KeySpec) { r.Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")} },
		"not a network ":     func(r *KeySpec) { r.Networks = []netip.Prefix{{}} },
		"tier":               func(r *KeySpec) { r.Tier = "gold" },
		"expiry":             func(r *KeySpec) { r.Expires = time.Now().Add(-time.Second) },
		"; ":                 func(r *KeySpec) { *r = KeySpec{Tier: "gold"} },
	} {
		r := minimalSpec()
		change(&r)
		_, err := h.registry.Issue(t.Context(), r)
		var invalid *InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), strings.TrimSpace(problem)) {
			t.Errorf("error = %v, want a InvalidError with %q", err, problem)
		}
	}
	if listed, err := h.registry.List(t.Context()); err != nil || len(listed) != 0 {
		t.Errorf("keys = %d, error = %v, want none", len(listed), err)
	}
}
