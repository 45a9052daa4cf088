package command_test

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"callboard/schema/schematest"
)

// secretsResult is the JSON of 'secrets create'.
type secretsResult struct {
	Folder        string
	Created, Kept []string
}

// migrateResult is the JSON of 'migrate'.
type migrateResult struct{ Migrated, PasswordsSet bool }

// With the files of 'secrets create', 'migrate --passwords' opens the database to every role. No output contains a
// secret.
func TestSecrets(t *testing.T) {
	t.Parallel()
	server := schematest.NewCluster(t, nil)
	address, err := url.Parse(server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "secrets")
	args := []string{"secrets", "create", dir, "--postgres", address.Host + "/postgres?sslmode=disable"}
	env := map[string]string{"CALLBOARD_POSTGRES_URL": server.URL("postgres")}
	outputs := succeed(t, nil, "", args...)
	again := succeedJSON[secretsResult](t, nil, args...)
	if again.Folder != dir || len(again.Created) != 0 || !slices.Contains(again.Kept, "key-pepper") {
		t.Errorf("second run = %+v, want all files kept", again)
	}
	outputs += succeed(t, env, "", "migrate", "--passwords", dir)
	if done := succeedJSON[migrateResult](t, env, "migrate", "--passwords", dir); !done.PasswordsSet {
		t.Errorf("migrate = %+v, want passwords set", done)
	}
	for _, role := range []string{"projector", "reader", "operator", "webhooks"} {
		conn, err := pgx.Connect(t.Context(), readSecret(t, dir, "postgres-"+role+"-url"))
		if err != nil {
			t.Errorf("%s: %v", role, err)
			continue
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, name := range again.Kept {
		if strings.Contains(outputs, readSecret(t, dir, name)) {
			t.Errorf("the output contains %s: %s", name, outputs)
		}
	}
	if done := succeedJSON[migrateResult](t, env, "migrate"); done.PasswordsSet {
		t.Errorf("migrate without --passwords = %+v, want no passwords set", done)
	}
	expect(t, env, 1, `^error: passwords: .*nowhere/postgres-.*\n(.*\n)*Run 'callboard secrets create /nowhere'\n$`, "migrate", "--passwords", "/nowhere")
}

func readSecret(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
