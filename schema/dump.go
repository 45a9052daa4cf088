package schema

// A dump copies the tables that no rebuild can make again out of a database and into another: those of the schemas
// access, control and webhook. The projection is not among them.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// AuditTable is the table of the requests, by far the largest one.
const AuditTable = "access.audit"

// DumpTables returns the names of the tables, in the order in which they are loaded. Two tables of the schemas are
// not among them: control.migration, which a migration fills, and webhook.test, requests of operators who wait for the
// answer.
func DumpTables() []string {
	return []string{
		"access.key", "access.key_use", AuditTable,
		"control.generation", "control.stream", "control.clock_adjustment", "control.correction", "control.dead_letter",
		"control.audit_position",
		"webhook.endpoint", "webhook.notice", "webhook.floor", "webhook.fanout", "webhook.delivery", "webhook.audit",
	}
}

// VersionError is a database whose schema is not this release's.
type VersionError struct {
	Database int64 // the last migration of the database; 0: none
}

func (e *VersionError) Error() string {
	if e.Database < Version() {
		return ErrNotMigrated.Error()
	}
	return fmt.Sprintf("the database has schema version %d, this release knows %d: use the newer release's callboard",
		e.Database, Version())
}

// waitForFiles let a transaction wait for files.
const waitForFiles = "set local idle_in_transaction_session_timeout = 0"

// beginDump begins a transaction on a database with this release's schema.
func beginDump(ctx context.Context, conn *pgx.Conn, options pgx.TxOptions) (pgx.Tx, error) {
	tx, err := conn.BeginTx(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if err = prepareDump(ctx, tx); err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx)) // nothing was written
		return nil, err
	}
	return tx, nil
}

func prepareDump(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, waitForFiles); err != nil {
		return fmt.Errorf("session settings: %w", err)
	}

	// A database without any migration has no table of migrations.
	var migrated bool
	if err := tx.QueryRow(ctx, "select to_regclass('control.migration') is not null").Scan(&migrated); err != nil {
		return fmt.Errorf("migrations: %w", err)
	}

	var version int64
	if migrated {
		const last = "select coalesce(max(version_id), 0) from control.migration where is_applied"
		if err := tx.QueryRow(ctx, last).Scan(&version); err != nil {
			return fmt.Errorf("migrations: %w", err)
		}
	}

	if version != Version() {
		return &VersionError{Database: version}
	}
	return nil
}

// dumpedColumns quotes a table's name and columns.
func dumpedColumns(table string, columns []string) (quotedTable, quotedColumns string, err error) {
	if !slices.Contains(DumpTables(), table) {
		return "", "", fmt.Errorf("table %s is not part of a dump", table)
	}
	quoted := make([]string, len(columns))
	for i, column := range columns {
		quoted[i] = pgx.Identifier{column}.Sanitize()
	}
	return table, strings.Join(quoted, ", "), nil // the table is one of ours, so its name needs no quotes
}
