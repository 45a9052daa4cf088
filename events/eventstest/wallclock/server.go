// Package wallclock gives tests NATS servers whose wall clocks a test sets, alone and as a cluster. They run as processes. Their
// monotonic clocks go on undisturbed, so a clock that is set jumps as it does when a host's clock is corrected.
package wallclock

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"callboard/events/eventstest"
)

// Server is a NATS server with JetStream. It keeps its store, its port and how far its clock is ahead when it is killed, so a test can start it
// again. It is killed when the test ends. Its methods must be called from the test's own goroutine.
type Server struct {
	tb      testing.TB
	name    string // in a cluster
	program string
	address string
	args    []string
	ahead   time.Duration

	cmd     *exec.Cmd // nil while the server is down
	input   io.WriteCloser
	replies *bufio.Reader
}

// NewServer starts a server with a store in a temporary directory of the test. Its clock is right.
func NewServer(tb testing.TB) *Server {
	tb.Helper()
	s := newServer(tb, 0)
	s.Start()
	s.awaitConnections()
	return s
}

// newServer returns a server that is not started.
func newServer(tb testing.TB, ahead time.Duration, args ...string) *Server {
	tb.Helper()
	port := strconv.Itoa(eventstest.FreePort(tb))
	s := &Server{tb: tb, program: program(tb), address: net.JoinHostPort("127.0.0.1", port), ahead: ahead}
	s.args = append([]string{"-a", "127.0.0.1", "-p", port, "-js", "-sd", tb.TempDir()}, args...)
	tb.Cleanup(s.Kill)
	return s
}

// Start starts the server. It does nothing if the server runs.
func (s *Server) Start() {
	s.tb.Helper()
	if s.cmd != nil {
		return
	}
	// The cleanup kills the process, later than the end of the test's context.
	cmd := exec.CommandContext(context.WithoutCancel(s.tb.Context()), s.program, s.args...) //nolint:gosec // built by this package
	input, err := cmd.StdinPipe()
	if err != nil {
		s.tb.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		s.tb.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	s.cmd, s.input, s.replies = cmd, input, bufio.NewReader(output)
	s.SetClock(s.ahead)
}

// awaitConnections waits until the server accepts connections.
func (s *Server) awaitConnections() {
	s.tb.Helper()
	dialer := net.Dialer{Timeout: time.Second}
	eventstest.Eventually(s.tb, "the NATS server accepts connections", func() bool {
		conn, err := dialer.DialContext(s.tb.Context(), "tcp", s.address)
		return err == nil && conn.Close() == nil
	})
}

// SetClock sets by how much the wall clock is ahead of the machine's. It returns when the clock is set. A server that is down starts with it.
func (s *Server) SetClock(ahead time.Duration) {
	s.tb.Helper()
	s.ahead = ahead
	if s.cmd == nil {
		return
	}
	if _, err := fmt.Fprintln(s.input, ahead); err != nil {
		s.tb.Fatalf("NATS server: set the clock: %v", err)
	}
	if _, err := s.replies.ReadString('\n'); err != nil {
		s.tb.Fatalf("NATS server: set the clock: %v", err)
	}
}

// Kill kills the server. It does nothing if the server is down.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()         // the error is the signal
	s.cmd = nil
}

// Name returns the name of a server in a cluster, as NATS says it.
func (s *Server) Name() string { return s.name }

// URL returns the URL for clients. A restart does not change it.
func (s *Server) URL() string { return "nats://" + s.address }
