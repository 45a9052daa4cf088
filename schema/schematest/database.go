package schematest

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema/cluster"
)

// Database is one test's database. It is dropped when the test ends.
type Database struct {
	server *server
	name   string
}

// New creates a database with callboard's schema. The test fails if no PostgreSQL is available.
func New(tb testing.TB) *Database {
	tb.Helper()
	return create(tb, template)
}

// NewEmpty creates a database without callboard's schema.
func NewEmpty(tb testing.TB) *Database {
	tb.Helper()
	return create(tb, "template1")
}

func create(tb testing.TB, template string) *Database {
	tb.Helper()
	s, err := sharedServer()
	if err != nil {
		tb.Fatalf("PostgreSQL: %v", err)
	}
	d := &Database{server: s, name: "test_" + strings.ToLower(rand.Text())}
	if _, err := s.admin.Exec(tb.Context(), "create database "+d.name+" template "+template+s.strategy); err != nil {
		tb.Fatalf("create database: %v", err)
	}
	tb.Cleanup(func() { s.drop(d.name) })
	return d
}

// URL connects as the superuser.
func (d *Database) URL() string { return d.server.cluster.URL(d.name) }

// RoleURL connects as one of the schema's roles.
func (d *Database) RoleURL(role string) string {
	return d.server.cluster.UserURL(role, d.server.password, d.name)
}

// Cluster is the server that all tests of the process share. Fault tests that stop it must start it again.
func (d *Database) Cluster() *cluster.Cluster { return d.server.cluster }

// Pool returns a pool of superuser connections. It is closed when the test ends.
func (d *Database) Pool(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	pool, err := pgxpool.New(tb.Context(), d.URL())
	if err != nil {
		tb.Fatalf("pool: %v", err)
	}
	tb.Cleanup(pool.Close)
	return pool
}
