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
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// startTimeout bounds a start. Only recovery after a crash takes longer than a second.
const startTimeout = 2 * time.Minute

// freePort returns a port below the range that the kernel gives to outgoing connections, so that none of them takes it
// while the server restarts. Servers of tests that are no PostgreSQL have lower ports: see package eventstest. Until
// reserved is closed, the port is returned to no other process: it is a UDP socket with the same number.
func freePort(ctx context.Context) (port int, reserved io.Closer, err error) {
	for range 100 {
		port = 28_000 + rand.IntN(4_000)
		host := net.JoinHostPort(address, strconv.Itoa(port))
		var config net.ListenConfig
		if reserved, err = config.ListenPacket(ctx, "udp", host); err != nil {
			continue
		}

		// The server needs the port for TCP.
		var l net.Listener
		if l, err = config.Listen(ctx, "tcp", host); err == nil {
			return port, reserved, l.Close()
		}
		_ = reserved.Close()
	}

	return 0, nil, err
}

// startServer starts the server on the cluster's port and waits until it answers.
func (c *Cluster) startServer(ctx context.Context) error {
	log, err := c.folder.lockLog(ctx)
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own handle, and the lock with it

	// The server outlives ctx, which limits only its start.
	cmd := c.programs.command(context.Background(), "postgres", c.arguments()...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := startProcess(cmd, c.folder.log())
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}

	// The server answers when it has recovered from a crash, if there was one.
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	for {
		conn, err := pgx.Connect(ctx, c.URL("postgres")+"&connect_timeout=1")
		if err == nil {
			c.server = p
			return conn.Close(ctx)
		}

		select {
		case <-p.done:
			return p.stop() // says why
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("postgres: no answer: %w", errors.Join(ctx.Err(), err)), p.stop())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// arguments are the arguments of the program postgres.
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

	// The configured settings override these defaults, but not the settings below.
	maps.Copy(settings, c.config.Settings)
	maps.Copy(settings, map[string]string{
		"listen_addresses":        address,
		"logging_collector":       "off",
		"port":                    strconv.Itoa(c.port),
		"unix_socket_directories": "",
	})

	args := []string{"-D", c.folder.data()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// process is a server that was started.
type process struct {
	cmd   *exec.Cmd
	log   string
	asked bool          // to end, by this program
	done  chan struct{} // closed once the server has been waited for
}

// startProcess starts cmd in a separate process group, so that a terminal's Ctrl-C does not reach it.
//
// The goroutine keeps its thread until the child ends: Linux sends the parent-death signal when the parent *thread*
// ends, and the runtime may end a thread that it gets back.
func startProcess(cmd *exec.Cmd, log string) (*process, error) {
	detach(cmd)
	p := &process{cmd: cmd, log: log, done: make(chan struct{})}

	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the state says how it ended
			close(p.done)
		}
	}()

	return p, <-started
}

// stop requests PostgreSQL's fast shutdown, which writes a checkpoint: that can take long on a slow disk.
func (p *process) stop() error { return p.end(syscall.SIGINT, syscall.SIGQUIT) }

// kill requests the immediate shutdown, which ends like a crash as soon as PostgreSQL has ended its other processes:
// one that outlived it would keep the next server from starting.
func (p *process) kill() error { return p.end(syscall.SIGQUIT) }

// end sends the signals one after the other until the process has ended, and at last SIGKILL. It returns an error that
// ends with the log if the process had ended before it was asked to.
func (p *process) end(signals ...syscall.Signal) error {
	for _, s := range append(signals, syscall.SIGKILL) {
		// A signal can't be sent to a process that has ended by itself.
		if p.cmd.Process.Signal(s) == nil {
			p.asked = true
		}

		select {
		case <-p.done:
			if p.asked {
				return nil
			}
			text, _ := os.ReadFile(p.log)
			return fmt.Errorf("postgres ended: %s; the end of its log %s:\n%s", p.cmd.ProcessState, p.log, lastLines(text))
		case <-time.After(30 * time.Second):
		}
	}

	return fmt.Errorf("process %d does not end", p.cmd.Process.Pid)
}

// lastLines returns the lines of a program's output that usually say why it ended.
func lastLines(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}
