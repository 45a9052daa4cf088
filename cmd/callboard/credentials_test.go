package main

import (
	"crypto/tls"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"

	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

// credentials are the files of an installation's passwords and certificates.
type credentials struct {
	*fleet
	dir   string
	roles map[string]string // login roles of this test by the role whose rights they have
}

// write replaces a file as an operator does, so that no program finds half of it.
func (c credentials) write(name, content string) {
	c.Helper()
	temporary, path := filepath.Join(c.dir, "new"), filepath.Join(c.dir, name)
	if err := os.WriteFile(temporary, []byte(content), 0o600); err != nil {
		c.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		c.Fatal(err)
	}
}

// env returns the settings of a program that has all credentials as files.
func (c credentials) env(role string) map[string]string {
	env := c.fleet.env("")
	delete(env, "CALLBOARD_POSTGRES_URL")
	delete(env, "CALLBOARD_NATS_URL")
	env["CALLBOARD_POSTGRES_URL_FILE"] = filepath.Join(c.dir, role)
	env["CALLBOARD_NATS_URL_FILE"] = filepath.Join(c.dir, "nats")
	env["CALLBOARD_NATS_CA"] = filepath.Join(c.dir, "ca")
	return env
}

// setPassword gives the login roles a new password, which is in their files when the database requires it.
func (c credentials) setPassword(password string) {
	c.Helper()
	tx, err := c.pool.Begin(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	for role, login := range c.roles {
		schematest.Exec(c, tx, "alter role "+login+" login password '"+password+"'")
		u, err := url.Parse(c.database.RoleURL(role))
		if err != nil {
			c.Fatal(err)
		}
		u.User = url.UserPassword(login, password)
		c.write(role, u.String())
	}
	if err := tx.Commit(c.Context()); err != nil {
		c.Fatal(err)
	}
}

// endSessions ends the sessions that are open, while there are no requests: a statement that has returned rows is not run again. It spares the
// projector's sessions until their statements have ended.
func (c credentials) endSessions() {
	c.Helper()
	const sessions = " from pg_stat_activity where usename = any ($1) and backend_start < $2"
	logins, now := slices.Collect(maps.Values(c.roles)), schematest.QueryOne[time.Time](c, c.pool, "select now()")
	eventstest.Eventually(c, "the sessions have ended", func() bool {
		c.exec("select pg_terminate_backend(pid)"+sessions+" and state = 'idle'", logins, now)
		return schematest.QueryOne[int](c, c.pool, "select count(*)"+sessions, logins, now) == 0
	})
}

// natsURL writes the URL of NATS with a password.
func (c credentials) natsURL(password string) {
	c.Helper()
	c.write("nats", strings.Replace(c.nats.URL(), "nats://", "tls://callboard:"+password+"@", 1)+"\n")
}

// withCredentials changes the password and the certificate of a NATS server.
func withCredentials(tb testing.TB, password string, authority *eventstest.CertificateAuthority) eventstest.Option {
	tb.Helper()
	pair := authority.KeyPair(tb)
	return func(o *server.Options) {
		o.Username, o.Password, o.TLSTimeout = "callboard", password, 30
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
}

// Passwords of PostgreSQL and NATS and the certificate of NATS, with another authority, are replaced while clients read. No request
// fails, every audit entry is stored, and the old passwords are useless.
func TestPrograms_CredentialsReplaced(t *testing.T) {
	schematest.NeedOneServer(t, "nodes have the roles' passwords for each other")
	t.Parallel()
	first, second := eventstest.NewCertificateAuthority(t), eventstest.NewCertificateAuthority(t)
	suffix := strings.ReplaceAll(uuid.NewString(), "-", "")
	c := credentials{
		fleet: &fleet{
			T: t, nats: eventstest.NewServer(t, withCredentials(t, "first", first)), database: schematest.New(t), pepper: testPepper(),
		},
		dir:   t.TempDir(),
		roles: map[string]string{"callboard_reader": "reader_" + suffix, "callboard_projector": "projector_" + suffix, "callboard_operator": "operator_" + suffix},
	}
	c.pool = c.database.Pool(t)
	for role, login := range c.roles {
		c.exec("create role " + login + " in role " + role)
	}
	c.setPassword("first")
	c.natsURL("first")
	c.write("ca", string(first.PEM()))
	operator := c.env("callboard_operator")
	succeed(t, operator, "", "stream", "create")
	projector := start(t, "projector", c.env("callboard_projector"))
	reader := c.startReaderWith(c.env("callboard_reader"), map[string]string{"CALLBOARD_PREMIUM_PER_MINUTE": premium})
	succeed(t, operator, fixtureLines(), "publish", "-")
	waitUntilCaughtUp(t, operator)
	key := issueKey(t, operator, systemID, "--name", "load", "--scopes", "calls:read,phones:read", "--tier", "premium")
	load := startLoad(t, key.Key, reader.base+"/customer/phone-systems", reader.base+"/customer/phone-systems/"+systemID+"/call-logs")
	load.AwaitAnswers(100)

	c.setPassword("second")
	load.AwaitAnswers(100)
	load.Between(c.endSessions)
	load.AwaitAnswers(100)

	c.write("ca", string(first.PEM())+string(second.PEM()))
	c.natsURL("second")
	c.nats.Reload(withCredentials(t, "second", second))
	reader.Await("(reconnected to nats)")
	projector.Await("(reconnected to nats)")
	load.AwaitAnswers(100)
	c.write("ca", string(second.PEM()))
	answers := load.Stop()

	succeed(t, operator, fixtureLines(), "publish", "-")
	waitUntilCaughtUp(t, operator)
	eventstest.Eventually(t, "all audit entries are stored", func() bool {
		var stored int64
		return c.pool.QueryRow(t.Context(), "select count(*) from access.audit").Scan(&stored) == nil && stored == answers
	})
	c.natsURL("first")
	if r := command(t, operator, "", "stream", "check"); r.code != 1 || !strings.Contains(r.err, "Authorization Violation") {
		t.Errorf("old password of NATS: exit code = %d, errors = %s, want 1 and a violation", r.code, r.err)
	}
	for _, d := range []*daemon{projector, reader.Process} {
		d.StopCleanly(os.Interrupt)
		for _, secret := range []string{":first", ":second", "callboard:"} {
			if d.Err.Contains(secret) {
				t.Errorf("log contains %q", secret)
			}
		}
	}
}
