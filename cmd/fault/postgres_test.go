package fault_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema"
	"callboard/schema/cluster"
)

// The roles that the programs connect as.
const (
	projectorRole = "callboard_projector"
	readerRole    = "callboard_reader"
	operatorRole  = "callboard_operator"
)

const tablespace = "disk"

// server is a PostgreSQL server that tests may stop.
type server struct {
	*cluster.Cluster
	tb       testing.TB
	disk     *disk  // of databases; nil: they lie with all the rest
	wal      *disk  // of the write-ahead log, just so
	password string // of the roles
}

func newServer(tb testing.TB) *server {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "postgres")
	c, err := cluster.Start(tb.Context(), cluster.Config{
		DataDir: dir, Download: true, Settings: map[string]string{"max_connections": "200", "max_wal_size": "1GB"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	s := &server{Cluster: c, tb: tb, password: rand.Text()}
	data := s.data()
	s.disk = newDisk(tb, filepath.Dir(data)+"-disk", data)
	s.wal = newDisk(tb, filepath.Dir(data)+"-wal", data)
	tb.Cleanup(func() {
		if err := c.Stop(); err != nil {
			tb.Error(err)
		}
		if tb.Failed() {
			tb.Logf("PostgreSQL said of deadlocks:\n%s", deadlocks(c.Log()))
		}
		if err := cluster.Remove(dir); err != nil {
			tb.Error(err)
		}
	})
	if s.disk != nil {
		s.exec("postgres", fmt.Sprintf("create tablespace %s location '%s'", tablespace, s.disk.dir))
	}
	if s.wal != nil {
		s.moveWAL(data)
	}
	return s
}

// moveWAL lets the write-ahead log lie on a disk of its own.
func (s *server) moveWAL(data string) {
	s.tb.Helper()
	s.Kill()
	at := filepath.Join(data, "pg_wal")
	if out, err := exec.CommandContext(s.tb.Context(), "cp", "-a", at+"/.", s.wal.dir).CombinedOutput(); err != nil {
		s.tb.Fatalf("%v: %s", err, out)
	}
	err := errors.Join(os.RemoveAll(at), os.Symlink(s.wal.dir, at), s.Restart(s.tb.Context()))
	if err != nil {
		s.tb.Fatal(err)
	}
}

// data is the folder of the server's data.
func (s *server) data() (folder string) {
	s.tb.Helper()
	conn := s.connect("postgres")
	defer hangUp(conn)
	if err := conn.QueryRow(s.tb.Context(), "show data_directory").Scan(&folder); err != nil {
		s.tb.Fatal(err)
	}
	return folder
}

// deadlocks are what a log of PostgreSQL says of them, with who waited for whom.
func deadlocks(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return strings.Join(regexp.MustCompile(`(?m)^.*deadlock detected.*(\n.*){0,60}`).FindAllString(string(text), -1), "\n")
}

// database makes one with callboard's schema in it.
func (s *server) database(name string) {
	s.tb.Helper()
	statement := "create database " + name
	if s.disk != nil {
		statement += " tablespace " + tablespace
	}
	s.exec("postgres", statement)
	if _, err := schema.Migrate(s.tb.Context(), s.URL(name)); err != nil {
		s.tb.Fatalf("migrate: %v", err)
	}
	for _, role := range []string{projectorRole, readerRole, operatorRole} {
		s.exec(name, fmt.Sprintf("alter role %s password '%s'", role, s.password))
	}
}

func (s *server) drop(name string) {
	s.tb.Helper()
	s.exec("postgres", "drop database "+name+" with (force)")
}

// exec runs a statement as the superuser.
func (s *server) exec(database, statement string) {
	s.tb.Helper()
	conn := s.connect(database)
	defer hangUp(conn)
	if _, err := conn.Exec(s.tb.Context(), statement); err != nil {
		s.tb.Fatalf("%s: %v", statement, err)
	}
}

// connect is a superuser's connection past all lines.
func (s *server) connect(database string) *pgx.Conn {
	s.tb.Helper()
	conn, err := pgx.Connect(s.tb.Context(), s.URL(database))
	if err != nil {
		s.tb.Fatal(err)
	}
	return conn
}

// hangUp lets go of all that the connection holds.
func hangUp(conn *pgx.Conn) {
	_ = conn.Close(context.Background()) // the server may be gone
}

// roleURL connects a role past all lines.
func (s *server) roleURL(role, database string) string { return s.UserURL(role, s.password, database) }

// lineURL connects a role over a line.
func (s *server) lineURL(l *line, role, database string) string {
	s.tb.Helper()
	u, err := url.Parse(s.roleURL(role, database))
	if err != nil {
		s.tb.Fatal(err)
	}
	u.Host = l.address()
	return u.String()
}

// pool is a pool of connections past all lines, closed with the test.
func (s *server) pool(url, searchPath string) *pgxpool.Pool {
	s.tb.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		s.tb.Fatal(err)
	}
	if searchPath != "" {
		config.ConnConfig.RuntimeParams["search_path"] = searchPath
	}
	pool, err := pgxpool.NewWithConfig(s.tb.Context(), config)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(pool.Close)
	return pool
}
