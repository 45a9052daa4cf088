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

// ErrNotFound is returned for a row that doesn't exist, was deleted, belongs to another system, or is outside a key's narrowing.
var ErrNotFound = errors.New("not found")

// Projection reads the projection. It is safe for concurrent use.
type Projection struct {
	pool *pgxpool.Pool
}

// New returns a Projection that reads through the pool. The caller closes the pool.
func New(pool *pgxpool.Pool) *Projection { return &Projection{pool: pool} }

// pgUUID is an identifier as an argument. The driver encodes it directly, but a [uuid.UUID] as text.
func pgUUID(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// stalePlan says that the types of a prepared statement's columns have changed, as they may when a rebuild switches
// generations. The driver has discarded the statement by the time it returns this error.
const stalePlan = pgerrcode.FeatureNotSupported

// query runs a statement and reads its rows. It does so twice if the plan was made for an older generation.
func (p *Projection) query(ctx context.Context, sql string, arguments []any, read func(pgx.Rows) error) error {
	err := p.queryOnce(ctx, sql, arguments, read)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == stalePlan {
		err = p.queryOnce(ctx, sql, arguments, read)
	}
	return err
}

func (p *Projection) queryOnce(ctx context.Context, sql string, arguments []any, read func(pgx.Rows) error) error {
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

// noRow is the error for a statement without a row.
func noRow(rows pgx.Rows) error {
	if err := rows.Err(); err != nil {
		return err
	}
	return ErrNotFound
}
