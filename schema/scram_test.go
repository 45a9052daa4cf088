package schema_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"

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

// Each role connects with its password, which the server has never seen: the log with all statements holds none. The
// server is that of the other tests, which wait for this one, and get their passwords back.
func TestSetPasswords(t *testing.T) {
	d := schematest.New(t)
	pool := d.Pool(t)
	name := pool.Config().ConnConfig.Database
	schematest.Exec(t, pool, "alter database "+name+" set log_statement = 'all'")
	config, err := pgx.ParseConfig(d.RoleURL("callboard_reader"))
	if err != nil {
		t.Fatal(err)
	}
	set := func(projector, reader, operator string) {
		t.Helper()
		p := schema.Passwords{Projector: projector, Reader: reader, Operator: operator, Webhooks: operator}
		if err := schema.SetPasswords(context.WithoutCancel(t.Context()), d.URL(), p); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { set(config.Password, config.Password, config.Password) })

	const projector, operator = "projector's: 7\\q\"$1", "operator-secret"
	for _, reader := range []string{"first secret", "first secret", "second-secret"} {
		set(projector, reader, operator)
		for role, password := range map[string]string{
			"callboard_projector": projector, "callboard_reader": reader, "callboard_operator": operator,
		} {
			if err := connect(t.Context(), d.Cluster().UserURL(role, password, name)); err != nil {
				t.Errorf("%s: error = %v, want none", role, err)
			}
		}
	}
	err = connect(t.Context(), d.Cluster().UserURL("callboard_reader", "first secret", name))
	if !schema.HasCode(err, pgerrcode.InvalidPassword) {
		t.Errorf("replaced password: error = %v, want SQLSTATE %s", err, pgerrcode.InvalidPassword)
	}
	log, err := os.ReadFile(d.Cluster().Log())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), "alter role callboard_reader password 'SCRAM-SHA-256$4096:") {
		t.Error("the log has no statement with a verifier, want all statements")
	}
	for _, password := range []string{"projector's", "projector''s", "first secret", operator, "second-secret"} {
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
