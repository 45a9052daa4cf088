// Package schematest gives every test a PostgreSQL database of its own, with callboard's schema in it.
//
// One server runs per test process. The schema is applied once, to a template from which each test's database is copied. The
// server ends with the process, killed or not; what a killed process leaves on disk, the next one removes.
package schematest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/schema"
	"callboard/schema/cluster"
)

const (
	template  = "callboard_template"
	folder    = "callboard-test-postgres-"
	startTime = 2 * time.Minute
)

// server is the process's PostgreSQL, with the roles' passwords.
type server struct {
	cluster  *cluster.Cluster
	dir      string
	password string // of every role but the superuser
}

// The process has one server, started by its first test.
//
//nolint:gochecknoglobals // a test binary has no main to build it in
var process struct {
	once   sync.Once
	server *server
	err    error
}

// Run runs a package's tests, stops the server and exits; it is all that TestMain does. The checks come after, if the tests
// passed: a leaked goroutine, say.
func Run(m *testing.M, checks ...func() error) {
	code := m.Run()
	if process.server != nil {
		if err := process.server.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "schematest:", err)
			code = max(code, 1)
		}
	}
	for _, check := range checks {
		if code != 0 {
			break
		}
		if err := check(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// shared is the process's server.
func shared() (*server, error) {
	process.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTime)
		defer cancel()
		process.server, process.err = start(ctx)
	})
	return process.server, process.err
}

func start(ctx context.Context) (_ *server, err error) {
	sweep()
	dir, err := os.MkdirTemp("", folder)
	if err != nil {
		return nil, err
	}
	s := &server{dir: filepath.Join(dir, "cluster"), password: rand.Text()}
	s.cluster, err = cluster.Start(ctx, cluster.Config{
		DataDir:  s.dir,
		Fetch:    true,
		Settings: map[string]string{"shared_buffers": "64MB", "max_connections": "200", "max_wal_size": "4GB"},
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// prepare makes the template and gives the roles a password.
func (s *server) prepare(ctx context.Context) error {
	if err := s.exec(ctx, "create database "+template); err != nil {
		return err
	}
	if err := schema.Migrate(ctx, s.cluster.URL(template)); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	for _, role := range []string{"callboard_projector", "callboard_reader", "callboard_operator"} {
		if err := s.exec(ctx, fmt.Sprintf("alter role %s password '%s'", role, s.password)); err != nil {
			return err
		}
	}
	return nil
}

// exec runs a statement that concerns the whole server.
func (s *server) exec(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.cluster.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

func (s *server) stop() error {
	return errors.Join(s.cluster.Stop(), cluster.Remove(s.dir), os.RemoveAll(filepath.Dir(s.dir)))
}

// sweep removes what killed processes left. One that still runs holds its cluster, and is left alone.
func sweep() {
	left, err := filepath.Glob(filepath.Join(os.TempDir(), folder+"*"))
	if err != nil {
		return
	}
	for _, dir := range left {
		info, err := os.Stat(dir)
		// A folder just made may belong to a process that is about to start its cluster in it.
		if err != nil || time.Since(info.ModTime()) < startTime {
			continue
		}
		if cluster.Remove(filepath.Join(dir, "cluster")) == nil {
			_ = os.RemoveAll(dir)
		}
	}
}
