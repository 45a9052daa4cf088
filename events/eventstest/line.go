package eventstest

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Line is a way to a server on which bytes can be held up. It is cut when the test ends.
type Line struct {
	ctx      context.Context //nolint:containedctx // the test's
	listener net.Listener
	server   string
	calls    atomic.Int32
	all      sync.WaitGroup

	mu   sync.Mutex // held: nothing gets through
	ends []net.Conn
}

// NewLine is a line to the server at a URL.
func NewLine(tb testing.TB, url string) *Line {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	l := &Line{ctx: tb.Context(), listener: listener, server: strings.TrimPrefix(url, "nats://")}
	l.all.Go(l.accept)
	tb.Cleanup(l.hangUp)
	return l
}

// Host is where the line begins.
func (l *Line) Host() string { return l.listener.Addr().String() }

// Calls is how often the server was called.
func (l *Line) Calls() int32 { return l.calls.Load() }

// Hold lets nothing through until release is called.
func (l *Line) Hold() (release func()) {
	l.mu.Lock()
	return sync.OnceFunc(l.mu.Unlock)
}

func (l *Line) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(l.ctx, "tcp", l.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		l.mu.Lock()
		l.ends = append(l.ends, client, server)
		l.mu.Unlock()
		l.calls.Add(1)
		l.all.Go(func() { l.carry(server, client) })
		l.all.Go(func() { l.carry(client, server) })
	}
}

func (l *Line) carry(to io.WriteCloser, from io.Reader) {
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 1<<10)
	for {
		n, err := from.Read(buffer)
		l.mu.Lock()
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (l *Line) hangUp() {
	_ = l.listener.Close()
	l.mu.Lock()
	for _, end := range l.ends {
		_ = end.Close()
	}
	l.mu.Unlock()
	l.all.Wait()
}
