package command_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/events/eventstest"
	"callboard/schema"
	"callboard/schema/cluster"
	"callboard/schema/schematest"
)

// serverFolder is a folder that PostgreSQL's user can read.
func serverFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "callboard-postgres-conf-") //nolint:usetesting // the server cannot reach the folders of t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	giveToServer(t, dir)
	return dir
}

// giveToServer makes PostgreSQL's user the owner. PostgreSQL does not run as root.
func giveToServer(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		t.Fatal(err)
	}
	uid, err1 := strconv.Atoi(account.Uid)
	gid, err2 := strconv.Atoi(account.Gid)
	if err := errors.Join(err1, err2, os.Chown(path, uid, gid)); err != nil {
		t.Fatal(err)
	}
}

func writeServerFile(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	giveToServer(t, path)
	return path
}

func deployFile(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// deployedPostgres is a server with the files of deploy/, with the database and the roles of callboard.
type deployedPostgres struct {
	*cluster.Cluster
	secrets string
}

// startDeployedPostgres starts a server with deploy/postgresql.conf and deploy/pg_hba.conf. The harness connects as
// the superuser, so the rules get another one.
func startDeployedPostgres(t *testing.T) deployedPostgres {
	t.Helper()
	dir := serverFolder(t)
	harness := "host all postgres 127.0.0.1/32 scram-sha-256\n"
	all := map[string]string{
		"config_file": writeServerFile(t, dir, "postgresql.conf", deployFile(t, "postgresql.conf")),
		"hba_file":    writeServerFile(t, dir, "pg_hba.conf", append([]byte(harness), deployFile(t, "pg_hba.conf")...)),
	}
	crt, key := eventstest.NewCertificateAuthority(t).Issue(t)
	all["ssl_cert_file"] = writeServerFile(t, dir, "server.crt", crt)
	all["ssl_key_file"] = writeServerFile(t, dir, "server.key", key)
	d := deployedPostgres{schematest.NewCluster(t, all), filepath.Join(t.TempDir(), "secrets")}
	address := fmt.Sprintf("127.0.0.1:%d/callboard?sslmode=require", d.Port())
	outputs := succeed(t, nil, "", "secrets", "create", d.secrets, "--postgres", address)
	password := readSecret(t, d.secrets, "postgres-owner-password")
	d.exec(t, "postgres", "create role callboard_owner superuser login password '"+password+"'")
	if err := schema.CreateDatabase(t.Context(), d.URL("postgres"), "callboard"); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"CALLBOARD_POSTGRES_URL_FILE": filepath.Join(d.secrets, "postgres-owner-url")}
	outputs += succeed(t, env, "", "migrate", "--passwords", d.secrets)
	files, err := os.ReadDir(d.secrets)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.Contains(outputs, readSecret(t, d.secrets, file.Name())) {
			t.Errorf("an output contains %s", file.Name())
		}
	}
	return d
}

func (d deployedPostgres) exec(t *testing.T, database, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), statement)
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// queryAs returns the result of a query as the user of the URL.
func queryAs(t *testing.T, url, query string) (result string, err error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return "", err
	}
	err = conn.QueryRow(t.Context(), query).Scan(&result)
	return result, errors.Join(err, conn.Close(t.Context()))
}

func readSecret(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// changed returns a URL with another database or parameter.
func changed(t *testing.T, text, database, sslmode string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	u.Path, u.RawQuery = "/"+database, "sslmode="+sslmode
	return u.String()
}

func roles() []string { return []string{"owner", "projector", "reader", "operator", "webhooks"} }

// With the files of deploy/, each role connects over TLS with its password, to the database callboard only.
func TestPostgresConf(t *testing.T) {
	t.Parallel()
	d := startDeployedPostgres(t)
	const tls = `select format('%s %s', current_user, (select ssl from pg_stat_ssl where pid = pg_backend_pid()))`
	for _, role := range roles() {
		own := readSecret(t, d.secrets, "postgres-"+role+"-url")
		if got, err := queryAs(t, own, tls); err != nil || got != "callboard_"+role+" t" {
			t.Errorf("%s: user and TLS = %q, %v, want callboard_%s and t", role, got, err, role)
		}
		for what, refused := range map[string]string{
			"without TLS":      changed(t, own, "callboard", "disable"),
			"another database": changed(t, own, "postgres", "require"),
		} {
			expectRefused(t, role+" "+what, refused, pgerrcode.InvalidAuthorizationSpecification)
		}
		wrong := strings.Replace(own, ":"+readSecret(t, d.secrets, "postgres-"+role+"-password"), ":wrong", 1)
		expectRefused(t, role+" with a wrong password", wrong, pgerrcode.InvalidPassword)
	}
	d.exec(t, "postgres", "create role other login password 'p'")
	expectRefused(t, "another role", d.UserURL("other", "p", "callboard"), pgerrcode.InvalidAuthorizationSpecification)
	d.expectSettings(t, map[string]string{"jit": "off", "max_wal_size": "16GB", "hot_standby_feedback": "on", "wal_compression": "pglz", "ssl": "on"})
}

func expectRefused(t *testing.T, what, url, code string) {
	t.Helper()
	_, err := queryAs(t, url, "select ''")
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) || refusal.Code != code {
		t.Errorf("%s: error = %v, want SQLSTATE %s", what, err, code)
	}
}

// expectSettings checks that the server has read both files. It does not start with a mistake in the settings, but
// with one in the rules.
func (d deployedPostgres) expectSettings(t *testing.T, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got, err := queryAs(t, d.URL("postgres"), "select current_setting('"+name+"')"); err != nil || got != value {
			t.Errorf("%s = %s, %v, want %s", name, got, err, value)
		}
	}
	const rules = `select coalesce(string_agg(format('%s: %s', line_number, error), '; '), '') from pg_hba_file_rules where error is not null`
	if got, err := queryAs(t, d.URL("postgres"), rules); err != nil || got != "" {
		t.Errorf("mistakes in the rules = %s, %v, want none", got, err)
	}
}
