package schema_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/schema"
	"callboard/schema/schematest"
)

// connect returns the error of connecting to a database at url.
func connect(ctx context.Context, url string) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return err
	}
	config.RequireAuth = "scram-sha-256"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// Each role connects with its password, which the server has never seen: the log with all statements holds none.
func TestSetPasswords(t *testing.T) {
	t.Parallel()
	server := schematest.NewCluster(t, map[string]string{"log_statement": "all"})
	if _, err := schema.Migrate(t.Context(), server.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	first := schema.Passwords{Projector: "projector's: 7\\q\"$1", Reader: "first secret", Operator: "operator-secret", Webhooks: "operator-secret"}
	second := schema.Passwords{Projector: first.Projector, Reader: "second-secret", Operator: first.Operator, Webhooks: first.Webhooks}
	for _, p := range []schema.Passwords{first, first, second} {
		if err := schema.SetPasswords(t.Context(), server.URL("postgres"), p); err != nil {
			t.Fatal(err)
		}
		for role, password := range map[string]string{"callboard_projector": p.Projector, "callboard_reader": p.Reader, "callboard_operator": p.Operator} {
			if err := connect(t.Context(), server.UserURL(role, password, "postgres")); err != nil {
				t.Errorf("%s: error = %v, want none", role, err)
			}
		}
	}
	var refusal *pgconn.PgError
	err := connect(t.Context(), server.UserURL("callboard_reader", first.Reader, "postgres"))
	if !errors.As(err, &refusal) || refusal.Code != pgerrcode.InvalidPassword {
		t.Errorf("replaced password: error = %v, want SQLSTATE %s", err, pgerrcode.InvalidPassword)
	}
	log, err := os.ReadFile(server.Log())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), "alter role callboard_reader password 'SCRAM-SHA-256$4096:") {
		t.Error("the log has no statement with a verifier, want all statements")
	}
	for _, password := range []string{"projector's", "projector''s", first.Reader, first.Operator, second.Reader} {
		if strings.Contains(string(log), password) {
			t.Errorf("the log contains a password: %s", password)
		}
	}
}

// Nothing is changed unless all passwords are usable.
func TestSetPasswords_Unusable(t *testing.T) {
	t.Parallel()
	for name, reader := range map[string]string{"empty": "", "not ASCII": "grün-secret", "a line break": "secret\n"} {
		err := schema.SetPasswords(t.Context(), "postgres://127.0.0.1:1/x", schema.Passwords{Projector: "p", Reader: reader, Operator: "o", Webhooks: "o"})
		if err == nil || !strings.Contains(err.Error(), "password of callboard_reader: must be") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error = %v, want one that names the role and not the password", name, err)
		}
	}
}
