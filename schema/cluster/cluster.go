// Package cluster runs a private PostgreSQL server on this machine, for callboard dev and for tests.
//
// It finds or downloads PostgreSQL's programs, initializes a cluster in an empty folder, and stops the server when the
// process that started it ends. It does not know callboard's schema.
//
// A cluster has one folder:
//
//	data/         PostgreSQL's data directory
//	data.new/     a data directory that is not complete
//	password      the superuser's password, while data.new is filled
//	postgres.log  the server's output since its last start
//
// The process that runs the cluster holds a lock on the folder. The server and its child processes hold a lock on the
// log. So a process that gets the first lock and not the second knows that the server has lost its parent, and ends it.
// On Linux the kernel ends the server when its parent dies; on other systems the next Start or Remove does.
//
// PostgreSQL refuses to run as root. A root process therefore runs the server as the user postgres or nobody. Where
// that user cannot reach the configured folder, the cluster is stored under /var/tmp and the configured folder is a
// link to it.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
)

// address is the only address that the server listens on.
const address = "127.0.0.1"

// Config says which PostgreSQL to run and where its cluster is stored.
type Config struct {
	// BinDir is the folder of the programs postgres and initdb. If it is empty, Start looks for them on PATH and in the
	// usual places, and downloads them if none are installed.
	BinDir string

	// DataDir is the absolute path of the cluster's folder. Start creates it. It may hold nothing but a cluster.
	DataDir string

	// Password is the superuser's password. Each Start of a cluster must be given the same one.
	Password string

	// Create fills the data directory of a new cluster, which exists and is empty. It gets a function that runs one of
	// PostgreSQL's programs as the server's user. If Create is nil, Start runs initdb.
	Create func(data string, run func(program string, args ...string) error) error

	// Progress is called with each step of Start. It may be nil.
	Progress func(step string)

	// Settings are further server settings. They override this package's settings except for the address, the port and
	// the absence of Unix sockets.
	Settings map[string]string
}

// ErrInUse is returned if another running process holds the cluster's folder.
var ErrInUse = errors.New("in use by another running process")

// A Cluster is a running PostgreSQL server. Its methods may be called from several goroutines.
type Cluster struct {
	config   Config
	programs programs
	folder   *folder
	port     int       // never changes
	reserved io.Closer // keeps other clusters from the port while the server is down

	mu      sync.Mutex // held while the server is stopped or restarted
	stopped bool
	server  *process // the last one
}

// Start runs the cluster in config.DataDir, initializes it if there is none, and returns once the server answers. It
// ends a server whose parent was killed. The caller must Stop the cluster.
//
// Start returns ErrInUse if another process runs the cluster, and returns early if ctx ends. A later end of ctx does
// not stop the server.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	if config.Progress == nil {
		config.Progress = func(string) {}
	}

	user, err := serverAccount()
	if err != nil {
		return nil, err
	}

	if err := createFolder(config.DataDir, user); err != nil {
		return nil, err
	}

	// Nobody else runs the cluster while the folder is locked.
	f, err := lockFolder(config.DataDir)
	if err != nil {
		return nil, err
	}

	c := &Cluster{config: config, folder: f}
	if err := c.start(ctx, user); err != nil {
		return nil, errors.Join(err, f.unlock())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, user account) (err error) {
	if c.programs, err = findPrograms(ctx, c.config, user); err != nil {
		return err
	}

	if _, err := os.Stat(c.folder.version()); err != nil {
		c.config.Progress(fmt.Sprintf("creating a PostgreSQL %d cluster", c.programs.major))
		if err := c.initialize(ctx); err != nil {
			return err
		}
	}

	// Another major version of PostgreSQL can't read the cluster's files.
	version, _ := os.ReadFile(c.folder.version()) // it exists
	if major := strings.TrimSpace(string(version)); major != strconv.Itoa(c.programs.major) {
		return fmt.Errorf("the cluster in %s was created by PostgreSQL %s, but %s holds PostgreSQL %d: "+
			"create a new cluster with --fresh, or name the folder of PostgreSQL %[2]s with --postgres-bin",
			c.folder.path, major, c.programs.dir, c.programs.major)
	}

	c.config.Progress(fmt.Sprintf("starting PostgreSQL %d", c.programs.major))
	if c.port, c.reserved, err = freePort(ctx); err != nil {
		return fmt.Errorf("free port: %w", err)
	}

	if err := c.startServer(ctx); err != nil {
		return errors.Join(err, c.reserved.Close())
	}

	return nil
}

// initialize creates the data directory under another name and renames it when it is complete, so that Start repeats an
// interrupted initialization.
func (c *Cluster) initialize(ctx context.Context) error {
	staging, password := c.folder.staging(), c.folder.password()
	chown := c.programs.account.chown
	if err := errors.Join(
		os.RemoveAll(staging), os.Mkdir(staging, 0o700), chown(staging),
		os.WriteFile(password, []byte(c.config.Password), 0o600), chown(password),
	); err != nil {
		return err
	}

	var err error
	run := func(program string, args ...string) error { return c.programs.run(ctx, program, args...) }

	if c.config.Create != nil {
		err = c.config.Create(staging, run)
	} else {
		err = run("initdb", "--pgdata", staging, "--username", "postgres", "--pwfile", password,
			"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-instructions", "--no-sync")
	}
	if err = errors.Join(err, os.Remove(password)); err != nil {
		return errors.Join(err, os.RemoveAll(staging))
	}
	return os.Rename(staging, c.folder.data())
}

// URL connects the superuser to database. It contains the password.
func (c *Cluster) URL(database string) string {
	return c.UserURL("postgres", c.config.Password, database)
}

// UserURL connects a role to the database of a name.
func (c *Cluster) UserURL(user, password, name string) string {
	return fmt.Sprintf("postgres://%s@%s:%d/%s?sslmode=disable", url.UserPassword(user, password), address, c.port, name)
}

// Port is the server's port on 127.0.0.1.
func (c *Cluster) Port() int { return c.port }

// Major is the server's major version, 17 for example.
func (c *Cluster) Major() int { return c.programs.major }

// Log is the path of the server's log file.
func (c *Cluster) Log() string { return c.folder.log() }

// Done is closed when the server that was started last has ended, for whatever reason.
func (c *Cluster) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server.done
}

// Stop rolls back open transactions, shuts the server down, waits for its end and unlocks the folder. It returns an
// error if the server had ended without being asked to, or cannot be stopped. Further calls do nothing.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	return errors.Join(c.server.stop(), c.reserved.Close(), c.folder.unlock())
}

// Kill ends the server at once, as a crash does, and waits for its end. It is for fault tests: Restart starts the
// server again, and Stop must still be called.
func (c *Cluster) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.server.kill() // nobody can handle a process that survives SIGKILL
}

// Restart starts the server again after Kill, on the same port, so that URLs stay valid. It stops a server that still
// runs.
func (c *Cluster) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.server.stop(), c.startServer(ctx))
}
