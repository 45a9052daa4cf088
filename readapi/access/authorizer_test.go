package access

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/schema/schematest"
)

func (h *harness) authorizer(peppers ...Pepper) *Authorizer {
	h.Helper()
	authorizer, err := NewAuthorizer(h.reader, peppers, time.Now)
	if err != nil {
		h.Fatal(err)
	}
	return authorizer
}

func (h *harness) authorize(a *Authorizer, key Key, system uuid.UUID) Authorization {
	h.Helper()
	authorization, err := a.Authorize(h.Context(), AuthorizeParams{Credential: Parse(key.Reveal()), System: system})
	if err != nil {
		h.Fatal(err)
	}
	return authorization
}

func (h *harness) denied(a *Authorizer, t AuthorizeParams) DeniedError {
	h.Helper()
	_, err := a.Authorize(h.Context(), t)
	var denial *DeniedError
	if !errors.As(err, &denial) {
		h.Fatalf("error = %v, want a DeniedError", err)
	}
	return *denial
}

func (h *harness) system(organization uuid.UUID) uuid.UUID {
	h.Helper()
	id := uuid.New()
	h.exec("insert into projection.phone_system (id, version, name, organization_id, partition) values ($1, 1, 'one', $2, 0)", id, organization)
	return id
}

func TestAuthorizer_Authorization(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	a := h.authorizer(h.pepper)
	system := h.system(uuid.New())
	request := minimalSpec()
	request.Grant.ID, request.Tier = system, TierPremium
	key := h.issue(request)
	got := h.authorize(a, key.Key, system)
	if got.KeyID != key.ID || got.Lineage != key.Lineage || got.Grant != request.Grant || got.Tier != TierPremium ||
		!got.Covered || got.Narrowing.On || !got.Allows(ScopeCalls) || got.Allows(ScopePhones) {
		t.Errorf("authorization = %+v, want that of %+v", got, key.Record)
	}
	if h.authorize(a, key.Key, uuid.Nil).Covered {
		t.Error("covered = true for a path without a system")
	}
}

// Coverage is read from the projection for every request.
func TestAuthorizer_Coverage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	a := h.authorizer(h.pepper)
	organization := uuid.New()
	mine, other := h.system(organization), h.system(uuid.New())
	group := uuid.New()
	h.exec("insert into projection.phone_system_group_member (group_id, system_id) values ($1, $2)", group, mine)
	for _, grant := range []Grant{{GrantSystem, mine}, {GrantGroup, group}, {GrantOrganization, organization}} {
		request := minimalSpec()
		request.Grant = grant
		key := h.issue(request).Key
		if !h.authorize(a, key, mine).Covered || h.authorize(a, key, other).Covered || h.authorize(a, key, uuid.New()).Covered {
			t.Errorf("the grant of a %s does not cover exactly its system", grant.Kind)
		}
	}
	// The same id in another kind of grant covers nothing.
	for _, grant := range []Grant{{GrantGroup, mine}, {GrantOrganization, mine}, {GrantSystem, group}, {GrantSystem, organization}} {
		request := minimalSpec()
		request.Grant = grant
		if h.authorize(a, h.issue(request).Key, mine).Covered {
			t.Errorf("the grant of a %s covers a system of another grant", grant.Kind)
		}
	}
	request := minimalSpec()
	request.Grant = Grant{GrantGroup, group}
	key := h.issue(request).Key
	h.exec("update projection.phone_system_group_member set system_id = $1", other)
	if h.authorize(a, key, mine).Covered || !h.authorize(a, key, other).Covered {
		t.Error("coverage does not follow a change of the group")
	}
	h.exec("delete from projection.phone_system where id = $1", other)
	if h.authorize(a, key, other).Covered {
		t.Error("covered = true for a deleted system")
	}
}

// A generation with another number of partitions goes live while the reader runs: phone systems are found in their
// partitions.
func TestAuthorizer_NumberOfPartitionsChanges(t *testing.T) {
	schematest.NeedOneServer(t, "it moves rows to another partition")
	t.Parallel()
	h := newHarness(t)
	a := h.authorizer(h.pepper)
	organization := uuid.New()
	request := minimalSpec()
	request.Grant = Grant{Kind: GrantOrganization, ID: organization}
	key := h.issue(request).Key
	for _, partitions := range []int{1, 16, 3, 16} {
		h.exec("update projection.generation set partitions = $1", partitions)
		for range 4 {
			system := h.system(organization)
			h.exec("update projection.phone_system set partition = $2 where id = $1", system, events.Partition(system, partitions))
			if !h.authorize(a, key, system).Covered || h.authorize(a, key, uuid.New()).Covered {
				t.Errorf("%d partitions: the phone system is not covered, or an unknown one is", partitions)
			}
		}
	}
}

