package connection_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
	"callboard/schema/schematest"
)

func pool(tb testing.TB, text string, change func(*connection.PostgresConfig)) *pgxpool.Pool {
	tb.Helper()
	u, err := setting.NewPostgresURL(text)
	if err != nil {
		tb.Fatal(err)
	}
	config := connection.PostgresConfig{URL: u, Program: "tester", ReadWrite: true}
	change(&config)
	p, err := connection.NewPool(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

func text(tb testing.TB, p *pgxpool.Pool, query string) string {
	tb.Helper()
	return schematest.QueryOne[string](tb, p, query)
}

func TestNewPool_Session(t *testing.T) {
	t.Parallel()
	p := pool(t, schematest.New(t).URL(), func(c *connection.PostgresConfig) {
		c.Settings = map[string]string{"search_path": "projection", "role": "callboard_reader"}
	})
	if got := text(t, p, "show search_path"); got != "projection" {
		t.Errorf("search_path = %s, want projection", got)
	}
	if got := text(t, p, "select current_user"); got != "callboard_reader" {
		t.Errorf("role = %s, want callboard_reader", got)
	}
	got := text(t, p, "show application_name")
	if !strings.HasPrefix(got, "tester@") || !strings.HasSuffix(got, fmt.Sprintf("/%d", os.Getpid())) {
		t.Errorf("application_name = %s, want tester@host/pid", got)
	}
}

func TestNewPool_ApplicationNameOfURL(t *testing.T) {
	t.Parallel()
	p := pool(t, schematest.New(t).URL()+"&application_name=mine", func(*connection.PostgresConfig) {})
	if got := text(t, p, "show application_name"); got != "mine" {
		t.Errorf("application_name = %s, want mine", got)
	}
}

// Only pools that need the primary refuse a read-only server.
func TestNewPool_ReadOnlyServer(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	u, err := url.Parse(database.URL())
	if err != nil {
		t.Fatal(err)
	}
	statement := "alter database " + strings.TrimPrefix(u.Path, "/") + " set default_transaction_read_only = on"
	schematest.Exec(t, database.Pool(t), statement)
	primary := pool(t, database.URL(), func(*connection.PostgresConfig) {})
	if err := primary.Ping(t.Context()); !errors.Is(err, pgconn.ErrReadOnlyConnection) {
		t.Errorf("primary: error = %v, want ErrReadOnlyConnection", err)
	}
	replica := pool(t, database.URL(), func(c *connection.PostgresConfig) { c.ReadWrite = false })
	if err := replica.Ping(t.Context()); err != nil {
		t.Errorf("replica: error = %v, want none", err)
	}
}

// After a read-only error the pool uses none of its connections again.
func TestNewPool_Demoted(t *testing.T) {
	t.Parallel()
	p := pool(t, schematest.New(t).URL(), func(*connection.PostgresConfig) {})
	const backend = "select pg_backend_pid()::text"
	one, err := p.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := text(t, p, backend) // a second connection, idle from here on
	_, err = one.Exec(t.Context(), "begin read only; create table x ()")
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) || refusal.Code != pgerrcode.ReadOnlySQLTransaction {
		t.Fatalf("error = %v, want SQLSTATE %s", err, pgerrcode.ReadOnlySQLTransaction)
	}
	if !one.Conn().IsClosed() {
		t.Error("the connection with the error is open, want it closed")
	}
	one.Release()
	if after := text(t, p, backend); after == before {
		t.Error("backend after the error is the same, want another")
	}
}

func TestNewPool_ErrorWithoutPassword(t *testing.T) {
	t.Parallel()
	p := pool(t, "postgres://me:hunter2@127.0.0.1:1/x", func(*connection.PostgresConfig) {})
	if err := p.Ping(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error = %v, want one without the password", err)
	}
}

// A reader's sessions have the settings that its plans need, whatever else is set.
func TestReaderSettings(t *testing.T) {
	t.Parallel()
	p := pool(t, schematest.New(t).URL()+"&role=callboard_reader", func(c *connection.PostgresConfig) {
		c.Settings = connection.ReaderSettings()
	})
	for setting, want := range map[string]string{
		"plan_cache_mode": "force_generic_plan", "enable_bitmapscan": "off", "enable_seqscan": "off", "jit": "off", "role": "callboard_reader",
	} {
		if got := text(t, p, "show "+setting); got != want {
			t.Errorf("%s = %s, want %s", setting, got, want)
		}
	}
}
