package schema

import (
	"context"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
)

// SessionSettings returns the settings that the meaning of callboard's SQL depends on. Every session gets them as
// startup parameters, which win over the settings of a role and of a database.
func SessionSettings() map[string]string {
	return map[string]string{
		"standard_conforming_strings":   "on",                  // a backslash in a literal is a backslash
		"quote_all_identifiers":         "off",                 // statements that the catalog's names make, and names that are compared
		"search_path":                   "pg_catalog, pg_temp", // only what a statement names by its schema, unless the caller has another path
		"client_encoding":               "UTF8",                // the driver sends and reads UTF-8, whatever the server believes
		"timezone":                      "UTC",                 // a day begins at midnight UTC
		"datestyle":                     "ISO",                 // bounds of table partitions, and backups, have times as text
		"default_transaction_isolation": "read committed",      // a statement sees what others committed while it waited for a lock
	}
}

// MaintenanceSettings returns additional settings, for sessions that take as long as they need: an operator's limits
// for programs end the same long statement at every attempt. A transaction whose command is suspended still ends.
func MaintenanceSettings() map[string]string {
	return map[string]string{
		"statement_timeout":                   "0",
		"lock_timeout":                        "0",
		"idle_session_timeout":                "0", // of the session that holds an operation's lock
		"idle_in_transaction_session_timeout": "1min",
	}
}

// LiftTransactionTimeout belongs to [MaintenanceSettings]. Servers before PostgreSQL 17 do not know the setting, and
// refuse a connection with it as startup parameter.
func LiftTransactionTimeout(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "select set_config(name, '0', false) from pg_settings where name = 'transaction_timeout'")
	if err != nil {
		return fmt.Errorf("lift the transaction timeout: %w", err)
	}
	return nil
}

// parseForMaintenance returns how to connect to the database at url.
func parseForMaintenance(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	maps.Copy(config.RuntimeParams, SessionSettings())
	maps.Copy(config.RuntimeParams, MaintenanceSettings())
	return config, nil
}

// connectForMaintenance opens a connection. Close it.
func connectForMaintenance(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if err := LiftTransactionTimeout(ctx, conn); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return conn, nil
}
