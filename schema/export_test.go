package schema

import (
	"database/sql"

	"github.com/pressly/goose/v3"
)

// ControlMigrations returns the migrations, so that tests can run them one by one.
func ControlMigrations(db *sql.DB) (*goose.Provider, error) { return controlMigrations(db) }
