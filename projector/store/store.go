package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

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

// Refused tells whether Postgres refused the data itself: some event of the batch is at fault, and a retry can't mend it.
// These are the classes 22 (data exception), 23 (integrity constraint violation) and 54 (program limit exceeded).
func IsDataError(err error) bool {
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) || len(refusal.Code) != len("22000") {
		return false
	}
	switch refusal.Code[:2] {
	case "22", "23", "54":
		return true
	}
	return false
}

// Reason is the refusal in words that hold nothing of the data.
func DataErrorReason(err error) string {
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) {
		return err.Error()
	}
	return fmt.Sprintf("PostgreSQL refused it: SQLSTATE %s (table %s, column %s)", refusal.Code, refusal.TableName, refusal.ColumnName)
}
