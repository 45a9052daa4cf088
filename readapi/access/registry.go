package access

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrUnknownKey is returned for an id that no key has.
var ErrUnknownKey = errors.New("no key has this id")

// IssuedKey is a new key. Its secret can be shown only now.
type IssuedKey struct {
	Record
	Key Key
}

// Registry issues, lists, rolls and revokes keys for operators.
type Registry struct {
	pool   *pgxpool.Pool
	pepper Pepper
}

// NewRegistry returns a registry. The pool connects as callboard_operator. New keys are hashed under the pepper.
func NewRegistry(pool *pgxpool.Pool, pepper Pepper) *Registry {
	return &Registry{pool: pool, pepper: pepper}
}

//go:embed insert_key.sql
var insertKeySQL string

// Issue creates a key and stores its hash. The error is a [*InvalidError] if the request is invalid.
func (g *Registry) Issue(ctx context.Context, r KeySpec) (IssuedKey, error) {
	r = r.withDefaults()
	if err := r.validate(time.Now()); err != nil {
		return IssuedKey{}, err
	}
	if g.pepper.secret == nil {
		return IssuedKey{}, errPepper
	}

	// Only the hash of the key is stored.
	issued := IssuedKey{Key: NewKey(), Record: r.record()}
	issued.Short, issued.Pepper = issued.Key.Short(), g.pepper.id

	// The caller gets the key only after the commit is on the disk.
	err := g.write(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, insertKeySQL,
			issued.ID, r.Name, issued.Short, g.pepper.hash(issued.Key), g.pepper.id, r.Grant.Kind, r.Grant.ID, r.Scopes,
			r.OwnExtension, issued.Networks, r.Tier, issued.ExpiresAt,
		).Scan(&issued.CreatedAt)
	})
	if err != nil {
		return IssuedKey{}, fmt.Errorf("insert key: %w", err)
	}
	return issued, nil
}

// Covers reports whether a grant covers a phone system that an event has named.
func (g *Registry) Covers(ctx context.Context, grant Grant) (covers bool, err error) {
	statement := map[GrantKind]string{
		GrantSystem: "select count(*) > 0 from projection.phone_system where id = $1",
		GrantGroup: "select count(*) > 0 from projection.phone_system s " +
			"join projection.phone_system_group_member m on m.system_id = s.id where m.group_id = $1",
		GrantOrganization: "select count(*) > 0 from projection.phone_system where organization_id = $1",
	}[grant.Kind]

	if err := g.pool.QueryRow(ctx, statement, grant.ID).Scan(&covers); err != nil {
		return false, fmt.Errorf("look up %s %s: %w", grant.Kind, grant.ID, err)
	}
	return covers, nil
}

// write does work in a transaction, of which each statement sees what others have committed before it. When write
// returns, the commit is on the disk, and on the disk of a synchronous standby.
func (g *Registry) write(ctx context.Context, work func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, g.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select control.commit_durably()"); err != nil {
			return err
		}
		return work(tx)
	})
}

// Conditions for keys.sql.
const (
	everyKey  = "true"
	ofLineage = "k.lineage = (select lineage from access.key where id = $1)"
)

//go:embed keys.sql
var keysSQL string

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
}

func collect(ctx context.Context, q querier, condition string, arguments ...any) ([]Record, error) {
	rows, _ := q.Query(ctx, strings.Replace(keysSQL, "{{condition}}", condition, 1), arguments...)
	return pgx.CollectRows(rows, scanRecord)
}

// List returns every key, newest first.
func (g *Registry) List(ctx context.Context) ([]Record, error) {
	records, err := collect(ctx, g.pool, everyKey)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return records, nil
}

// Show returns a key with its lineage. The error is [ErrUnknownKey] if no key has the id.
func (g *Registry) Show(ctx context.Context, id uuid.UUID) (KeyWithLineage, error) {
	return show(ctx, g.pool, id)
}

func show(ctx context.Context, q querier, id uuid.UUID) (KeyWithLineage, error) {
	lineage, err := collect(ctx, q, ofLineage, id)
	if err != nil {
		return KeyWithLineage{}, fmt.Errorf("show key: %w", err)
	}
	i := slices.IndexFunc(lineage, func(k Record) bool { return k.ID == id })
	if i < 0 {
		return KeyWithLineage{}, ErrUnknownKey
	}
	return KeyWithLineage{Record: lineage[i], LineageKeys: lineage}, nil
}

//go:embed revoke_key.sql
var revokeKeySQL string

// Revoke revokes a key, and returns it: the next request with it is denied. Revoking a key twice is no error. The error
// is [ErrUnknownKey] if no key has the id.
func (g *Registry) Revoke(ctx context.Context, id uuid.UUID) (KeyWithLineage, error) {
	return g.end(ctx, id, revokeKeySQL, id)
}

