package schematest

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema/cluster"
)

// Database is one test's database, dropped when the test ends.
type Database struct {
	server *server
	name   string
}

// New copies a database from the template. The test fails with the reason where no PostgreSQL can be had.
func New(tb testing.TB) *Database {
	tb.Helper()
	return create(tb, template)
}

// NewEmpty is a database without callboard's schema.
func NewEmpty(tb testing.TB) *Database {
	tb.Helper()
	return create(tb, "template1")
}

func create(tb testing.TB, template string) *Database {
	tb.Helper()
	s, err := shared()
	if err != nil {
		tb.Fatalf("PostgreSQL: %v", err)
	}
	d := &Database{server: s, name: "test_" + strings.ToLower(rand.Text())}
	if err := s.exec(tb.Context(), "create database "+d.name+" template "+template+s.strategy); err != nil {
		tb.Fatalf("create database: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.exec(context.Background(), "drop database "+d.name+" with (force)"); err != nil {
			tb.Errorf("drop database: %v", err)
		}
	})
	return d
}

// URL connects as the superuser.
func (d *Database) URL() string { return d.server.cluster.URL(d.name) }

// RoleURL connects as one of the schema's roles.
func (d *Database) RoleURL(role string) string {
	return d.server.cluster.UserURL(role, d.server.password, d.name)
}

// Cluster is the server that the process's tests share: for tests of faults, which must leave it running.
func (d *Database) Cluster() *cluster.Cluster { return d.server.cluster }

// Pool is a pool of superuser connections, closed when the test ends.
func (d *Database) Pool(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	pool, err := pgxpool.New(tb.Context(), d.URL())
	if err != nil {
		tb.Fatalf("pool: %v", err)
	}
	tb.Cleanup(pool.Close)
	return pool
}
