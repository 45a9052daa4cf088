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
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

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

	// CoverageAge is how far the watermark that decides about the coverage of a group or an organization is behind the
	// primary's clock. It is 0 for a grant of one phone system, and for a partition that no event has reached, which
	// covers nothing.
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

// Authorizer authorizes requests. It remembers what can be denied, and nothing that allows something. It is safe for
// concurrent use.
type Authorizer struct {
	primary    *pgxpool.Pool
	partitions PartitionCount
	nodes      schema.Nodes // over which the projection can be distributed
	outages    outages      // of nodes
	peppers    []Pepper
	dead       *deadKeys
	unknown    *unknownKeys
	now        func() time.Time
}

// NewAuthorizer returns an authorizer that reads keys from the primary. It accepts keys under any of the peppers. It
// returns an error if there is none. now is the clock by which it remembers keys.
func NewAuthorizer(primary *pgxpool.Pool, peppers []Pepper, now func() time.Time) (*Authorizer, error) {
	if len(peppers) == 0 || slices.ContainsFunc(peppers, func(p Pepper) bool { return p.secret == nil }) {
		return nil, errPepper
	}
	return &Authorizer{
		primary: primary, peppers: peppers, dead: newDeadKeys(), unknown: newUnknownKeys(), now: now,
	}, nil
}

// Authorize checks the credential and the client's address. The error is a [*DeniedError] if one of them is refused,
// and [ErrThrottled] if the client's network has sent too many unknown keys. The caller checks the scope and the
// coverage of the phone system, in the contract's order.
func (a *Authorizer) Authorize(ctx context.Context, t AuthorizeParams) (Authorization, error) {
	// A text that cannot be a key costs no statement.
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

	// The log names the key even if the secret is wrong.
	denied := &DeniedError{KeyID: found.ID, Lineage: found.Lineage}
	if denied.Reason = a.verifySecret(t.Credential.Key, found); denied.Reason != "" {
		denied.Code = Unauthenticated
		return Authorization{}, denied
	}

	// From here on, the request is known to have the key's secret.
	denied.Authenticated = true
	short := t.Credential.Key.Short()
	if found.Revoked || found.Expired {
		a.dead.add(short, found, a.now())
	} else {
		a.unknown.noteValid(short, a.now())
	}

	// The address is checked last: a client without the secret never learns whether its address is allowed.
	if denied.Code, denied.Reason = found.denialFor(t.Client); denied.Code != 0 {
		return Authorization{}, denied
	}
	return found.authorization(), nil
}

// candidate is what decides about a request with a key's short part. Its zero value stands for a key that was never
// issued.
type candidate struct {
	keyColumns
	coverageColumns
}

// keyColumns are what key.sql selects, and authorize.sql first. Arrays of bytes are read without a detour through text.
type keyColumns struct {
	ID              [16]byte
	Lineage         [16]byte
	Hash            []byte
	PepperID        string
	GrantKind       GrantKind
	GrantID         [16]byte
	Scopes          []string
	OwnExtensionID  pgtype.UUID
	AllowedNetworks []netip.Prefix
	Tier            Tier
	Revoked         bool
	Expired         bool
}

// coverageColumns are what coverage.sql selects, and authorize.sql after the key.
type coverageColumns struct {
	Covered     bool
	CoverageAge pgtype.Float8 // in seconds; null: of no partition
	ExtensionID pgtype.UUID   // that the key is narrowed to; null: it was deleted
	Partitions  int           // of the generation
}

func (c candidate) authorization() Authorization {
	return Authorization{
		KeyID: c.ID, Lineage: c.Lineage, Grant: Grant{Kind: c.GrantKind, ID: c.GrantID}, Tier: c.Tier, scopes: c.Scopes,
		Narrowing: Narrowing{On: c.OwnExtensionID.Valid,
			Extension: uuid.NullUUID{UUID: c.ExtensionID.Bytes, Valid: c.ExtensionID.Valid}},
		Covered: c.Covered, CoverageAge: time.Duration(c.CoverageAge.Float64 * float64(time.Second)),
	}
}

