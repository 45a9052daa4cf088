package access

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
)

func (d *desk) authority(peppers ...Pepper) *Authorizer {
	d.Helper()
	authority, err := NewAuthorizer(d.reader, peppers)
	if err != nil {
		d.Fatal(err)
	}
	return authority
}

func (d *desk) admit(a *Authorizer, key Key, system uuid.UUID) Authorization {
	d.Helper()
	permit, err := a.Authorize(d.Context(), Attempt{Credential: Parse(key.Reveal()), System: system})
	if err != nil {
		d.Fatal(err)
	}
	return permit
}

func (d *desk) denied(a *Authorizer, t Attempt) DeniedError {
	d.Helper()
	_, err := a.Authorize(d.Context(), t)
	var denial *DeniedError
	if !errors.As(err, &denial) {
		d.Fatalf("not denied: %v", err)
	}
	return *denial
}

func (d *desk) system(organization uuid.UUID) uuid.UUID {
	d.Helper()
	id := uuid.New()
	d.exec("insert into projection.phone_system (id, version, name, organization_id, partition) values ($1, 1, 'one', $2, 0)", id, organization)
	return id
}

func TestAuthorizer_Authorization(t *testing.T) {
	d := newDesk(t)
	a := d.authority(d.pepper)
	system := d.system(uuid.New())
	request := plain()
	request.Grant.ID, request.Tier = system, TierPremium
	key := d.issue(request)
	permit := d.admit(a, key.Key, system)
	if permit.KeyID != key.ID || permit.Lineage != key.Lineage || permit.Grant != request.Grant || permit.Tier != TierPremium ||
		!permit.Covered || permit.Narrowing.On || !permit.Allows(ScopeCalls) || permit.Allows(ScopePhones) {
		t.Errorf("%+v", permit)
	}
	if d.admit(a, key.Key, uuid.Nil).Covered {
		t.Error("a path without a system is covered")
	}
}

// Coverage follows the projection from one request to the next.
func TestAuthorizer_Coverage(t *testing.T) {
	d := newDesk(t)
	a := d.authority(d.pepper)
	organization := uuid.New()
	mine, other := d.system(organization), d.system(uuid.New())
	group := uuid.New()
	d.exec("insert into projection.phone_system_group (id, version, name, phone_system_ids) values ($1, 1, 'g', $2)", group, []uuid.UUID{mine})
	for _, grant := range []Grant{{GrantSystem, mine}, {GrantGroup, group}, {GrantOrganization, organization}} {
		request := plain()
		request.Grant = grant
		key := d.issue(request).Key
		if !d.admit(a, key, mine).Covered || d.admit(a, key, other).Covered || d.admit(a, key, uuid.New()).Covered {
			t.Errorf("%s does not cover its system alone", grant.Kind)
		}
	}
	// The same identifier under another kind of grant covers nothing.
	for _, grant := range []Grant{{GrantGroup, mine}, {GrantOrganization, mine}, {GrantSystem, group}, {GrantSystem, organization}} {
		request := plain()
		request.Grant = grant
		if d.admit(a, d.issue(request).Key, mine).Covered {
			t.Errorf("%s covers what is not its own", grant.Kind)
		}
	}
	request := plain()
	request.Grant = Grant{GrantGroup, group}
	key := d.issue(request).Key
	d.exec("update projection.phone_system_group set phone_system_ids = $1", []uuid.UUID{other})
	if d.admit(a, key, mine).Covered || !d.admit(a, key, other).Covered {
		t.Error("a group's change is not seen")
	}
	d.exec("delete from projection.phone_system where id = $1", other)
	if d.admit(a, key, other).Covered {
		t.Error("a deleted system is covered")
	}
}

func TestAuthorizer_Narrowing(t *testing.T) {
	d := newDesk(t)
	a := d.authority(d.pepper)
	system, other, extension := d.system(uuid.New()), d.system(uuid.New()), uuid.New()
	d.exec(`insert into projection.extension (system_id, id, version, number, name, status, created_at, updated_at, assigned_phones)
		values ($1, $2, 1, '1', 'one', 'active', now(), now(), '[]')`, system, extension)
	request := plain()
	request.OwnExtension = uuid.NullUUID{UUID: extension, Valid: true}
	key := d.issue(request).Key
	if n := d.admit(a, key, system).Narrowing; !n.On || n.Extension != request.OwnExtension {
		t.Errorf("alive: %+v", n)
	}
	if n := d.admit(a, key, other).Narrowing; !n.On || n.Extension.Valid {
		t.Errorf("in another system: %+v", n)
	}
	d.exec("delete from projection.extension")
	if n := d.admit(a, key, system).Narrowing; !n.On || n.Extension.Valid {
		t.Errorf("gone: %+v", n)
	}
}

