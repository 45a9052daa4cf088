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
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/readapi/partition"
	"callboard/schema"
)

// AuthorizeParams is what the authorization of a request depends on.
type AuthorizeParams struct {
	Credential Credential
	Client     netip.Addr // the zero address if it is unknown; no allowlist contains it
	System     uuid.UUID  // the phone system in the path; zero if the path has none
}

// Authorization is what a key allows at the time of its request.
type Authorization struct {
	KeyID     uuid.UUID
	Lineage   uuid.UUID // shared by a key and the keys that it was rolled into, which share one budget
	Grant     Grant
	Tier      Tier
	Narrowing Narrowing
	Covered   bool // the phone system in the path exists and the grant covers it
	scopes    []string

	// CoverageAge is how far what decides about the coverage of a group or an organization is behind the primary's clock: the watermark of
	// its partition. It is 0 for a grant of one phone system, and for a partition that no event has reached: that covers nothing.
	CoverageAge time.Duration
}

// Allows reports whether the key has the scope.
func (p Authorization) Allows(s Scope) bool { return slices.Contains(p.scopes, string(s)) }

// Narrowing limits calls:read to one extension's own calls.
type Narrowing struct {
	On        bool
	Extension uuid.NullUUID // not valid if the extension was deleted: then the key sees no calls
}

// DenialCode is the reason for which a request is denied before its data is read.
type DenialCode int

// The denial codes.
const (
	Unauthenticated       DenialCode = iota + 1 // no live key
	CredentialNotAccepted                       // a credential of another kind than a tenant's key
	AddressNotAllowed                           // a live key, from an address outside its allowlist
)

// DeniedError is returned by [Authorizer.Authorize] for a request that is denied.
type DeniedError struct {
	Code          DenialCode
	Reason        string    // for the log; never sent to clients
	KeyID         uuid.UUID // of the key's row, if one was found
	Lineage       uuid.UUID // of the key
	Authenticated bool      // the request has the key's right secret
}

func (d *DeniedError) Error() string { return "denied: " + d.Reason }

// Authorizer authorizes requests. It remembers what can be denied, and nothing that allows something. It is safe for concurrent use.
type Authorizer struct {
	primary    *pgxpool.Pool
	partitions partition.Count
	statements statements
	nodes      schema.Nodes // over which the projection can be distributed
	outages    outages      // of nodes
	peppers    []Pepper
	dead       *deadKeys
	unknown    *unknownKeys
	now        func() time.Time
}

// NewAuthorizer returns an authorizer that reads keys from the primary. It accepts keys under any of the peppers. It returns an
// error if there is none. now is the clock by which it remembers keys.
func NewAuthorizer(primary *pgxpool.Pool, peppers []Pepper, now func() time.Time) (*Authorizer, error) {
	if len(peppers) == 0 || slices.ContainsFunc(peppers, func(p Pepper) bool { return p.secret == nil }) {
		return nil, errPepper
	}
	return &Authorizer{
		primary: primary, statements: newStatements(), peppers: peppers, dead: newDeadKeys(), unknown: newUnknownKeys(), now: now,
	}, nil
}

// Authorize checks the credential and the client's address. The error is a [*DeniedError] if one of them is refused, and [ErrThrottled] if
// the client's network has sent too many unknown keys. The caller checks the scope and the coverage of the phone system, in the contract's order.
func (a *Authorizer) Authorize(ctx context.Context, t AuthorizeParams) (Authorization, error) {
	switch t.Credential.Kind {
	case OtherCredential:
		return Authorization{}, &DeniedError{Code: CredentialNotAccepted, Reason: "not a tenant key"}
	case Malformed:
		return Authorization{}, &DeniedError{Code: Unauthenticated, Reason: "missing or malformed"}
	case TenantKey:
	}
	found, err := a.find(ctx, t)
	if err != nil {
		return Authorization{}, err
	}
	key := found.authorization
	if reason := a.verifySecret(t.Credential.Key, found); reason != "" {
		return Authorization{}, &DeniedError{Code: Unauthenticated, Reason: reason, KeyID: key.KeyID, Lineage: key.Lineage}
	}
	a.note(t.Credential.Key.Short(), found)
	if code, reason := found.denialFor(t.Client); code != 0 {
		return Authorization{}, &DeniedError{Code: code, Reason: reason, KeyID: key.KeyID, Lineage: key.Lineage, Authenticated: true}
	}
	return found.authorization, nil
}

// candidate is the row of a key's short part. Its zero value stands for a key that was never issued.
type candidate struct {
	authorization    Authorization
	hash             []byte
	pepperID         string
	networks         []netip.Prefix
	revoked, expired bool
}

