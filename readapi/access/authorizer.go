package access

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Attempt is what a request brings to be admitted.
type Attempt struct {
	Credential Credential
	Client     netip.Addr // the zero address: not known, and on no allowlist
	System     uuid.UUID  // the path's phone system; zero where the path names none
}

// Authorization is what an admitted key may do, at the instant of its request.
type Authorization struct {
	KeyID     uuid.UUID
	Lineage   uuid.UUID // shared by a key and what it was rolled into, and with it the budget
	Grant     Grant
	Tier      Tier
	Narrowing Narrowing
	Covered   bool // the path's phone system exists and the grant covers it
	scopes    []string
}

// Allows reports whether the key carries the scope.
func (p Authorization) Allows(s Scope) bool { return slices.Contains(p.scopes, string(s)) }

// Narrowing limits what calls:read shows to one extension's own calls.
type Narrowing struct {
	On        bool
	Extension uuid.NullUUID // not valid where the extension is not alive: then nothing is shown
}

// Authorizer admits requests. It holds no state between them.
type Authorizer struct {
	primary *pgxpool.Pool
	peppers []Pepper
}

// NewAuthorizer is an authority that asks the primary. Keys are accepted under any of the peppers, of which there is at least one.
func NewAuthorizer(primary *pgxpool.Pool, peppers []Pepper) (*Authorizer, error) {
	if len(peppers) == 0 || slices.ContainsFunc(peppers, func(p Pepper) bool { return p.secret == nil }) {
		return nil, errPepper
	}
	return &Authorizer{primary: primary, peppers: peppers}, nil
}

// Authorize decides about an attempt. The error is a [*DeniedError] where the credential or the address is refused; what the path and
// the operation ask of the Authorization is for the caller to check, in the contract's order.
func (a *Authorizer) Authorize(ctx context.Context, t Attempt) (Authorization, error) {
	switch t.Credential.Kind {
	case OtherCredential:
		return Authorization{}, &DeniedError{Verdict: CredentialNotAccepted, Reason: "not a tenant key"}
	case Malformed:
		return Authorization{}, &DeniedError{Verdict: Unauthenticated, Reason: "missing or malformed"}
	case TenantKey:
	}
	found, err := a.find(ctx, t)
	if err != nil {
		return Authorization{}, err
	}
	if doubt := a.doubt(t.Credential.Key, found); doubt != "" {
		return Authorization{}, &DeniedError{Verdict: Unauthenticated, Reason: doubt, KeyID: found.permit.KeyID}
	}
	if verdict, reason := found.bars(t.Client); verdict != 0 {
		return Authorization{}, &DeniedError{Verdict: verdict, Reason: reason, KeyID: found.permit.KeyID, Authenticated: true}
	}
	return found.permit, nil
}

// candidate is the row that a key's short part finds. Its zero value is that of a key that was never issued.
type candidate struct {
	permit           Authorization
	hash             []byte
	pepperID         string
	networks         []netip.Prefix
	revoked, expired bool
}

//go:embed authorize.sql
var authorizeSQL string

func (a *Authorizer) find(ctx context.Context, t Attempt) (candidate, error) {
	var c candidate
	p := &c.permit
	// The driver encodes this type directly, and a uuid.UUID by way of text.
	system := pgtype.UUID{Bytes: t.System, Valid: t.System != uuid.Nil}
	err := a.primary.QueryRow(ctx, authorizeSQL, t.Credential.Key.Short(), system).Scan(
		(*[16]byte)(&p.KeyID), (*[16]byte)(&p.Lineage), &c.hash, &c.pepperID, &p.Grant.Kind, (*[16]byte)(&p.Grant.ID), &p.scopes, &c.networks, &p.Tier,
		&c.revoked, &c.expired, &p.Covered, &p.Narrowing.On, &p.Narrowing.Extension,
	)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return candidate{}, fmt.Errorf("authorize: %w", err)
	}
	return c, nil
}

// doubt is why the request does not prove that it holds the key, empty where it does. A hash is computed and compared whatever
// was found, so that the time taken does not tell an unknown key from a wrong secret.
func (a *Authorizer) doubt(key Key, c candidate) string {
	pepper, held := a.pepper(c.pepperID)
	stored := c.hash
	if len(stored) != sha256.Size {
		stored = make([]byte, sha256.Size)
	}
	same := hmac.Equal(pepper.hash(key), stored)
	switch {
	case c.hash == nil:
		return "unknown key"
	case !held:
		return "hashed under a pepper that is not held: " + c.pepperID
	case !same:
		return "wrong secret"
	}
	return ""
}

// bars is the verdict on a key that is held and of no use, zero where there is none, and why.
func (c candidate) bars(client netip.Addr) (Verdict, string) {
	switch {
	case c.revoked:
		return Unauthenticated, "revoked"
	case c.expired:
		return Unauthenticated, "expired"
	case len(c.networks) > 0 && !contains(c.networks, client):
		return AddressNotAllowed, "address"
	}
	return 0, ""
}

// pepper is the one of that id, and the current one where it is not held.
func (a *Authorizer) pepper(id string) (Pepper, bool) {
	for _, p := range a.peppers {
		if p.id == id {
			return p, true
		}
	}
	return a.peppers[0], false
}
