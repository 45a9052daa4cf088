// Package cluster runs a private PostgreSQL server on this machine, for callboard dev and for tests.
//
// It finds or downloads PostgreSQL's programs, initializes a cluster in an empty folder, and stops the server when the
// process that started it ends. It does not know callboard's schema.
//
// A cluster has one folder:
//
//	data/         PostgreSQL's data directory
//	password      the superuser's password
//	postgres.log  the server's output since its last start
//
// The process that runs the cluster holds a lock on the folder. A process that gets the lock and finds a running server
// knows that the server's parent has died, and stops the server. On Linux the kernel stops the server when its parent
// dies; on other systems the next Start or Remove does.
//
// PostgreSQL refuses to run as root. A root process therefore runs the server as the user postgres or nobody. Where that
// user cannot reach the configured folder, the cluster is stored under /var/tmp and the configured folder is a link to it.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
)

// Config says which PostgreSQL to run and where its cluster is stored.
type Config struct {
	// BinDir is the folder of the programs postgres and initdb. If it is empty, Start looks for them on PATH and in the
	// usual places.
	BinDir string

	// DataDir is the cluster's folder. Start creates it. It may hold nothing but a cluster.
	DataDir string

	// Download allows Start to download PostgreSQL's programs if none are installed.
	Download bool

	// InitdbCache is an existing folder that keeps a copy of what initdb creates. Later clusters are copies of it and have
	// the same superuser password: this is for tests. If it is empty, initdb runs for every new cluster.
	InitdbCache string

	// Primary is the superuser's URL of a running server. If it is set, a new cluster is a copy of that server, with the same
	// superuser password, and streams from it until it is promoted: this is for tests. It needs the program pg_basebackup.
	Primary string

	// Progress is called with each step of Start. It may be nil.
	Progress func(step string)

	// Settings are further server settings. They override this package's settings except for the address, the port and the
	// absence of Unix sockets.
	Settings map[string]string
}

// ErrInUse is returned if another running process holds the cluster's folder.
var ErrInUse = errors.New("in use by another running process")

// A Cluster is a running PostgreSQL server. Its methods may be called from several goroutines.
type Cluster struct {
	config   Config
	programs programs
	dir      *directory
	password string
	port     int       // never changes
	reserved io.Closer // keeps other clusters from the port while the server is down

	mu      sync.Mutex // held while the server is stopped or restarted
	stopped bool
	server  atomic.Pointer[process]
}

// Start runs the cluster in config.DataDir, initializes it if there is none, and returns once the server answers. It stops
// a server whose parent was killed. The caller must Stop the cluster.
//
// Start returns ErrInUse if another process runs the cluster, and returns early if ctx ends. A later end of ctx does not
// stop the server.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	if config.Progress == nil {
		config.Progress = func(string) {}
	}
	user, err := serverAccount()
	if err != nil {
		return nil, err
	}
	pg, err := findPrograms(ctx, config, user)
	if err != nil {
		return nil, err
	}
	dir, err := openDirectory(config.DataDir, user)
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", config.DataDir, err)
	}
	c := &Cluster{config: config, programs: pg, dir: dir}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, dir.close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := stopRunningServer(ctx, c.dir.data()); err != nil {
		return fmt.Errorf("stop the server that still runs in %s: %w", c.dir.path, err)
	}
	if !c.dir.initialized() {
		c.config.Progress(fmt.Sprintf("creating a PostgreSQL %d cluster", c.programs.major))
		if err := c.dir.initialize(ctx, c.programs, c.config); err != nil {
			return err
		}
	}
	password, err := c.dir.readPassword(c.programs)
	if err != nil {
		return err
	}
	c.password = password
	c.config.Progress(fmt.Sprintf("starting PostgreSQL %d", c.programs.major))
	return c.startOnFreePort(ctx)
}

// URL connects the superuser to database. It contains the password.
func (c *Cluster) URL(database string) string {
	return c.UserURL("postgres", c.password, database)
}

// UserURL connects the given role to database.
func (c *Cluster) UserURL(user, password, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(user, password),
		Host:     net.JoinHostPort(address, strconv.Itoa(c.port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Port is the server's port on 127.0.0.1.
func (c *Cluster) Port() int { return c.port }

// Major is the server's major version, 17 for example.
func (c *Cluster) Major() int { return c.programs.major }

// Log is the path of the server's log file.
func (c *Cluster) Log() string { return c.dir.log() }

// Done is closed when the server that was started last has ended, for whatever reason.
func (c *Cluster) Done() <-chan struct{} { return c.server.Load().done }

// Stop rolls back open transactions, shuts the server down, waits for its end and unlocks the folder. It returns an error
// if the server had ended without being asked to, or cannot be stopped. Further calls do nothing.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	p := c.server.Load()
	var crash error
	if p.crashed() {
		crash = c.exitError(p)
	}
	return errors.Join(crash, p.stop(), c.dir.close(), c.reserved.Close())
}

// Kill ends the server at once, as a crash does, and waits for its end. It is for fault tests: Restart starts the server
// again, and Stop must still be called.
func (c *Cluster) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server.Load().kill()
}

// Restart starts the server again after Kill or a crash, on the same port, so that URLs stay valid. It stops a server that
// still runs.
func (c *Cluster) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return errors.New("restart: the cluster is stopped")
	}
	if err := c.server.Load().stop(); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	p, err := c.startServer(ctx)
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	c.server.Store(p)
	return nil
}
