package schema

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
)

// Snapshot reads all tables as they were at one instant. Close it.
type Snapshot struct {
	tx pgx.Tx
}

// NewSnapshot begins a snapshot, which uses the connection until it is closed. The role of the operator may
// read all tables. The error is a
// [*VersionError] if the schema is not this release's.
func NewSnapshot(ctx context.Context, conn *pgx.Conn) (*Snapshot, error) {
	tx, err := beginDump(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, err
	}
	return &Snapshot{tx}, nil
}

// Close ends the snapshot.
func (s *Snapshot) Close(ctx context.Context) { _ = s.tx.Rollback(ctx) } // nothing was written

// Columns returns the columns of a table whose values are stored.
func (s *Snapshot) Columns(ctx context.Context, table string) ([]string, error) {
	rows, _ := s.tx.Query(ctx, `
		select attname
		from pg_attribute
		where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''
		order by attnum`, table)
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("columns of %s: %w", table, err)
	}
	return columns, nil
}

// CopyTo writes columns of all rows of a table in COPY's text format, and returns the number of rows.
func (s *Snapshot) CopyTo(ctx context.Context, table string, columns []string, w io.Writer) (int64, error) {
	name, list, err := dumpedColumns(table, columns)
	if err != nil {
		return 0, err
	}
	done, err := s.tx.Conn().PgConn().CopyTo(ctx, w, fmt.Sprintf("copy (select %s from %s) to stdout", list, name))
	if err != nil {
		return 0, fmt.Errorf("copy %s: %w", table, err)
	}
	return done.RowsAffected(), nil
}

// AuditDays returns the days, in UTC, of which the audit has rows.
func (s *Snapshot) AuditDays(ctx context.Context) ([]time.Time, error) {
	rows, _ := s.tx.Query(ctx, "select distinct at::date from access.audit order by 1")
	days, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return nil, fmt.Errorf("days of the audit: %w", err)
	}
	return days, nil
}
