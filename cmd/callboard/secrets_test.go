package main

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"callboard/schema/schematest"
)

// With the files of 'secrets create', 'migrate --passwords' opens the database to every role. No output contains a secret.
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
	again := succeedJSON[createdSecrets](t, nil, args...)
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

// Of a cluster, the command also creates what its servers need, and prints no secret.
func TestSecrets_Cluster(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "secrets")
	out := succeed(t, nil, "", "secrets", "create", dir, "--nats", "nats:4222,nats2:4222", "--replicas", "replica:5432")
	for _, name := range []string{"nats-cluster.conf", "postgres-standby-password", "postgres-reader-replica-url", "webhook-read-urls"} {
		if !strings.Contains(out, "created  "+name+"\n") {
			t.Errorf("output = %s, want it to name %s", out, name)
		}
	}
	password := regexp.MustCompile(`route:([A-Z2-7]{26})@nats2:6222`).FindStringSubmatch(readSecret(t, dir, "nats-cluster.conf"))
	if password == nil || strings.Contains(out, password[1]) || strings.Contains(out, readSecret(t, dir, "postgres-standby-password")) {
		t.Errorf("output = %s, want a password for routes, and none in the output", out)
	}
	expect(t, nil, 1, `^error: secrets: address of a replica "db/x": write host:port`, "secrets", "create", dir, "--replicas", "db/x")
}

func readSecret(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
