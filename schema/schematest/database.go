package schematest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema"
	"callboard/schema/cluster"
)

// Database is one test's database. It is dropped when the test ends.
type Database struct {
	cluster  *cluster.Cluster
	name     string
	password string // of every role
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

// NewWithSettings creates a database with callboard's schema on a separate server, which has the settings and ends with
// the test. It is never distributed.
func NewWithSettings(tb testing.TB, settings map[string]string) *Database {
	tb.Helper()
	all := defaultSettings()
	maps.Copy(all, settings)
	d := &Database{cluster: NewCluster(tb, all), name: "test", password: rand.Text()}
	if err := CreateDatabase(tb.Context(), d.cluster, nil, d.name, "", d.password); err != nil {
		tb.Fatalf("database: %v", err)
	}
	return d
}

func create(tb testing.TB, template string) *Database {
	tb.Helper()
	s, err := sharedServer()
	if err != nil {
		tb.Fatalf("PostgreSQL: %v", err)
	}

	d := &Database{cluster: s.cluster, password: s.password, name: "test_" + strings.ToLower(rand.Text())}
	sql := "create database " + d.name + " template " + template + s.strategy

	// A session that has just ended, or autovacuum, may use the template. PostgreSQL waits five seconds for it.
	for deadline := time.Now().Add(startTimeout); ; {
		if _, err = s.admin.Exec(tb.Context(), sql); !schema.HasCode(err, pgerrcode.ObjectInUse) || time.Now().After(deadline) {
			break
		}
	}

	if err := errors.Join(err, s.workers.Exec(tb.Context(), sql)); err != nil {
		tb.Fatalf("create database: %v", err)
	}
	tb.Cleanup(func() { s.drop(d.name) })
	return d
}

// CreateDatabase creates a database with callboard's schema on a server, whose roles get a password. It is distributed
// over the workers, which may be nil. clause follows the name in the statement.
func CreateDatabase(ctx context.Context, server *cluster.Cluster, workers *Workers, name, clause, password string) error {
	sql := "create database " + name + clause
	if err := execAt(ctx, server.URL("postgres"), sql); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := workers.Exec(ctx, sql); err != nil {
		return fmt.Errorf("workers: %w", err)
	}
	if err := workers.join(ctx, server, name); err != nil {
		return fmt.Errorf("workers: %w", err)
	}

	// The schema, its roles, and its distribution.
	if _, err := schema.Migrate(ctx, server.URL(name)); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}

	passwords := schema.Passwords{Projector: password, Reader: password, Operator: password, Webhooks: password}
	if err := schema.SetPasswords(ctx, server.URL(name), passwords); err != nil {
		return fmt.Errorf("passwords of the roles: %w", err)
	}

	return workers.distribute(ctx, server, name, password)
}

// URL connects as the superuser.
func (d *Database) URL() string { return d.cluster.URL(d.name) }

// RoleURL connects as one of the schema's roles.
func (d *Database) RoleURL(role string) string {
	return d.cluster.UserURL(role, d.password, d.name)
}

// Cluster is the server. Fault tests that stop one that all tests of the process share must start it again.
func (d *Database) Cluster() *cluster.Cluster { return d.cluster }

// Pool returns a pool of superuser connections. It is closed when the test ends.
func (d *Database) Pool(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	return OpenPool(tb, d.URL())
}

// RolePool returns a pool of connections as one of the schema's roles. It is closed when the test ends.
func (d *Database) RolePool(tb testing.TB, role string) *pgxpool.Pool {
	tb.Helper()
	return OpenPool(tb, d.RoleURL(role))
}

// ProjectorPool returns a pool of connections as a projector has them: by its role, with the projection on the search
// path. It is closed when the test ends.
func (d *Database) ProjectorPool(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	return OpenPool(tb, d.RoleURL("callboard_projector")+"&search_path=projection")
}

// Connect opens a connection as one of the schema's roles, with the settings. It is closed when the test ends.
func (d *Database) Connect(tb testing.TB, role string, settings map[string]string) *pgx.Conn {
	tb.Helper()
	config, err := pgx.ParseConfig(d.RoleURL(role))
	if err != nil {
		tb.Fatal(err)
	}

	maps.Copy(config.RuntimeParams, settings)
	conn, err := pgx.ConnectConfig(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}

	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
