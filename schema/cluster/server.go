package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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

// address is the only one that the server listens on.
const address = "127.0.0.1"

// startWait bounds a start. Only the recovery after a crash takes longer than a second.
const startWait = 2 * time.Minute

var errPortTaken = errors.New("the port is taken")

// launchAnywhere starts the server on a free port. Another program can take the
// port before the server does.
func (c *Cluster) launchAnywhere(ctx context.Context) error {
	var err error
	for range 5 {
		if c.port, err = freePort(ctx); err != nil {
			return fmt.Errorf("free port: %w", err)
		}
		var p *process
		if p, err = c.launch(ctx, c.port); err == nil {
			c.server.Store(p)
			return nil
		}
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	return err
}

func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// launch starts the server on the port and waits until it answers.
func (c *Cluster) launch(ctx context.Context, port int) (*process, error) {
	log, err := os.OpenFile(c.home.log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	defer log.Close() // the server has its own handle
	cmd := c.home.command(c.install, "postgres", c.arguments(port)...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := startProcess(cmd)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if err := c.await(ctx, p); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// arguments are those of the postgres program. Of settings named twice the last holds.
func (c *Cluster) arguments(port int) []string {
	settings := map[string]string{
		"log_timezone":    "UTC",
		"max_connections": "100",
		"shared_buffers":  "64MB",
		"timezone":        "UTC",
	}
	if !c.config.Durable {
		maps.Copy(settings, map[string]string{"fsync": "off", "full_page_writes": "off"})
	}
	maps.Copy(settings, c.config.Settings)
	maps.Copy(settings, map[string]string{
		"listen_addresses":        address,
		"logging_collector":       "off",
		"port":                    strconv.Itoa(port),
		"unix_socket_directories": "",
	})
	args := []string{"-D", c.home.data()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// await returns once the server answers, or has ended, or has had its time.
func (c *Cluster) await(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startWait, errors.New("start takes too long"))
	defer cancel()
	// Who has taken the port may leave a ping waiting, which then ends with the server.
	running, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-p.done:
			end()
		case <-running.Done():
		}
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := c.ping(running)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return c.postMortem(p)
		case <-ctx.Done():
			return fmt.Errorf("postgres: %w, its last answer was: %s", context.Cause(ctx), answer(err))
		case <-tick.C:
		}
	}
}

// ping proves both ways: SCRAM, which it insists on, shows that who answers on
// the port knows the password too, hence is this cluster and no other program.
func (c *Cluster) ping(ctx context.Context) error {
	config, err := pgx.ParseConfig(c.URL("postgres"))
	if err != nil {
		return err
	}
	config.ConnectTimeout = 5 * time.Second
	config.RequireAuth = "scram-sha-256"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// answer is what the server said; the driver's own words would show the port.
func answer(err error) string {
	if refusal := (*pgconn.PgError)(nil); errors.As(err, &refusal) {
		return refusal.Message
	}
	return "none"
}

// postMortem is the error that tells why the server has ended.
func (c *Cluster) postMortem(p *process) error {
	said := c.lastWords()
	if strings.Contains(said, "could not create any TCP/IP sockets") {
		return fmt.Errorf("postgres: %w", errPortTaken)
	}
	how := "with success"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("postgres ended: %s; its log %s ends with\n%s", how, c.home.log(), said)
}

// lastWords is the end of the log, without the port.
func (c *Cluster) lastWords() string {
	f, err := os.Open(c.home.log())
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	// The end of a file shorter than that is the whole file, where Seek has refused and moved nothing.
	_, _ = f.Seek(-8<<10, io.SeekEnd)
	said, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return regexp.MustCompile(`port \d+`).ReplaceAllString(lastLines(string(said)), "port ...")
}

// lastLines is enough of a program's output to see what ended it.
func lastLines(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}
