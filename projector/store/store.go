package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed begin.sql
var beginSQL string

// ErrFenced is a commit whose partition has another owner, or another position, than the batch started from.
var ErrFenced = errors.New("the position was moved: another projector has the partition, or its rows were replaced")

// Store writes one projection.
type Store struct {
	pool *pgxpool.Pool
}

// New is the store of the projection that pool's connections find on their search path.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// Tx is one batch's transaction.
type Tx struct {
	tx pgx.Tx
}

// Batch runs work in a transaction of its own, which is rolled back where work fails.
func (s *Store) BeginFunc(ctx context.Context, work func(*Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{BeginQuery: beginSQL}, func(tx pgx.Tx) error { return work(&Tx{tx: tx}) })
}

// IsDataError tells whether PostgreSQL refused a value: an event of the batch is at fault, and a retry fails again.
func IsDataError(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && (pgerrcode.IsDataException(refusal.Code) ||
		pgerrcode.IsIntegrityConstraintViolation(refusal.Code) || pgerrcode.IsProgramLimitExceeded(refusal.Code))
}

// DataErrorReason describes an error of PostgreSQL without the data, which its own message can contain.
func DataErrorReason(err error) string {
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) {
		return err.Error()
	}
	return fmt.Sprintf("PostgreSQL refused it: SQLSTATE %s (table %s, column %s)", refusal.Code, refusal.TableName, refusal.ColumnName)
}