func TestAuthorizer_Narrowing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	a := h.authorizer(h.pepper)
	system, other, extension := h.system(uuid.New()), h.system(uuid.New()), uuid.New()
	h.exec(`insert into projection.tombstone (system_id, entity, key, version, owner, owner_id)
		values ($1, 'extension', $2, 1, '', gen_random_uuid()), ($3, 'phone', $2, 1, '', gen_random_uuid())`, other, extension.String(), system)
	request := minimalSpec()
	request.OwnExtension = uuid.NullUUID{UUID: extension, Valid: true}
	key := h.issue(request).Key
	if n := h.authorize(a, key, system).Narrowing; !n.On || n.Extension != request.OwnExtension {
		t.Errorf("extension that was not deleted: narrowing = %+v, want %v", n, request.OwnExtension)
	}
	if n := h.authorize(a, key, other).Narrowing; !n.On || n.Extension.Valid {
		t.Errorf("deleted extension: narrowing = %+v, want one without an extension", n)
	}
}

// During the rotation of a pepper, keys are accepted under both. New keys are hashed under the current pepper.
func TestAuthorizer_Peppers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	next := pepperOf(t, 'b')
	old := h.issue(minimalSpec())
	current := NewRegistry(h.registry.pool, next)
	fresh, err := current.Issue(t.Context(), minimalSpec())
	if err != nil {
		t.Fatal(err)
	}
	rolled, err := current.Roll(t.Context(), old.ID, Roll{Overlap: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []*Authorizer{h.authorizer(next, h.pepper), h.authorizer(h.pepper, next)} {
		h.authorize(a, old.Key, uuid.Nil)
		h.authorize(a, fresh.Key, uuid.Nil)
	}
	only := h.authorizer(next)
	h.authorize(only, fresh.Key, uuid.Nil)
	h.authorize(only, rolled.Key, uuid.Nil)
	if got := h.denied(only, AuthorizeParams{Credential: Parse(old.Key.Reveal())}); got.Code != Unauthenticated || got.KeyID != old.ID ||
		!strings.Contains(got.Reason, "not configured: "+h.pepper.ID()) {
		t.Errorf("unknown pepper: denial = %+v, want unauthenticated", got)
	}
	h.exec("update access.key set pepper_id = $1 where id = $2", next.ID(), old.ID)
	if got := h.denied(only, AuthorizeParams{Credential: Parse(old.Key.Reveal())}); got.Reason != "wrong secret" {
		t.Errorf("hash under another pepper: reason = %q, want \"wrong secret\"", got.Reason)
	}
	if _, err := NewAuthorizer(h.reader, nil, time.Now); err == nil {
		t.Error("error = nil without a pepper")
	}
	if _, err := NewAuthorizer(h.reader, []Pepper{{}}, time.Now); err == nil {
		t.Error("error = nil with the zero pepper")
	}
}

func TestAuthorizer_Networks(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	a := h.authorizer(h.pepper)
	request := minimalSpec()
	request.Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	request.Expires = time.Now().Add(time.Hour)
	limited, open := h.issue(request), h.issue(minimalSpec())
	for text, inside := range map[string]bool{"192.0.2.7": true, "2001:db8::7": true, "192.0.3.7": false, "2001:db9::7": false, "": false} {
		client, _ := netip.ParseAddr(text)
		_, err := a.Authorize(t.Context(), AuthorizeParams{Credential: Parse(limited.Key.Reveal()), Client: client})
		if (err == nil) != inside {
			t.Errorf("address %q: error = %v, want authorized: %t", text, err, inside)
		}
		if _, err := a.Authorize(t.Context(), AuthorizeParams{Credential: Parse(open.Key.Reveal()), Client: client}); err != nil {
			t.Errorf("address %q without an allowlist: error = %v", text, err)
		}
	}
	if got := h.denied(a, AuthorizeParams{Credential: Parse(limited.Key.Reveal())}); got != (DeniedError{AddressNotAllowed, "address", limited.ID, limited.Lineage, true}) {
		t.Errorf("denial = %+v, want AddressNotAllowed", got)
	}
}
