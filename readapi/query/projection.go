package query

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrNotFound is returned for what is not there, whatever the reason: absent, deleted, another system's, or not to be seen by
// a narrowed key.
var ErrNotFound = errors.New("not found")

// Projection reads the projection. Its methods may be called from several goroutines.
type Projection struct {
	pool *pgxpool.Pool
}

// New is a projection read through the pool, which stays the caller's to close.
func New(pool *pgxpool.Pool) *Projection { return &Projection{pool: pool} }

// key is an identifier as an argument. The driver encodes it directly, and a [uuid.UUID] by way of text.
func key(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// stalePlan: a prepared statement's columns have changed their types, as they may where a new generation of
// the projection has just been switched in. The driver has forgotten the statement by the time it reports this.
const stalePlan = pgerrcode.FeatureNotSupported

// query runs a statement and reads its rows, once more where its plan turns out to be of an older generation.
func (p *Projection) query(ctx context.Context, sql string, arguments []any, read func(pgx.Rows) error) error {
	err := p.attempt(ctx, sql, arguments, read)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == stalePlan {
		err = p.attempt(ctx, sql, arguments, read)
	}
	return err
}

func (p *Projection) attempt(ctx context.Context, sql string, arguments []any, read func(pgx.Rows) error) error {
	rows, err := p.pool.Query(ctx, sql, arguments...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := read(rows); err != nil {
		return err
	}
	return rows.Err()
}

// absent is why there is no row.
func absent(rows pgx.Rows) error {
	if err := rows.Err(); err != nil {
		return err
	}
	return ErrNotFound
}
