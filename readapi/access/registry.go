package access

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrUnknownKey is returned for an id that no key has.
var ErrUnknownKey = errors.New("no key has this id")

// State is whether a key opens anything.
type State string

// The states.
const (
	StateActive  State = "active"
	StateExpired State = "expired"
	StateRevoked State = "revoked"
)

// Record is what is kept of a key, as operators see it. The key itself is not in it.
type Record struct {
	ID           uuid.UUID      `json:"id"`
	Lineage      uuid.UUID      `json:"lineage"`
	Name         string         `json:"name"`
	Short        string         `json:"short"`
	Grant        Grant          `json:"grant"`
	Scopes       []Scope        `json:"scopes"`
	OwnExtension uuid.NullUUID  `json:"ownExtension"`
	Networks     []netip.Prefix `json:"allow"`
	Tier         Tier           `json:"tier"`
	CreatedAt    time.Time      `json:"createdAt"`
	ExpiresAt    *time.Time     `json:"expiresAt"`
	RevokedAt    *time.Time     `json:"revokedAt"`
	State        State          `json:"state"`
}

// IssuedKey is a key at the one moment when it can be shown.
type IssuedKey struct {
	Record
	Key Key
}

// Registry is the operator's side: it issues and revokes keys.
type Registry struct {
	pool   *pgxpool.Pool
	pepper Pepper
}

// NewRegistry is a registry on a pool of the role callboard_operator. It hashes new keys under the pepper.
func NewRegistry(pool *pgxpool.Pool, pepper Pepper) *Registry {
	return &Registry{pool: pool, pepper: pepper}
}

//go:embed insert_key.sql
var insertKeySQL string

// Issue makes a key and keeps its hash. The error is an [*RequestError] where the request can't be a key.
func (g *Registry) Issue(ctx context.Context, r Request) (IssuedKey, error) {
	r = r.withDefaults()
	if err := r.validate(time.Now()); err != nil {
		return IssuedKey{}, err
	}
	if g.pepper.secret == nil {
		return IssuedKey{}, errPepper
	}
	issued := IssuedKey{Key: NewKey(), Record: r.record()}
	issued.Short = issued.Key.Short()
	err := g.pool.QueryRow(ctx, insertKeySQL,
		issued.ID, r.Name, issued.Short, g.pepper.hash(issued.Key), g.pepper.id, r.Grant.Kind, r.Grant.ID, r.Scopes,
		r.OwnExtension, issued.Networks, r.Tier, issued.ExpiresAt,
	).Scan(&issued.CreatedAt)
	if err != nil {
		return IssuedKey{}, fmt.Errorf("insert key: %w", err)
	}
	return issued, nil
}

//go:embed list_keys.sql
var listKeysSQL string

// List is every key, newest first.
func (g *Registry) List(ctx context.Context) ([]Record, error) {
	rows, err := g.pool.Query(ctx, listKeysSQL)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	records, err := pgx.CollectRows(rows, scanRecord)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return records, nil
}

//go:embed show_key.sql
var showKeySQL string

// Show is one key. The error is [ErrUnknownKey] where there is none of that id.
func (g *Registry) Show(ctx context.Context, id uuid.UUID) (Record, error) {
	rows, err := g.pool.Query(ctx, showKeySQL, id)
	if err != nil {
		return Record{}, fmt.Errorf("show key: %w", err)
	}
	record, err := pgx.CollectExactlyOneRow(rows, scanRecord)
	if errors.Is(err, pgx.ErrNoRows) {
		return Record{}, ErrUnknownKey
	}
	if err != nil {
		return Record{}, fmt.Errorf("show key: %w", err)
	}
	return record, nil
}

//go:embed revoke_key.sql
var revokeKeySQL string

// Revoke ends a key at once: the next request with it is refused. Revoking twice is no error. The error is [ErrUnknownKey]
// where there is no key of that id.
func (g *Registry) Revoke(ctx context.Context, id uuid.UUID) error {
	tag, err := g.pool.Exec(ctx, revokeKeySQL, id)
	if err != nil {
		return fmt.Errorf("revoke key: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return ErrUnknownKey
	}
	return nil
}

func scanRecord(row pgx.CollectableRow) (Record, error) {
	var r Record
	err := row.Scan(
		&r.ID, &r.Lineage, &r.Name, &r.Short, &r.Grant.Kind, &r.Grant.ID, &r.Scopes, &r.OwnExtension, &r.Networks, &r.Tier,
		&r.CreatedAt, &r.ExpiresAt, &r.RevokedAt, &r.State,
	)
	return r, err
}
