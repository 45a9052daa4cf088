// Package cluster runs a private PostgreSQL server on this machine, for
// callboard dev and for tests.
//
// It knows where PostgreSQL's programs are usually installed, how to make a
// cluster out of an empty folder, and how to tie a server's life to the program
// that started it. It knows nothing of callboard's schema.
//
// A cluster lives in one folder:
//
//	data/         PostgreSQL's own data directory
//	password      the superuser's password, readable by its owner only
//	postgres.log  what the server said since its last start
//
// The program that runs the cluster holds a lock on the folder, so whoever gets
// the lock knows that a server still found there has lost its program and may be
// stopped. On Linux the kernel stops the server when the program dies, by
// whatever means; elsewhere the next Start or Remove does.
//
// PostgreSQL refuses to run as root. Under root the server runs as the user
// postgres or nobody, and where that user can't enter the folder that the
// caller named, the cluster lies under /var/tmp and the folder is a link to it.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
)

// Config says which PostgreSQL to run and where its cluster lies.
type Config struct {
	// BinDir is the folder that holds postgres and initdb. When empty they are
	// looked for on PATH and in the usual places.
	BinDir string

	// DataDir is the cluster's folder; it is made when absent. It may hold nothing but a cluster.
	DataDir string

	// Durable makes commits survive a crash of the machine. Without it they
	// survive a crash of the server only, and are much faster.
	Durable bool

	// Download allows PostgreSQL's programs to be downloaded when none are installed.
	Download bool

	// FetchDir is where downloaded programs are kept; empty means the user's cache folder.
	FetchDir string

	// Progress is told what Start is doing, from the goroutine that called Start
	// or one that ends before Start does. It may be nil.
	Progress func(step string)

	// Settings are further server settings. They override this package's choices
	// except for the address, the port and the absence of Unix sockets.
	Settings map[string]string
}

// ErrInUse is returned when another running program holds the cluster's folder.
var ErrInUse = errors.New("in use by another running program")

// A Cluster is a running PostgreSQL server. Its methods may be called from several goroutines.
type Cluster struct {
	config   Config
	install  install
	home     *home
	password string
	port     int // the same for the Cluster's whole life

	mu      sync.Mutex // held while the server is stopped or restarted
	stopped bool
	server  atomic.Pointer[process]
}

// Start runs the cluster in config.DataDir, making it first when there is none,
// and returns once the server answers. A server left there by a program that was
// killed is stopped before. The caller must Stop the cluster.
//
// It fails with ErrInUse when another program runs the cluster, and ends early
// when ctx does; ctx has no bearing on the server once Start has returned.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	if config.Progress == nil {
		config.Progress = func(string) {}
	}
	owner, err := serverAccount()
	if err != nil {
		return nil, err
	}
	pg, err := findInstall(ctx, config, owner)
	if err != nil {
		return nil, err
	}
	h, err := openHome(config.DataDir, owner)
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", config.DataDir, err)
	}
	c := &Cluster{config: config, install: pg, home: h}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := stopOrphan(ctx, c.home.data()); err != nil {
		return fmt.Errorf("server left behind: %w", err)
	}
	if !c.home.initialized() {
		c.config.Progress(fmt.Sprintf("creating a PostgreSQL %d cluster", c.install.major))
		if err := c.home.initialize(ctx, c.install, c.config.Durable); err != nil {
			return fmt.Errorf("initdb: %w", err)
		}
	}
	password, err := c.home.open(c.install)
	if err != nil {
		return err
	}
	c.password = password
	c.config.Progress(fmt.Sprintf("starting PostgreSQL %d", c.install.major))
	return c.launchAnywhere(ctx)
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

// Password is the superuser's.
func (c *Cluster) Password() string { return c.password }

// Port is the one on 127.0.0.1 that the server listens on.
func (c *Cluster) Port() int { return c.port }

// Major is the server's major version, 17 for example.
func (c *Cluster) Major() int { return c.install.major }

// Log is the path of the file that the server writes its log to.
func (c *Cluster) Log() string { return c.home.log() }

// Done is closed when the server that was started last has ended, whether it was asked to or not.
func (c *Cluster) Done() <-chan struct{} { return c.server.Load().done }

// Stop shuts the server down, rolling open transactions back, waits for its end
// and lets go of the folder. It returns an error when the server had ended by
// itself before, or can't be stopped. Further calls do nothing.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	p := c.server.Load()
	var crash error
	if p.endedByItself() {
		crash = c.postMortem(p)
	}
	return errors.Join(crash, p.stop(), c.home.close())
}

// Kill ends the server at once, as a crash would, and waits for its end. It is
// for tests of faults: Restart brings the server back, and Stop must still be called.
func (c *Cluster) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server.Load().kill()
}

// Restart starts the server again after Kill or a crash, on the port it had
// before, so that every URL stays good. A server that still runs is stopped first.
func (c *Cluster) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return errors.New("restart: the cluster is stopped")
	}
	if err := c.server.Load().stop(); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	p, err := c.launch(ctx, c.port)
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	c.server.Store(p)
	return nil
}
