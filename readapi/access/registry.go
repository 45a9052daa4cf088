package access

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrUnknownKey is returned for an id that no key has.
var ErrUnknownKey = errors.New("no key has this id")

// IssuedKey is a key at the one moment when it can be shown.
type IssuedKey struct {
	Record
	Key Key
}

// Registry is the operator's side: it issues, rolls and revokes keys, and tells of them.
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
	issued.Short, issued.Pepper = issued.Key.Short(), g.pepper.id
	err := g.pool.QueryRow(ctx, insertKeySQL,
		issued.ID, r.Name, issued.Short, g.pepper.hash(issued.Key), g.pepper.id, r.Grant.Kind, r.Grant.ID, r.Scopes,
		r.OwnExtension, issued.Networks, r.Tier, issued.ExpiresAt,
	).Scan(&issued.CreatedAt)
	if err != nil {
		return IssuedKey{}, fmt.Errorf("insert key: %w", err)
	}
	return issued, nil
}

// The keys that keys.sql is about.
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

func collect(ctx context.Context, q querier, which string, arguments ...any) ([]Record, error) {
	rows, err := q.Query(ctx, strings.Replace(keysSQL, "{{which}}", which, 1), arguments...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanRecord)
}

// List is every key, newest first.
func (g *Registry) List(ctx context.Context) ([]Record, error) {
	records, err := collect(ctx, g.pool, everyKey)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return records, nil
}

// Show is one key with its lineage. The error is [ErrUnknownKey] where there is none of that id.
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
