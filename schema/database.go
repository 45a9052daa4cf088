package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// CreateDatabase creates a database on the server at url. It does nothing if the database exists.
func CreateDatabase(ctx context.Context, url, name string) error {
	err := executeAt(ctx, url, "create database "+pgx.Identifier{name}.Sanitize())
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) && refusal.Code == pgerrcode.DuplicateDatabase {
		return nil
	}
	return err
}

// SetPasswords gives the three roles of the server at url this password.
func SetPasswords(ctx context.Context, url, password string) error {
	var statements strings.Builder
	for _, role := range []string{"callboard_projector", "callboard_reader", "callboard_operator"} {
		fmt.Fprintf(&statements, "alter role %s password '%s';", role, strings.ReplaceAll(password, "'", "''"))
	}
	return executeAt(ctx, url, statements.String())
}

func executeAt(ctx context.Context, url, statements string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statements)
	return errors.Join(err, conn.Close(ctx))
}
