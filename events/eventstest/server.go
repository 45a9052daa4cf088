// Package eventstest gives tests a NATS server with JetStream and the streams of production. It also has what tests
// of several packages share: a proxy that can pause, polling, log buffers and child processes. Its own tests check
// the imports and documents of the whole tree.
package eventstest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"callboard/events"
)

// requestTimeout is how long a server may take to answer on a busy machine; the library allows 2 s. While servers
// of a cluster start, requests are lost: [Eventually] must be able to repeat them.
const requestTimeout = 30 * time.Second

// Server is a NATS server with JetStream. It keeps its store and its port when it is stopped, so a test can start
// it again. It stops when the test ends. Its methods must be called from the test's own goroutine.
type Server struct {
	tb      testing.TB
	options server.Options
	running *server.Server
}

// Option changes a setting of a server before its first start.
type Option func(*server.Options)

// MaxPayload sets the size in bytes, headers included, of the largest message that the server accepts.
func MaxPayload(bytes int32) Option {
	return func(o *server.Options) { o.MaxPayload = bytes }
}

// MaxControlLine sets the length in bytes of the longest line of the protocol that the server accepts, a subject
// included. It closes the connection of a client that sends a longer one.
func MaxControlLine(bytes int32) Option {
	return func(o *server.Options) { o.MaxControlLine = bytes }
}

// NewServer starts a server with a store in a temporary directory of the test.
func NewServer(tb testing.TB, options ...Option) *Server {
	tb.Helper()
	s := &Server{tb: tb, options: server.Options{
		Host:      "127.0.0.1",
		Port:      FreePort(tb),
		JetStream: true,
		StoreDir:  tb.TempDir(),
		NoSigs:    true,
		NoLog:     true,

		AuthTimeout: requestTimeout.Seconds(),
	}}
	for _, option := range options {
		option(&s.options)
	}
	s.Start()
	tb.Cleanup(s.Stop)
	return s
}

// Start starts a stopped server with its former store and port. It does nothing if the server runs.
func (s *Server) Start() {
	s.tb.Helper()
	if s.running != nil {
		return
	}
	Eventually(s.tb, "the NATS server listens", s.startOnce)
	if !s.running.ReadyForConnections(timeout) {
		s.tb.Fatalf("nats server: not ready after %s", timeout)
	}
}

// startOnce starts the server, and stops it again if it can't listen. A process that another goroutine starts has a
// copy of the former listener, which keeps the port, until it runs its own program.
func (s *Server) startOnce() (listens bool) {
	s.tb.Helper()
	options := s.options
	running, err := server.NewServer(&options)
	if err != nil {
		s.tb.Fatalf("nats server: %v", err)
	}

	running.Start()
	if running.Addr() == nil {
		running.Shutdown()
		running.WaitForShutdown()
		return false
	}

	s.running = running
	return true
}

// Stop stops the server. Clients see what they see in a crash: closed connections and no answer. It does nothing if
// the server is stopped.
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

// Reload changes settings of the running server, as the signal for a reload does. The server disconnects clients
// that the new settings do not accept.
func (s *Server) Reload(change Option) {
	s.tb.Helper()
	change(&s.options)
	options := s.options
	if err := s.running.ReloadOptions(&options); err != nil {
		s.tb.Fatalf("nats server: reload: %v", err)
	}
}

// Backup restarts the server and copies its store. restore restarts the server with the copy: what was stored in
// between is lost.
func (s *Server) Backup() (restore func()) {
	s.tb.Helper()
	backup := filepath.Join(s.tb.TempDir(), "store")
	s.copyStore(backup, s.options.StoreDir)
	return func() {
		s.tb.Helper()
		s.copyStore(s.options.StoreDir, backup)
	}
}

// copyStore replaces a folder with a copy of another while the server is stopped.
func (s *Server) copyStore(to, from string) {
	s.tb.Helper()
	s.Stop()
	if err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(from))); err != nil {
		s.tb.Fatal(err)
	}
	s.Start()
}

// URL returns the URL for clients. A restart does not change it.
func (s *Server) URL() string {
	return "nats://" + (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: s.options.Port}).String()
}

// Connect connects to a server. The connection reconnects without limit and is closed when the test ends.
func Connect(tb testing.TB, url string, options ...nats.Option) *nats.Conn {
	tb.Helper()
	options = append([]nats.Option{nats.Timeout(requestTimeout), nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond)}, options...)
	nc, err := nats.Connect(url, options...)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() { disconnect(tb, nc) })
	return nc
}

// disconnect waits until the connection is closed, so that a leak check after the test does not find its goroutines.
func disconnect(tb testing.TB, nc *nats.Conn) {
	tb.Helper()
	if nc.IsClosed() {
		return
	}

	// The channel must exist before the connection closes: it reports later changes only.
	closed := nc.StatusChanged(nats.CLOSED)
	nc.Close()
	select {
	case <-closed:
	case <-time.After(requestTimeout):
		tb.Errorf("connection: not closed after %s", requestTimeout)
	}
}

// JetStream connects to a server and returns its JetStream. The connection is closed when the test ends.
func JetStream(tb testing.TB, url string) jetstream.JetStream {
	tb.Helper()
	js, err := jetstream.New(Connect(tb, url), jetstream.WithDefaultTimeout(requestTimeout))
	if err != nil {
		tb.Fatalf("jetstream: %v", err)
	}
	return js
}

// CreateStream creates the streams of events, of key revocations and expiries and of audit entries, and the bucket
// of transcripts, with the settings of production.
func CreateStream(tb testing.TB, js jetstream.JetStream, partitions int) jetstream.Stream {
	tb.Helper()
	ctx := context.Background() // each request has the client's limit
	stream, err := js.CreateStream(ctx, events.StreamConfig(events.StreamName, partitions, 1))
	if err == nil {
		_, err = js.CreateObjectStore(ctx, events.BucketConfig(1))
	}

	for _, config := range []jetstream.StreamConfig{events.KeyStreamConfig(1), events.AuditStreamConfig(1)} {
		if err == nil {
			_, err = js.CreateStream(ctx, config)
		}
	}
	if err != nil {
		tb.Fatalf("streams: %v", err)
	}

	return stream
}

// IgnoreObjectStoreWatcher exempts one goroutine of nats.go from a leak check. Storing an object starts a watcher
// of the connection and stops it again. A watcher that was not scheduled in between misses the stop and never ends.
func IgnoreObjectStoreWatcher() goleak.Option {
	return goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect")
}

// IgnoreSourceRemoval exempts one goroutine of nats-server from a leak check. A stream that copies another one and
// is deleted has its consumer removed there. The goroutine waits ten seconds for the answer, which does not come if
// the server ends meanwhile.
func IgnoreSourceRemoval() goleak.Option {
	return goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.(*stream).tryDeleteSourcingConsumer.func1")
}
