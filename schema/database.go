package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// CreateDatabase creates a database on the server at url. It does nothing if the database exists.
func CreateDatabase(ctx context.Context, url, name string) error {
	err := executeAt(ctx, url, "create database "+pgx.Identifier{name}.Sanitize())
	if HasCode(err, pgerrcode.DuplicateDatabase) {
		return nil
	}
	return err
}

// HasCode reports whether PostgreSQL refused a statement or a connection with one of these SQLSTATEs.
func HasCode(err error, codes ...string) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && slices.Contains(codes, refusal.Code)
}

// UUID returns an identifier as a parameter. The driver encodes it directly, but a [uuid.UUID] as text.
func UUID(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// Passwords are those of the roles.
type Passwords struct {
	Projector, Reader, Operator, Webhooks string
}

// SetPasswords sets the roles' passwords on the server at url. The server receives SCRAM-SHA-256 verifiers only, so its
// log holds no password. Setting the same passwords again changes nothing for clients.
func SetPasswords(ctx context.Context, url string, passwords Passwords) error {
	config, err := parseForMaintenance(url)
	if err != nil {
		return err
	}

	// The server gets verifiers, not passwords.
	var statements strings.Builder
	for _, r := range []struct{ role, password string }{
		{"callboard_projector", passwords.Projector}, {"callboard_reader", passwords.Reader},
		{"callboard_operator", passwords.Operator},
		{"callboard_webhooks", passwords.Webhooks},
	} {
		verifier, err := scramVerifier(r.password)
		if err != nil {
			return fmt.Errorf("password of %s: %w", r.role, err)
		}

		fmt.Fprintf(&statements, "alter role %s password '%s';", r.role, verifier)
	}

	// Two concurrent changes of a role would be an error.
	return withMigrationLock(ctx, config, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statements.String())
		return err
	})
}

func executeAt(ctx context.Context, url, statements string) error {
	config, err := parseForMaintenance(url)
	if err != nil {
		return err
	}
	conn, err := connectForMaintenance(ctx, config)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statements)
	return errors.Join(err, conn.Close(ctx))
}
