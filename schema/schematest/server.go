// Package schematest gives every test a separate PostgreSQL database with callboard's schema in it.
//
// One server runs per test process. The schema is migrated once, in a template database of which each test's database
// is a copy. The server ends with the process, even if the process is killed. The folder of a killed process is removed
// by a later one.
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
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"callboard/events/eventstest"
	"callboard/schema/cluster"
)

const (
	template     = "callboard_template"
	folderPrefix = "callboard-test-postgres-"
	startTimeout = 10 * time.Minute

	memoryDir     = "/dev/shm"
	minFreeMemory = 4 << 30 // bytes
)

// server is the process's PostgreSQL server.
type server struct {
	cluster  *cluster.Cluster
	workers  *Workers // nil: the server is alone
	dir      string
	password string        // of every role
	strategy string        // the clause of create database that is fastest here
	admin    *pgxpool.Pool // of the superuser, to create and drop databases

	drops    sync.WaitGroup
	dropping sync.Mutex // one drop at a time, so that most connections are left for New
	stopping atomic.Bool
}

// The process has one server, started by its first test.
//
//nolint:gochecknoglobals // a test binary has no main that could create it
var process struct {
	once   sync.Once
	server *server
	err    error
}

// Run runs a package's tests, stops the server and exits; TestMain calls nothing else. If the tests have passed, Run
// also runs the checks, for leaked goroutines for example.
func Run(m *testing.M, checks ...func() error) {
	code := m.Run()
	err := Stop()

	for _, check := range checks {
		if code == 0 && err == nil {
			err = check()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}

	os.Exit(code)
}

// RunAndFindLeaks is [Run] with a check that no goroutine is left over. The options say which ones may be.
func RunAndFindLeaks(m *testing.M, options ...goleak.Option) {
	Run(m, func() error { return eventstest.FindLeaks(options...) })
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

// sharedServer starts the process's server unless it runs.
func sharedServer() (*server, error) {
	process.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		process.server, process.err = start(ctx)
	})
	return process.server, process.err
}

// defaultSettings are the settings of every server.
func defaultSettings() map[string]string {
	return map[string]string{"max_connections": "200", "max_wal_size": "1GB"}
}

// start starts a server.
func start(ctx context.Context) (*server, error) {
	base := baseDir()
	removeAbandoned(base)
	s := &server{dir: filepath.Join(base, folderPrefix+strings.ToLower(rand.Text())), password: rand.Text()}

	// On nodes, the server is their coordinator.
	workers := 0
	if OnNodes() {
		workers = WorkerCount
	}
	var err error
	config := cluster.Config{DataDir: s.dir, Password: s.password, Settings: defaultSettings()}
	if s.cluster, s.workers, err = StartServers(ctx, config, workers); err != nil {
		return nil, errors.Join(err, cluster.Remove(s.dir))
	}

	// The default strategy, through the write-ahead log, is the faster one on a disk.
	if base == memoryDir && s.cluster.Major() >= 15 {
		s.strategy = " strategy file_copy"
	}

	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}

	return s, nil
}

// prepare creates the template and sets the roles' password.
func (s *server) prepare(ctx context.Context) error {
	config, err := pgxpool.ParseConfig(s.cluster.URL("postgres"))
	if err != nil {
		return err
	}

	// Connections of before a restart of the server are replaced.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return true }
	if s.admin, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}

	if err := CreateDatabase(ctx, s.cluster, s.workers, template, s.strategy, s.password); err != nil {
		return fmt.Errorf("template: %w", err)
	}

	if s.workers == nil {
		return nil
	}

	// Sessions of the nodes keep the template from being copied.
	const end = "alter database " + template + " with allow_connections false; " +
		"select pg_terminate_backend(pid) from pg_stat_activity where datname = '" + template + "'"
	return errors.Join(execAt(ctx, s.cluster.URL("postgres"), end), s.workers.Exec(ctx, end))
}

// drop drops a database in the background, because PostgreSQL waits 100 ms if a session has ended just before.
func (s *server) drop(name string) {
	s.drops.Go(func() {
		s.dropping.Lock()
		defer s.dropping.Unlock()
		if !s.stopping.Load() {
			// A database that is not dropped needs space only until the server's folder is removed.
			_, _ = s.admin.Exec(context.Background(), "drop database "+name+" with (force)")
			_ = s.workers.Exec(context.Background(), "drop database "+name+" with (force)")
		}
	})
}

func (s *server) stop() error {
	s.stopping.Store(true)
	s.drops.Wait()
	if s.admin != nil {
		s.admin.Close()
	}
	return errors.Join(s.workers.Stop(), s.cluster.Stop(), remove(s.dir))
}

// remove removes the folder of a server that has ended, unless another process does, which finds it abandoned.
func remove(dir string) error {
	if err := cluster.Remove(dir); !errors.Is(err, cluster.ErrInUse) {
		return err
	}
	return nil
}

// baseDir is where the server's folder is created: in memory if enough is free. A copy of the template is some 300
// files, for which a disk needs up to ten times as long.
func baseDir() string {
	if freeSpace(memoryDir) >= minFreeMemory {
		return memoryDir
	}
	return os.TempDir()
}

// removeAbandoned removes the folders of killed processes. A running process has its folder locked; one that has
// created its folder less than a minute ago may not have locked it yet.
func removeAbandoned(base string) {
	// The pattern is well-formed. Folders that cannot be removed belong to running processes or other users.
	dirs, _ := filepath.Glob(filepath.Join(base, folderPrefix+"*"))
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) >= time.Minute {
			_ = cluster.Remove(dir)
		}
	}
}