// A key is live until it is revoked or expires, and then no more.
func TestAuthorizer_Live(t *testing.T) {
	d := newDesk(t)
	a := d.authority(d.pepper)
	key := d.issue(plain())
	attempt := Attempt{Credential: Parse(key.Key.Reveal())}
	d.admit(a, key.Key, uuid.Nil)
	d.exec("update access.key set expires_at = now() + interval '1 hour'")
	d.admit(a, key.Key, uuid.Nil)
	d.exec("update access.key set expires_at = now() - interval '1 second', revoked_at = null")
	if got := d.denied(a, attempt); got != (DeniedError{Unauthenticated, "expired", key.ID, true}) {
		t.Errorf("expired: %+v", got)
	}
	d.exec("update access.key set expires_at = null")
	d.admit(a, key.Key, uuid.Nil)
	if err := d.registry.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	if got := d.denied(a, attempt); got != (DeniedError{Unauthenticated, "revoked", key.ID, true}) {
		t.Errorf("revoked: %+v", got)
	}
	if got := d.denied(a, Attempt{Credential: Parse(NewKey().Reveal())}); got != (DeniedError{Verdict: Unauthenticated, Reason: "unknown key"}) {
		t.Errorf("unknown: %+v", got)
	}
}

// Peppers are rotated by accepting both for a while.
func TestAuthorizer_Peppers(t *testing.T) {
	d := newDesk(t)
	next := pepperOf(t, 'b')
	old := d.issue(plain())
	fresh, err := NewRegistry(d.registry.pool, next).Issue(t.Context(), plain())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []*Authorizer{d.authority(next, d.pepper), d.authority(d.pepper, next)} {
		d.admit(a, old.Key, uuid.Nil)
		d.admit(a, fresh.Key, uuid.Nil)
	}
	only := d.authority(next)
	d.admit(only, fresh.Key, uuid.Nil)
	if got := d.denied(only, Attempt{Credential: Parse(old.Key.Reveal())}); got.Verdict != Unauthenticated || got.KeyID != old.ID {
		t.Errorf("%+v", got)
	}
	d.exec("update access.key set pepper_id = $1 where id = $2", next.ID(), old.ID)
	if got := d.denied(only, Attempt{Credential: Parse(old.Key.Reveal())}); got.Reason != "wrong secret" {
		t.Errorf("a hash under another pepper: %+v", got)
	}
	if _, err := NewAuthorizer(d.reader, nil); err == nil {
		t.Error("an authority without a pepper")
	}
	if _, err := NewAuthorizer(d.reader, []Pepper{{}}); err == nil {
		t.Error("an authority with the zero pepper")
	}
}

func TestAuthorizer_Networks(t *testing.T) {
	d := newDesk(t)
	a := d.authority(d.pepper)
	request := plain()
	request.Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	request.Expires = time.Now().Add(time.Hour)
	limited, open := d.issue(request), d.issue(plain())
	for text, inside := range map[string]bool{"192.0.2.7": true, "2001:db8::7": true, "192.0.3.7": false, "2001:db9::7": false, "": false} {
		client, _ := netip.ParseAddr(text)
		_, err := a.Authorize(t.Context(), Attempt{Credential: Parse(limited.Key.Reveal()), Client: client})
		if (err == nil) != inside {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := a.Authorize(t.Context(), Attempt{Credential: Parse(open.Key.Reveal()), Client: client}); err != nil {
			t.Errorf("%q without an allowlist: %v", text, err)
		}
	}
	if got := d.denied(a, Attempt{Credential: Parse(limited.Key.Reveal())}); got != (DeniedError{AddressNotAllowed, "address", limited.ID, true}) {
		t.Errorf("%+v", got)
	}
}
