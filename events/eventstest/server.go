// Package eventstest gives tests a real NATS server with JetStream, one per test, and the streams that callboard reads.
package eventstest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// patience is how long a server may take to start or a condition to come true, on a machine busy with other tests.
const patience = 30 * time.Second

// Server is a NATS server with JetStream. Its store and its port outlive [Server.Stop], so a test can take it away and bring it
// back. It is stopped when the test ends. Its methods must be called from the test's own goroutine.
type Server struct {
	tb      testing.TB
	options server.Options
	running *server.Server
}

// Option changes a server's settings before its first start.
type Option func(*server.Options)

// MaxPayload sets the largest message, headers included, that the server accepts.
func MaxPayload(bytes int32) Option {
	return func(o *server.Options) { o.MaxPayload = bytes }
}

// NewServer starts a server with a store in a directory of the test's own.
func NewServer(tb testing.TB, options ...Option) *Server {
	tb.Helper()
	s := &Server{tb: tb, options: server.Options{
		Host:      "127.0.0.1",
		Port:      server.RANDOM_PORT,
		JetStream: true,
		StoreDir:  tb.TempDir(),
		NoSigs:    true,
		NoLog:     true,
	}}
	for _, option := range options {
		option(&s.options)
	}
	s.Start()
	tb.Cleanup(s.Stop)
	return s
}

// Start starts a stopped server, with the store and on the port that it had. A running server is left alone.
func (s *Server) Start() {
	s.tb.Helper()
	if s.running != nil {
		return
	}
	options := s.options
	running, err := server.NewServer(&options)
	if err != nil {
		s.tb.Fatalf("nats server: %v", err)
	}
	go running.Start()
	if !running.ReadyForConnections(patience) {
		s.tb.Fatalf("nats server: not ready after %s", patience)
	}
	s.running = running
	s.options.Port = running.Addr().(*net.TCPAddr).Port
}

// Stop stops the server, as a crash would for its clients: connections break and nobody answers. Stopping twice is harmless.
func (s *Server) Stop() {
	if s.running == nil {
		return
	}
	s.running.Shutdown()
	s.running.WaitForShutdown()
	s.running = nil
}

// Restart stops and starts the server.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	s.Start()
}

// Backup keeps the store as it is. restore starts the server with it, which has lost what came since.
func (s *Server) Backup() (restore func()) {
	s.tb.Helper()
	kept := filepath.Join(s.tb.TempDir(), "store")
	s.exchange(kept, s.options.StoreDir)
	return func() {
		s.tb.Helper()
		s.exchange(s.options.StoreDir, kept)
	}
}

// exchange makes one folder what another one is, while the server is away.
func (s *Server) exchange(folder, by string) {
	s.tb.Helper()
	s.Stop()
	if err := errors.Join(os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(by))); err != nil {
		s.tb.Fatal(err)
	}
	s.Start()
}

// URL is where clients connect, the same before and after a restart.
func (s *Server) URL() string {
	return "nats://" + (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: s.options.Port}).String()
}

// Connect connects to a server; the connection never gives up reconnecting and is closed when the test ends.
func Connect(tb testing.TB, url string, options ...nats.Option) *nats.Conn {
	tb.Helper()
	options = append([]nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond)}, options...)
	nc, err := nats.Connect(url, options...)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() { disconnect(tb, nc) })
	return nc
}

// disconnect waits until the connection is closed, so that a leak check after the test finds nothing of it.
func disconnect(tb testing.TB, nc *nats.Conn) {
	tb.Helper()
	if nc.IsClosed() {
		return
	}
	closed := nc.StatusChanged(nats.CLOSED)
	nc.Close()
	select {
	case <-closed:
	case <-time.After(patience):
		tb.Errorf("connection: not closed after %s", patience)
	}
}
