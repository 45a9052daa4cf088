package access

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m, func() error { return goleak.Find() }) }

// desk is an operator's registry and a reader's authority over one database.
type desk struct {
	testing.TB
	super    *pgxpool.Pool
	registry *Registry
	reader   *pgxpool.Pool
	pepper   Pepper
}

func newDesk(tb testing.TB) *desk {
	tb.Helper()
	database := schematest.New(tb)
	d := &desk{TB: tb, super: database.Pool(tb), pepper: pepperOf(tb, 'a')}
	d.registry = NewRegistry(openPool(tb, database.RoleURL("callboard_operator")), d.pepper)
	d.reader = openPool(tb, database.RoleURL("callboard_reader"))
	return d
}

func openPool(tb testing.TB, url string) *pgxpool.Pool {
	tb.Helper()
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

func pepperOf(tb testing.TB, c byte) Pepper {
	tb.Helper()
	pepper, err := NewPepper(bytes.Repeat([]byte{c}, 32))
	if err != nil {
		tb.Fatal(err)
	}
	return pepper
}

func (d *desk) issue(r Request) IssuedKey {
	d.Helper()
	issued, err := d.registry.Issue(context.Background(), r)
	if err != nil {
		d.Fatal(err)
	}
	return issued
}

func (d *desk) show(id uuid.UUID) KeyWithLineage {
	d.Helper()
	shown, err := d.registry.Show(context.Background(), id)
	if err != nil {
		d.Fatal(err)
	}
	return shown
}

func (d *desk) exec(sql string, arguments ...any) {
	d.Helper()
	if _, err := d.super.Exec(context.Background(), sql, arguments...); err != nil {
		d.Fatal(err)
	}
}

func plain() Request {
	return Request{Name: "test", Grant: Grant{Kind: GrantSystem, ID: uuid.New()}, Scopes: []Scope{ScopeCalls}}
}

// What is issued is what is shown and listed; the key is not in the database in any form but its hash.
func TestRegistry(t *testing.T) {
	d := newDesk(t)
	full := d.issue(Request{
		Name:         "  Everything ",
		Grant:        Grant{Kind: GrantOrganization, ID: uuid.New()},
		Scopes:       Scopes(),
		OwnExtension: uuid.NullUUID{UUID: uuid.New(), Valid: true},
		Networks:     []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")},
		Tier:         TierPremium,
		Expires:      time.Now().Add(time.Hour),
	})
	bare := d.issue(plain())
	for _, issued := range []IssuedKey{full, bare} {
		shown, err := d.registry.Show(t.Context(), issued.ID)
		if err != nil {
			t.Fatal(err)
		}
		normalize(&shown.Record)
		normalize(&issued.Record)
		if !reflect.DeepEqual(shown.Record, issued.Record) || len(shown.LineageKeys) != 1 {
			t.Errorf("shown  %+v\nissued %+v", shown, issued.Record)
		}
	}
	listed, err := d.registry.List(t.Context())
	if err != nil || len(listed) != 2 || listed[0].ID != bare.ID || listed[1].Name != "Everything" || listed[0].Tier != TierStandard {
		t.Errorf("listed %+v, %v", listed, err)
	}
	var row string
	if err := d.super.QueryRow(t.Context(), "select string_agg(k::text, ' ') from access.key k").Scan(&row); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(row, full.Key.Reveal()[23:40]) || !strings.Contains(row, full.Key.Short()) || !strings.Contains(row, d.pepper.ID()) {
		t.Errorf("stored: %s", row)
	}
}

// normalize makes records comparable: the same instant has more than one form in memory.
func normalize(r *Record) {
	r.CreatedAt = r.CreatedAt.UTC()
	if r.ExpiresAt != nil {
		expires := r.ExpiresAt.UTC()
		r.ExpiresAt = &expires
	}
}

// A key's last use is shown with it and in the list, whether its address is known or not.
func TestRegistry_LastUse(t *testing.T) {
	d := newDesk(t)
	known, unknown, unused := d.issue(plain()), d.issue(plain()), d.issue(plain())
	at, address := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC), netip.MustParseAddr("2001:db8::7")
	d.exec("insert into access.key_use values ($1, $2, $3)", known.ID, at, address)
	d.exec("insert into access.key_use values ($1, $2, null)", unknown.ID, at)
	listed, err := d.registry.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []IssuedKey{known, unknown, unused} {
		shown := d.show(key.ID)
		used := shown.LastUsedAt != nil && shown.LastUsedAt.Equal(at)
		from := shown.LastUsedAddress != nil && *shown.LastUsedAddress == address
		if used != (key.ID != unused.ID) || from != (key.ID == known.ID) {
			t.Errorf("%+v", shown.Record)
		}
		if !slices.ContainsFunc(listed, func(k Record) bool { return reflect.DeepEqual(k, shown.Record) }) {
			t.Errorf("%+v is not among %+v", shown.Record, listed)
		}
	}
}

func TestRegistry_Revoke(t *testing.T) {
	d := newDesk(t)
	key := d.issue(plain())
	var first time.Time
	for range 2 {
		if err := d.registry.Revoke(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		shown, err := d.registry.Show(t.Context(), key.ID)
		if err != nil || shown.State != StateRevoked || shown.RevokedAt == nil {
			t.Fatalf("%+v, %v", shown, err)
		}
		if first.IsZero() {
			first = *shown.RevokedAt
		}
		if !shown.RevokedAt.Equal(first) {
			t.Errorf("revoked at %v, first at %v", shown.RevokedAt, first)
		}
	}
	if err := d.registry.Revoke(t.Context(), uuid.New()); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("an unknown key: %v", err)
	}
	if _, err := d.registry.Show(t.Context(), uuid.New()); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("an unknown key: %v", err)
	}
}

func TestRegistry_Invalid(t *testing.T) {
	d := newDesk(t)
	for problem, change := range map[string]func(*Request){
		"name":               func(r *Request) { r.Name = "  " },
		"name ":              func(r *Request) { r.Name = "a\x00" },
		"granted":            func(r *Request) { r.Grant.Kind = "tenant" },
		"UUID":               func(r *Request) { r.Grant.ID = uuid.Nil },
		"at least one scope": func(r *Request) { r.Scopes = nil },
		"no scope":           func(r *Request) { r.Scopes = []Scope{"calls:write"} },
		"given twice":        func(r *Request) { r.Scopes = append(r.Scopes, ScopeCalls) },
		"own extension":      func(r *Request) { r.Scopes, r.OwnExtension.Valid = []Scope{ScopePhones}, true },
		"not a network":      func(r *Request) { r.Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")} },
		"not a network ":     func(r *Request) { r.Networks = []netip.Prefix{{}} },
		"tier":               func(r *Request) { r.Tier = "gold" },
		"expiry":             func(r *Request) { r.Expires = time.Now().Add(-time.Second) },
		"; ":                 func(r *Request) { *r = Request{Tier: "gold"} },
	} {
		r := plain()
		change(&r)
		_, err := d.registry.Issue(t.Context(), r)
		var invalid *RequestError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), strings.TrimSuffix(problem, "e ")) && !strings.Contains(err.Error(), strings.TrimSpace(problem)) {
			t.Errorf("%s: %v", problem, err)
		}
	}
	if listed, err := d.registry.List(t.Context()); err != nil || len(listed) != 0 {
		t.Errorf("%d keys, %v", len(listed), err)
	}
}
