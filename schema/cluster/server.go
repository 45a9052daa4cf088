package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// address is the only address that the server listens on.
const address = "127.0.0.1"

// startTimeout bounds a start. Only recovery after a crash takes longer than a second.
const startTimeout = 2 * time.Minute

var errPortInUse = errors.New("port already in use")

// startOnFreePort starts the server on a free port. It tries again if another program takes the port first.
func (c *Cluster) startOnFreePort(ctx context.Context) error {
	var err error
	for range 5 {
		if c.port, c.reserved, err = freePort(ctx); err != nil {
			return fmt.Errorf("free port: %w", err)
		}
		var p *process
		if p, err = c.startServer(ctx); err == nil {
			c.server.Store(p)
			return nil
		}
		_ = c.reserved.Close()
		if !errors.Is(err, errPortInUse) {
			break
		}
	}
	return err
}

// freePort returns a port below the range that the kernel gives to outgoing connections, so that none of them takes it while the server
// restarts. Servers of tests that are no PostgreSQL have lower ports: see package eventstest. Until reserved is closed, the port is returned to
// no other process: it is a UDP socket with the same number.
func freePort(ctx context.Context) (port int, reserved io.Closer, err error) {
	const lowest, ports, attempts = 28_000, 4_000, 100
	for range attempts {
		port = lowest + rand.IntN(ports)
		host := net.JoinHostPort(address, strconv.Itoa(port))
		var config net.ListenConfig
		if reserved, err = config.ListenPacket(ctx, "udp", host); err != nil {
			continue
		}
		var l net.Listener
		if l, err = config.Listen(ctx, "tcp", host); err == nil {
			return port, reserved, l.Close()
		}
		_ = reserved.Close()
	}
	return 0, nil, err
}

// startServer starts the server on the cluster's port and waits until it answers.
func (c *Cluster) startServer(ctx context.Context) (*process, error) {
	log, err := os.OpenFile(c.dir.log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	defer log.Close() // the server has its own handle
	cmd := c.dir.command(c.programs, "postgres", c.arguments()...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := startProcess(cmd)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if err := c.waitReady(ctx, p); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// arguments are those of the postgres program.
func (c *Cluster) arguments() []string {
	settings := map[string]string{
		// Commits survive a crash of the server, but not of the machine.
		"fsync":            "off",
		"full_page_writes": "off",
		"log_timezone":     "UTC",
		"max_connections":  "100",
		"shared_buffers":   "64MB",
		"timezone":         "UTC",
	}
	maps.Copy(settings, c.config.Settings)
	maps.Copy(settings, map[string]string{
		"listen_addresses":        address,
		"logging_collector":       "off",
		"port":                    strconv.Itoa(c.port),
		"unix_socket_directories": "",
	})
	args := []string{"-D", c.dir.data()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// waitReady returns once the server answers, or with an error if it has ended or takes too long.
func (c *Cluster) waitReady(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no answer within %s", startTimeout))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := c.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return c.exitError(p)
		case <-ctx.Done():
			return fmt.Errorf("postgres: %w; last answer: %s", context.Cause(ctx), serverMessage(err))
		case <-tick.C:
		}
	}
}

// ping checks that this cluster's server answers on the port, and not another program. SCRAM proves that the server knows
// the password; the data directory tells apart clusters that were copied from one InitdbCache.
func (c *Cluster) ping(ctx context.Context) error {
	config, err := pgx.ParseConfig(c.URL("postgres"))
	if err != nil {
		return err
	}
	config.ConnectTimeout = time.Second // another program that has taken the port may never answer
	config.RequireAuth = "scram-sha-256"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	var data string
	err = conn.QueryRow(ctx, "show data_directory").Scan(&data)
	if err == nil && data != c.dir.data() {
		err = errors.New("another cluster answers on the port")
	}
	return errors.Join(err, conn.Close(ctx))
}

// serverMessage is the server's own message. The driver's text would show the port.
func serverMessage(err error) string {
	if refusal := (*pgconn.PgError)(nil); errors.As(err, &refusal) {
		return refusal.Message
	}
	return "none"
}

// exitError says why the server has ended.
func (c *Cluster) exitError(p *process) error {
	log := c.logTail()
	if strings.Contains(log, "could not create any TCP/IP sockets") {
		return fmt.Errorf("postgres: %w", errPortInUse)
	}
	status := "exit status 0"
	if p.err != nil {
		status = p.err.Error()
	}
	return fmt.Errorf("postgres ended: %s; the end of its log %s:\n%s", status, c.dir.log(), log)
}

// logTail is the end of the log.
func (c *Cluster) logTail() string {
	f, err := os.Open(c.dir.log())
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	// In a file that is shorter, Seek fails and moves nothing.
	_, _ = f.Seek(-8<<10, io.SeekEnd)
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return lastLines(string(text))
}

// lastLines returns the lines of a program's output that usually say why it ended, without the port.
func lastLines(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return regexp.MustCompile(`port \d+`).ReplaceAllString(strings.Join(lines[max(0, len(lines)-12):], "\n"), "port ...")
}
