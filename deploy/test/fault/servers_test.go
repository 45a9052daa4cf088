package fault_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/deploy/test/programtest"
	"callboard/events/eventstest"
	"callboard/schema/cluster"
	"callboard/schema/schematest"
)

// natsServer is a NATS server that runs as a process. It keeps its store and its port when it is restarted.
type natsServer struct {
	*process
	address string
	args    []string
	disk    *disk // of the store; nil if the test can't mount one
}

func newNATSServer(tb testing.TB) *natsServer {
	tb.Helper()
	folder := tb.TempDir()
	store := filepath.Join(folder, "store")
	disk := newDisk(tb, store, folder)
	s := startNATSServer(tb, "nats", eventstest.FreePort(tb), store)
	s.disk = disk
	return s
}

func startNATSServer(tb testing.TB, name string, port int, store string, args ...string) *natsServer {
	tb.Helper()
	s := &natsServer{
		process: programtest.NewProcess(tb, name, natsProgram.Path(tb, "nats-server"), nil),
		address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		args:    append([]string{"-a", "127.0.0.1", "-p", strconv.Itoa(port), "-js", "-sd", store}, args...),
	}
	s.Start()
	return s
}

// Start starts the server and waits until it accepts connections.
func (s *natsServer) Start() {
	s.Helper()
	s.process.Start(s.args...)
	dialer := net.Dialer{Timeout: time.Second}
	eventstest.Eventually(s, "NATS accepts connections", func() bool {
		s.RequireRunning()
		conn, err := dialer.DialContext(s.Context(), "tcp", s.address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
}

// connect connects to the server directly.
func (s *natsServer) connect() jetstream.JetStream {
	s.Helper()
	return eventstest.JetStream(s, "nats://"+s.address)
}

// The roles that the programs connect as.
const (
	projectorRole = "callboard_projector"
	readerRole    = "callboard_reader"
	operatorRole  = "callboard_operator"
	senderRole    = "callboard_webhooks"
)

const tablespace = "disk"

// postgresServer is a PostgreSQL server that the test may kill.
type postgresServer struct {
	*cluster.Cluster
	tb        testing.TB
	disk, wal *disk               // of databases and of the write-ahead log; nil if the test can't mount them
	password  string              // of all roles
	workers   *schematest.Workers // over which its databases are distributed; nil: it is alone
}

func newPostgresServer(tb testing.TB) *postgresServer {
	tb.Helper()
	return startPostgresServer(tb, cluster.Config{}, 0)
}

// startPostgresServer starts a server with further settings, and workers if it is to coordinate some.
func startPostgresServer(tb testing.TB, config cluster.Config, workers int) *postgresServer {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "postgres")
	settings := map[string]string{"max_connections": "200", "max_wal_size": "1GB"}
	maps.Copy(settings, config.Settings)
	config.DataDir, config.Password, config.Settings = dir, rand.Text(), settings
	c, w, err := schematest.StartServers(tb.Context(), config, workers)
	if err != nil {
		tb.Fatal(err)
	}
	s := &postgresServer{Cluster: c, tb: tb, password: config.Password, workers: w}
	data := s.dataDirectory()
	s.disk = newDisk(tb, filepath.Dir(data)+"-disk", data)
	s.wal = newDisk(tb, filepath.Dir(data)+"-wal", data)
	tb.Cleanup(func() {
		if err := errors.Join(w.Stop(), c.Stop()); err != nil {
			tb.Error(err)
		}
		if tb.Failed() {
			tb.Logf("deadlocks in PostgreSQL's log:\n%s", deadlocks(c.Log()))
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

// moveWAL moves the write-ahead log to its disk.
func (s *postgresServer) moveWAL(data string) {
	s.tb.Helper()
	s.Kill()
	wal := filepath.Join(data, "pg_wal")
	if out, err := exec.CommandContext(s.tb.Context(), "cp", "-a", wal+"/.", s.wal.dir).CombinedOutput(); err != nil {
		s.tb.Fatalf("%v: %s", err, out)
	}
	err := errors.Join(os.RemoveAll(wal), os.Symlink(s.wal.dir, wal), s.Restart(s.tb.Context()))
	if err != nil {
		s.tb.Fatal(err)
	}
}

func (s *postgresServer) dataDirectory() string {
	s.tb.Helper()
	conn := s.connect("postgres")
	defer closeConn(conn)
	return schematest.QueryOne[string](s.tb, conn, "show data_directory")
}

// deadlocks returns what a log of PostgreSQL has about deadlocks.
func deadlocks(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return strings.Join(regexp.MustCompile(`(?m)^.*deadlock detected.*(\n.*){0,60}`).FindAllString(string(text), -1), "\n")
}

// createDatabase creates a database with callboard's schema, which is distributed over the workers if there are some.
func (s *postgresServer) createDatabase(name string) {
	s.tb.Helper()
	clause := ""
	if s.disk != nil && s.workers == nil { // which lack the tablespace
		clause = " tablespace " + tablespace
	}
	if err := schematest.CreateDatabase(s.tb.Context(), s.Cluster, s.workers, name, clause, s.password); err != nil {
		s.tb.Fatal(err)
	}
}

// exec executes a statement as the superuser.
func (s *postgresServer) exec(database, statement string) {
	s.tb.Helper()
	conn := s.connect(database)
	defer closeConn(conn)
	schematest.Exec(s.tb, conn, statement)
}

func (s *postgresServer) connect(database string) *pgx.Conn {
	s.tb.Helper()
	return connect(s.tb, s.Cluster, database)
}

// connect returns a direct connection of the superuser.
func connect(tb testing.TB, server *cluster.Cluster, database string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), server.URL(database))
	if err != nil {
		tb.Fatal(err)
	}
	return conn
}

func closeConn(conn *pgx.Conn) {
	_ = conn.Close(context.Background()) // the server may be down
}

// roleURL returns the URL of a role's direct connection.
func (s *postgresServer) roleURL(role, database string) string {
	return s.UserURL(role, s.password, database)
}

// proxyURL returns the URL of a role's connection through a proxy.
func (s *postgresServer) proxyURL(p *proxy, role, database string) string {
	s.tb.Helper()
	u, err := url.Parse(s.roleURL(role, database))
	if err != nil {
		s.tb.Fatal(err)
	}
	u.Host = p.address()
	return u.String()
}