// find returns the row of a dead key from memory, and that of any other from the primary.
func (a *Authorizer) find(ctx context.Context, t AuthorizeParams) (candidate, error) {
	short := t.Credential.Key.Short()
	if dead, found := a.dead.find(short, a.now()); found {
		return dead, nil
	}
	if a.unknown.throttled(short, t.Client, a.now()) {
		return candidate{}, ErrThrottled
	}
	found, err := a.readKey(ctx, t)
	if err == nil && found.hash == nil {
		a.unknown.noteUnknown(t.Client, a.now())
	}
	return found, err
}

// note remembers whether a key whose secret is right is dead.
func (a *Authorizer) note(short string, c candidate) {
	if c.revoked || c.expired {
		a.dead.add(short, c, a.now())
		return
	}
	a.unknown.noteValid(short, a.now())
}

var (
	//go:embed authorize.sql
	authorizeSQL string
	//go:embed coverage_age.sql
	coverageAgeSQL string
	//go:embed coverage_age_of_list.sql
	coverageAgeOfListSQL string
)

// statements decide about a key and a phone system, or the list of phone systems. In one statement, what only the list needs would make every
// request slower.
type statements struct{ system, list string }

func newStatements() statements {
	compose := func(age string) string { return strings.Replace(authorizeSQL, "{{coverage_age}}", age, 1) }
	return statements{system: compose(coverageAgeSQL), list: compose(coverageAgeOfListSQL)}
}

func (s statements) of(system uuid.UUID) string {
	if system == uuid.Nil {
		return s.list
	}
	return s.system
}

// readKey reads the row of a key, and what it allows in the phone system's partition. What a group covers is decided in the groups' partition.
func (a *Authorizer) readKey(ctx context.Context, t AuthorizeParams) (candidate, error) {
	for range partition.Attempts {
		in, global, partitions := a.partitions.WithGlobal(t.System)
		c, now, err := a.readKeyInPartition(ctx, t, in, global)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return candidate{}, nil
		case err != nil:
			return candidate{}, fmt.Errorf("authorize: %w", err)
		case now == partitions || t.System == uuid.Nil && c.authorization.Grant.Kind != GrantGroup:
			return c, nil
		}
		a.partitions.Learn(now)
	}
	return candidate{}, fmt.Errorf("authorize: %w", partition.ErrSwitching)
}

// readKeyInPartition also returns the number of the generation's partitions.
func (a *Authorizer) readKeyInPartition(ctx context.Context, t AuthorizeParams, in, global int16) (c candidate, partitions int, err error) {
	p := &c.authorization
	var age pgtype.Float8 // null: of no partition
	// pgx encodes a pgtype.UUID directly and a uuid.UUID through its text.
	system := pgtype.UUID{Bytes: t.System, Valid: t.System != uuid.Nil}
	err = schema.Repeat(ctx, a.primary, func(ctx context.Context, conn *pgxpool.Conn) (bool, error) {
		nodes, err := a.nodes.Exist(ctx, conn)
		if err == nil && nodes {
			c, age, partitions, err = a.readKeyOnNodes(ctx, conn, t, in, global)
		}
		if err != nil || nodes {
			return false, err
		}
		return false, conn.QueryRow(ctx, a.statements.of(t.System), t.Credential.Key.Short(), system, in, global).Scan(
			(*[16]byte)(&p.KeyID), (*[16]byte)(&p.Lineage), &c.hash, &c.pepperID, &p.Grant.Kind, (*[16]byte)(&p.Grant.ID), &p.scopes, &c.networks, &p.Tier,
			&c.revoked, &c.expired, &p.Covered, &age, &p.Narrowing.On, &p.Narrowing.Extension, &partitions,
		)
	})
	p.CoverageAge = time.Duration(age.Float64 * float64(time.Second))
	return c, partitions, err
}

// verifySecret returns the reason why the key does not match the row, and an empty string if it matches. It computes and compares a
// hash in every case, so that the duration does not tell an unknown key from a wrong secret.
func (a *Authorizer) verifySecret(key Key, c candidate) string {
	pepper, known := a.pepper(c.pepperID)
	stored := c.hash
	if len(stored) != sha256.Size {
		stored = make([]byte, sha256.Size)
	}
	equal := hmac.Equal(pepper.hash(key), stored)
	switch {
	case c.hash == nil:
		return "unknown key"
	case !known:
		return "hashed under a pepper that is not configured: " + c.pepperID
	case !equal:
		return "wrong secret"
	}
	return ""
}

// denialFor returns why a key with the right secret is denied, and zero if it is not.
func (c candidate) denialFor(client netip.Addr) (DenialCode, string) {
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

// pepper returns the pepper of an id. If it is not configured, it returns the current one and false.
func (a *Authorizer) pepper(id string) (Pepper, bool) {
	for _, p := range a.peppers {
		if p.id == id {
			return p, true
		}
	}
	return a.peppers[0], false
}
