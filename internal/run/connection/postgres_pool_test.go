package connection_test

import (
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
	"callboard/schema/schematest"
)

// The size of a pool does not depend on the machine.
func TestNewPool_Size(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int32{0: 4, 1: 1, 16: 16} {
		p := pool(t, "postgres://me@127.0.0.1:1/x", func(c *connection.PostgresConfig) { c.Connections = size })
		if got := p.Stat().MaxConns(); got != want {
			t.Errorf("size %d: connections = %d, want %d", size, got, want)
		}
	}
}

func TestNewPool_Metrics(t *testing.T) {
	t.Parallel()
	registry, database := prometheus.NewRegistry(), schematest.New(t)
	open := func(name string, size int) *pgxpool.Pool {
		return pool(t, database.URL(), func(c *connection.PostgresConfig) { c.Pool, c.Connections, c.Metrics = name, size, registry })
	}
	first := open("first", 3)
	open("second", 5)
	var held []*pgxpool.Conn
	for range 2 {
		c, err := first.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	held[0].Release()
	defer held[1].Release()
	want := `
# HELP callboard_db_pool_acquired PostgreSQL connections in use.
# TYPE callboard_db_pool_acquired gauge
callboard_db_pool_acquired{pool="first"} 1
callboard_db_pool_acquired{pool="second"} 0
# HELP callboard_db_pool_idle PostgreSQL connections that are open and not in use.
# TYPE callboard_db_pool_idle gauge
callboard_db_pool_idle{pool="first"} 1
callboard_db_pool_idle{pool="second"} 0
# HELP callboard_db_pool_max PostgreSQL connections that the pool may open.
# TYPE callboard_db_pool_max gauge
callboard_db_pool_max{pool="first"} 3
callboard_db_pool_max{pool="second"} 5
`
	names := []string{"callboard_db_pool_acquired", "callboard_db_pool_idle", "callboard_db_pool_max"}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	waited, err := testutil.GatherAndCount(registry, "callboard_db_pool_wait_seconds_total")
	if err != nil || waited != 2 {
		t.Errorf("series of callboard_db_pool_wait_seconds_total = %d, error = %v, want 2", waited, err)
	}
}

// The user and the password in the URL's file are read again for every new connection. While the file can't be read,
// the URL of the start is used.
func TestNewPool_URLReplaced(t *testing.T) {
	t.Parallel()
	database, file := schematest.New(t), filepath.Join(t.TempDir(), "url")
	super := database.Pool(t)
	suffix := strings.ReplaceAll(uuid.NewString(), "-", "")
	write := func(user, password string) {
		t.Helper()
		schematest.Exec(t, super, "create role "+user+" login password '"+password+"'")
		u, err := url.Parse(database.URL())
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword(user, password)
		if err := os.WriteFile(file, []byte(u.String()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first_"+suffix, "hunter2")
	var log eventstest.LogBuffer
	p := pool(t, database.URL(), func(c *connection.PostgresConfig) { c.URL, c.Log = urlFrom(t, file), zerolog.New(&log) })
	user := func() string {
		p.Reset()
		return text(t, p, "select current_user")
	}
	if got := user(); got != "first_"+suffix {
		t.Errorf("user = %s, want the first", got)
	}
	write("second_"+suffix, "hunter3")
	if got := user(); got != "second_"+suffix {
		t.Errorf("user = %s, want the second", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := user(); got != "first_"+suffix {
		t.Errorf("user without a file = %s, want the first", got)
	}
	if !log.Contains("file of the postgres url not read") || log.Contains("hunter") {
		t.Errorf("log = %s, want an entry about the file and no password", &log)
	}
}

// A pool that is made from another one's configuration keeps its own settings.
func TestNewPool_Derived(t *testing.T) {
	t.Parallel()
	p := pool(t, schematest.New(t).URL(), func(c *connection.PostgresConfig) {
		c.Settings = map[string]string{"search_path": "projection"}
	})
	derived := schematest.OpenPoolLike(t, p, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = "another" })
	if got := text(t, derived, "show search_path"); got != "another" {
		t.Errorf("search_path = %s, want another", got)
	}
}

// urlFrom returns the URL in a file.
func urlFrom(tb testing.TB, file string) setting.URL {
	tb.Helper()
	program := &struct {
		Postgres setting.Postgres `embed:""`
	}{}
	env := map[string]string{"CALLBOARD_POSTGRES_URL_FILE": file}
	if _, err := setting.Parse(program, setting.Source{Getenv: func(name string) string { return env[name] }, Out: io.Discard}); err != nil {
		tb.Fatal(err)
	}
	return program.Postgres.URL
}

// A pool that the server refuses a connection says so once in a while, not for every attempt.
func TestNewPool_TooManyConnections(t *testing.T) {
	t.Parallel()
	database, role := schematest.New(t), "limited_"+strings.ReplaceAll(uuid.NewString(), "-", "")
	schematest.Exec(t, database.Pool(t), "create role "+role+" login password 'hunter2' connection limit 1")
	u, err := url.Parse(database.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "hunter2")
	var log eventstest.LogBuffer
	p := pool(t, u.String(), func(c *connection.PostgresConfig) { c.Pool, c.Connections, c.Log = "access", 8, zerolog.New(&log) })
	held, err := p.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	began := time.Now()
	for range 3 {
		if err := p.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "too many connections") {
			t.Errorf("error = %v, want too many connections", err)
		}
	}
	refused := log.Count("postgres refused a connection: raise its max_connections, or lower the pool sizes of the programs")
	if most := 1 + int(time.Since(began)/(10*time.Second)); refused < 1 || refused > most {
		t.Errorf("log = %s, want %d lines about refused connections at most", &log, most)
	}
	for text, want := range map[string]int{
		`"pool_size":8`: refused, `"message":"postgres pool opened"`: 1, `"connections":8`: 1,
		`"pool":"access"`: refused + 1, `"server":"postgres://127.0.0.1:`: refused + 1,
	} {
		if got := log.Count(text); got != want {
			t.Errorf("log = %s, want %s %d times", &log, text, want)
		}
	}
	if log.Contains("hunter2") {
		t.Error("log contains the password")
	}
}

// A database on another host must be reached with TLS.
func TestCheckTLS(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"postgres://me:hunter2@db/x":                                        true, // prefer
		"postgres://me:hunter2@db/x?sslmode=disable":                        true,
		"postgres://me:hunter2@db/x?sslmode=allow":                          true,
		"postgres://me:hunter2@192.0.2.1/x?sslmode=prefer":                  true,
		"postgres://me:hunter2@127.0.0.1,db/x?sslmode=disable":              true,
		"postgres://me:hunter2@db/x?sslmode=require":                        false,
		"postgres://me:hunter2@db/x?sslmode=verify-full":                    false,
		"postgres://me:hunter2@localhost/x?sslmode=disable":                 false,
		"postgres://me:hunter2@127.0.0.1,[::1]/x?sslmode=disable":           false,
		"postgres://me:hunter2@/x?host=/var/run/postgresql&sslmode=disable": false,
	} {
		u, err := setting.NewPostgresURL(text)
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		connection.CheckTLS(zerolog.New(&log), u, setting.URL{})
		if got := strings.Contains(log.String(), "does not require TLS"); got != want || strings.Contains(log.String(), "hunter2") {
			t.Errorf("%s: log = %q, want a warning: %t, without the password", text, &log, want)
		}
	}
}