//go:embed withdraw_key.sql
var withdrawKeySQL string

// Withdraw ends a key at the given times, or at those in the database if they are earlier, and returns it. A nil time
// changes nothing. The error is [ErrUnknownKey] if no key has the id.
func (g *Registry) Withdraw(
	ctx context.Context, id uuid.UUID, revokedAt, expiresAt *time.Time,
) (KeyWithLineage, error) {
	return g.end(ctx, id, withdrawKeySQL, id, revokedAt, expiresAt)
}

// end executes a statement that ends a key, and returns the key.
func (g *Registry) end(
	ctx context.Context, id uuid.UUID, statement string, arguments ...any,
) (key KeyWithLineage, err error) {
	err = g.write(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, statement, arguments...); err != nil {
			return fmt.Errorf("end key: %w", err)
		}

		// The same transaction reads the key, so the record has the new end.
		key, err = show(ctx, tx, id)
		return err
	})
	if err != nil {
		return KeyWithLineage{}, err
	}
	return key, nil
}

// AuditEntry is one request of a key, answered or denied, or several that were denied with the same status and code.
type AuditEntry struct {
	ID            uuid.UUID     `json:"id"`
	At            time.Time     `json:"at"`            // of the first request
	Operation     string        `json:"operation"`     // none: for a path or a method that no operation has; empty: more than one
	System        uuid.NullUUID `json:"phoneSystemId"` // the phone system in the path, covered or not; not valid: none, or more than one
	Status        int           `json:"status"`
	Code          *string       `json:"code"`          // of the problem document; nil if the request was answered
	Address       *netip.Addr   `json:"address"`       // of the last request; nil if unknown
	RequestID     string        `json:"requestId"`     // of the first request
	Count         int64         `json:"count"`         // requests
	LastAt        time.Time     `json:"lastAt"`        // of the last request
	LastRequestID string        `json:"lastRequestId"` // of the last request
	Addresses     int           `json:"addresses"`     // different ones, 1000 at most
}

//go:embed audit_key.sql
var auditKeySQL string

// Audit returns a key's requests since an instant, newest first by the first request of an entry: at most limit
// entries, and whether there are more. It returns none for an id that no key has.
func (g *Registry) Audit(
	ctx context.Context, id uuid.UUID, since time.Time, limit int,
) (entries []AuditEntry, more bool, err error) {
	// The statement reads one entry more than the limit, which tells whether there are more.
	rows, _ := g.pool.Query(ctx, auditKeySQL, id, since, limit+1)
	entries, err = pgx.CollectRows(rows, pgx.RowToStructByName[AuditEntry])
	if err != nil {
		return nil, false, fmt.Errorf("audit key: %w", err)
	}

	if more = len(entries) > limit; more {
		entries = entries[:limit]
	}
	return entries, more, nil
}

// State says whether a key is live.
type State string

// The states.
const (
	StateActive  State = "active"
	StateExpired State = "expired"
	StateRevoked State = "revoked"
)

// Record is everything that is stored about a key, except its hash.
type Record struct {
	ID              uuid.UUID      `json:"id"`
	Lineage         uuid.UUID      `json:"lineage"`
	Pepper          string         `json:"pepper"` // the id of the pepper that the key is hashed under
	Name            string         `json:"name"`
	Short           string         `json:"short"`
	Grant           Grant          `json:"grant" db:"-"`
	Scopes          []Scope        `json:"scopes"`
	OwnExtension    uuid.NullUUID  `json:"ownExtension"`
	Networks        []netip.Prefix `json:"allow"`
	Tier            Tier           `json:"tier"`
	CreatedAt       time.Time      `json:"createdAt"`
	ExpiresAt       *time.Time     `json:"expiresAt"`
	RevokedAt       *time.Time     `json:"revokedAt"`
	State           State          `json:"state"`
	LastUsedAt      *time.Time     `json:"lastUsedAt"`      // nil if never used
	LastUsedAddress *netip.Addr    `json:"lastUsedAddress"` // nil if never used or unknown
}

// KeyWithLineage is a key with all keys of its lineage.
type KeyWithLineage struct {
	Record
	LineageKeys []Record `json:"lineageKeys"` // newest first, including the key itself
}

// Successor returns the newest live key that the key was rolled into, or nil.
func (k KeyWithLineage) Successor() *Record {
	for i, other := range k.LineageKeys {
		if other.ID == k.ID {
			break
		}
		if other.State == StateActive {
			return &k.LineageKeys[i]
		}
	}
	return nil
}

// scanRecord reads a row of keys.sql.
func scanRecord(row pgx.CollectableRow) (Record, error) {
	found, err := pgx.RowToStructByName[struct {
		Record
		GrantKind GrantKind
		GrantID   uuid.UUID
	}](row)
	found.Grant = Grant{Kind: found.GrantKind, ID: found.GrantID}
	return found.Record, err
}
