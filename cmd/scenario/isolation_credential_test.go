package scenario_test

import (
	"net/http"
	"net/netip"
	"slices"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// credential is what a request presents, and what is true of it by its making.
type credential struct {
	name     string
	text     string // of X-API-Key; empty: there is no such header
	refusal  string // of whatever is asked for; empty: it is a live key
	covers   []owner
	scopes   []access.Scope
	narrowed bool // calls:read, to the calls of one's own extension
}

func (c credential) header() http.Header {
	if c.text == "" {
		return http.Header{}
	}
	return http.Header{"X-Api-Key": {c.text}}
}

// credentials are one of every kind.
func (r *realm) credentials() []credential {
	return slices.Concat(r.granted(), r.lessened(), r.dead(), foreign())
}

// ofOrganization is a key with every scope on the organization, changed.
func (r *realm) ofOrganization(name string, changes ...func(*access.Request)) credential {
	return r.live(name, access.Grant{Kind: access.GrantOrganization, ID: r.organization}, []owner{own, fellow, annexed}, changes...)
}

func (r *realm) live(name string, grant access.Grant, covers []owner, changes ...func(*access.Request)) credential {
	r.t.Helper()
	request := access.Request{Grant: grant, Scopes: issuable()}
	for _, change := range changes {
		change(&request)
	}
	return credential{
		name: name, text: r.stage.key(request).Reveal(), covers: covers, scopes: request.Scopes, narrowed: request.OwnExtension.Valid,
	}
}

// granted are keys of every kind of grant.
func (r *realm) granted() []credential {
	system := func(of owner) access.Grant { return access.Grant{Kind: access.GrantSystem, ID: r.tenants[of].system()} }
	return []credential{
		r.live("of the system", system(own), []owner{own}),
		r.live("of the group", access.Grant{Kind: access.GrantGroup, ID: r.group}, []owner{own, fellow}),
		r.ofOrganization("of the organization"),
		r.live("of another organization", access.Grant{Kind: access.GrantOrganization, ID: r.others}, []owner{stranger}),
		r.live("of another group", access.Grant{Kind: access.GrantGroup, ID: r.othersGroup}, []owner{offspring, stranger}),
		r.live("of a deleted system", system(ended), nil),
		r.live("of a system that nobody announced", system(unannounced), nil),
		r.live("of a system that never was", system(never), nil),
	}
}

// places are where to ask an operation with the credential. A key that lacks a scope is but its organization's for operations of
// others, so one place is enough there.
func (c credential) places(o operation) []place {
	if lacks := len(c.scopes) == len(issuable())-1; lacks && c.unlocks(o) {
		return places(o)[:1]
	}
	return places(o)
}

// lessened are keys that lack something: each scope in turn, others' calls, the address.
func (r *realm) lessened() []credential {
	list := []credential{r.ofOrganization("narrowed to an extension", func(request *access.Request) {
		request.OwnExtension = uuid.NullUUID{UUID: r.tenants[own].id(extensionObject), Valid: true}
	})}
	for _, scope := range issuable() {
		list = append(list, r.ofOrganization("without "+string(scope), func(request *access.Request) {
			request.Scopes = slices.DeleteFunc(issuable(), func(s access.Scope) bool { return s == scope })
		}))
	}
	elsewhere := r.ofOrganization("for other addresses", func(request *access.Request) {
		request.Networks = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
	})
	elsewhere.refusal = "403 ADDRESS_NOT_ALLOWED"
	return append(list, elsewhere)
}

// dead are keys that were live, and what merely looks like a key.
func (r *realm) dead() []credential {
	r.t.Helper()
	expired, revoked, rolled := r.ofOrganization("expired"), r.ofOrganization("revoked"), r.ofOrganization("rolled away")
	if _, err := r.pool.Exec(r.t.Context(), "update access.key set expires_at = now() where id = $1", r.keyID(expired)); err != nil {
		r.t.Fatal(err)
	}
	r.revoke(r.keyID(revoked))
	if _, err := r.registry.Roll(r.t.Context(), r.keyID(rolled), access.Roll{}); err != nil {
		r.t.Fatal(err)
	}
	list := []credential{
		expired, revoked, rolled,
		{name: "forged", text: forged(r.stage.key(access.Request{Grant: access.Grant{Kind: access.GrantOrganization, ID: r.organization}}))},
		{name: "unknown", text: access.NewKey().Reveal()}, {name: "none"}, {name: "malformed", text: "sk_phones_x_y"}, {name: "noise", text: "noise"},
	}
	for i := range list {
		list[i].refusal = "401 UNAUTHENTICATED"
	}
	return list
}

// keyID is that of a live key.
func (r *realm) keyID(c credential) (id uuid.UUID) {
	r.t.Helper()
	short := access.Parse(c.text).Key.Short()
	if err := r.pool.QueryRow(r.t.Context(), "select id from access.key where short = $1", short).Scan(&id); err != nil {
		r.t.Fatal(err)
	}
	return id
}

func foreign() []credential {
	return []credential{
		{name: "publishable key", text: publishableKey, refusal: noTenantKey},
		{name: "platform key", text: platformKey, refusal: noTenantKey},
		{name: "session token", text: sessionToken, refusal: noTenantKey},
	}
}