// find returns the row of a dead key from memory, and that of any other from the primary.
func (a *Authorizer) find(ctx context.Context, t AuthorizeParams) (candidate, error) {
	short := t.Credential.Key.Short()
	if dead, found := a.dead.find(short, a.now()); found {
		return dead, nil
	}

	// Anybody can make unknown keys, so the lookups of unknown keys are limited.
	if a.unknown.throttled(short, t.Client, a.now()) {
		return candidate{}, ErrThrottled
	}

	found, err := a.readKey(ctx, t)
	if err == nil && found.Hash == nil {
		a.unknown.noteUnknown(t.Client, a.now())
	}
	return found, err
}

var (
	//go:embed authorize.sql
	authorizeSQL string

	//go:embed authorize_list.sql
	authorizeListSQL string
)

// readKey reads the row of a key, and what it allows in the phone system's partition. What a group covers is decided in
// the groups' partition. Both are computed from the known number of partitions; where it was another, they are read
// again.
func (a *Authorizer) readKey(ctx context.Context, t AuthorizeParams) (candidate, error) {
	for range Attempts {
		in, global, partitions := a.partitions.WithGlobal(t.System)
		c, err := a.readKeyInPartition(ctx, t, in, global)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return candidate{}, nil
		case err != nil:
			return candidate{}, fmt.Errorf("authorize: %w", err)

		// Without a phone system, only the age of a group depends on the number of partitions.
		case c.Partitions == partitions || t.System == uuid.Nil && c.GrantKind != GrantGroup:
			return c, nil
		}

		// The partitions were computed from a number that no longer holds.
		a.partitions.Learn(c.Partitions)
	}
	return candidate{}, fmt.Errorf("authorize: %w", ErrSwitching)
}

func (a *Authorizer) readKeyInPartition(
	ctx context.Context, t AuthorizeParams, in, global int16,
) (c candidate, err error) {
	err = schema.Repeat(ctx, a.primary, func(ctx context.Context, conn *pgxpool.Conn) (bool, error) {
		nodes, err := a.nodes.Exist(ctx, conn)
		switch short := t.Credential.Key.Short(); {
		case err != nil:
			return false, err

		// On a distributed projection, the node of the partition says what the key covers.
		case nodes:
			c, err = a.readOnNodes(ctx, conn, t, in, global)
		case t.System == uuid.Nil:
			c, err = queryRow[candidate](ctx, conn, authorizeListSQL, short, global)
		default:
			c, err = queryRow[candidate](ctx, conn, authorizeSQL, short, schema.UUID(t.System), in, global)
		}

		// No caller has used a row yet, so the statement may run again.
		return false, err
	})

	return c, err
}

// queryRow runs a statement and returns its row, whose columns have the names of T's fields. The error is
// [pgx.ErrNoRows] if there is none.
func queryRow[T any](ctx context.Context, conn *pgxpool.Conn, sql string, arguments ...any) (T, error) {
	rows, _ := conn.Query(ctx, sql, arguments...) // its error is that of the rows
	return pgx.CollectOneRow(rows, pgx.RowToStructByName[T])
}

// verifySecret returns the reason why the key does not match the row, and an empty string if it matches. It computes
// and compares a hash in every case, so that the duration does not tell an unknown key from a wrong secret.
func (a *Authorizer) verifySecret(key Key, c candidate) string {
	pepper, known := a.pepper(c.PepperID)

	// Without a stored hash, a hash of zeros takes the same time to compare.
	stored := c.Hash
	if len(stored) != sha256.Size {
		stored = make([]byte, sha256.Size)
	}
	equal := hmac.Equal(pepper.hash(key), stored)

	switch {
	case c.Hash == nil:
		return "unknown key"
	case !known:
		return "hashed under a pepper that is not configured: " + c.PepperID
	case !equal:
		return "wrong secret"
	}
	return ""
}

// denialFor returns why a key with the right secret is denied, and zero if it is not.
func (c candidate) denialFor(client netip.Addr) (DenialCode, string) {
	switch {
	case c.Revoked:
		return Unauthenticated, "revoked"
	case c.Expired:
		return Unauthenticated, "expired"
	case len(c.AllowedNetworks) > 0 && !contains(c.AllowedNetworks, client):
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
