package schematest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// executor is a pool, a connection or a transaction.
type executor interface {
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row
}

// Exec executes statements, also in a cleanup. The test fails if one of them does.
func Exec(tb testing.TB, db executor, sql string, arguments ...any) {
	tb.Helper()
	if _, err := db.Exec(context.WithoutCancel(tb.Context()), sql, arguments...); err != nil {
		tb.Fatalf("%.300s: %v", sql, err)
	}
}

// QueryOne returns the only column of a query's first row. The test fails without one.
func QueryOne[T any](tb testing.TB, db executor, sql string, arguments ...any) (value T) {
	tb.Helper()
	if err := db.QueryRow(context.WithoutCancel(tb.Context()), sql, arguments...).Scan(&value); err != nil {
		tb.Fatalf("%.300s: %v", sql, err)
	}
	return value
}
