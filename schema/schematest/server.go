// Package schematest gives every test a PostgreSQL database of its own, with callboard's schema in it.
//
// One server runs per test process. The schema is applied once, to a template from which each test's database is copied. The
// server ends with the process, killed or not; what a killed process leaves on disk, a later one removes.
package schematest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

	memory = "/dev/shm"
	plenty = 4 << 30
)

// server is the process's PostgreSQL, with the roles' password.
type server struct {
	cluster  *cluster.Cluster
	dir      string
	password string // of every role but the superuser
	strategy string // the clause that makes a copy of the template fastest
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
	if err := Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
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

// Stop stops the server, if there is one. It is for packages whose TestMain does more than [Run].
func Stop() error {
	if process.server == nil {
		return nil
	}
	if err := process.server.stop(); err != nil {
		return fmt.Errorf("schematest: %w", err)
	}
	return nil
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
	base := base()
	sweep(base)
	s := &server{dir: filepath.Join(base, folder+strings.ToLower(rand.Text())), password: rand.Text()}
	s.cluster, err = cluster.Start(ctx, cluster.Config{
		DataDir:  s.dir,
		Download: true,
		Settings: map[string]string{"max_connections": "200", "max_wal_size": "1GB"},
	})
	if err != nil {
		return nil, errors.Join(err, cluster.Remove(s.dir))
	}
	// The default, through the log, is the faster one on a disk.
	if base == memory && s.cluster.Major() >= 15 {
		s.strategy = " strategy file_copy"
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
	if _, err := schema.Migrate(ctx, s.cluster.URL(template)); err != nil {
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
	return errors.Join(s.cluster.Stop(), cluster.Remove(s.dir))
}

// base is where the server's folder goes: into memory if there is plenty, because a copy of the template is some 300 files,
// which a disk takes up to ten times as long for.
func base() string {
	if free(memory) >= plenty {
		return memory
	}
	return os.TempDir()
}

// sweep removes what killed processes left. A process that still runs holds its cluster, which is left alone then; one that has
// just made its folder would be kept from holding it.
func sweep(base string) {
	// The pattern is well-formed, and what can't be removed is somebody else's.
	left, _ := filepath.Glob(filepath.Join(base, folder+"*"))
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) < time.Minute {
			continue
		}
		_ = cluster.Remove(dir)
	}
}
