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

// Proxy is a TCP proxy in front of a server that can stop forwarding while its connections stay open, or lose what
// the server sends. It is closed when the test ends.
type Proxy struct {
	ctx         context.Context //nolint:containedctx // the test's
	listener    net.Listener
	connections atomic.Int32
	goroutines  sync.WaitGroup

	losingReplies atomic.Bool // whether what the server sends is lost

	// A write can wait for another connection's, so forwarders exclude only Pause.
	forwarding sync.RWMutex

	mu     sync.Mutex // guards what follows
	server string
	open   []net.Conn
	closed bool
}

// NewProxy starts a proxy in front of the server at a URL.
func NewProxy(tb testing.TB, url string) *Proxy {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{ctx: tb.Context(), listener: listener, server: address(url)}
	p.goroutines.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// Addr is the host and port on which the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Connections is the number of connections that were made to the server so far.
func (p *Proxy) Connections() int32 { return p.connections.Load() }

// Pause forwards no byte in either direction until resume is called.
func (p *Proxy) Pause() (resume func()) {
	p.forwarding.Lock()
	return sync.OnceFunc(p.forwarding.Unlock)
}

// LoseReplies loses what the server sends until restore is called, which breaks the connections.
func (p *Proxy) LoseReplies() (restore func()) {
	p.losingReplies.Store(true)
	return sync.OnceFunc(func() {
		p.closeConnections()
		p.losingReplies.Store(false)
	})
}

// MoveTo closes all connections. Later ones are made to the server at another URL.
func (p *Proxy) MoveTo(url string) {
	p.mu.Lock()
	p.server = address(url)
	p.mu.Unlock()
	p.closeConnections()
}

func address(url string) string { return strings.TrimPrefix(url, "nats://") }

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}

		// MoveTo can change the server between two connections.
		p.mu.Lock()
		to := p.server
		p.mu.Unlock()
		server, err := new(net.Dialer).DialContext(p.ctx, "tcp", to)
		if err != nil {
			_ = client.Close()
			continue
		}

		if !p.keep(client, server) {
			return
		}

		p.connections.Add(1)
		p.goroutines.Go(func() { p.forward(server, client, false) })
		p.goroutines.Go(func() { p.forward(client, server, true) })
	}
}

// keep has both ends of a connection closed with the others, or closes them if the proxy is closed.
func (p *Proxy) keep(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_, _ = client.Close(), server.Close()
		return false
	}
	p.open = append(p.open, client, server)
	return true
}

// forward forwards what one side sends, until it ends.
func (p *Proxy) forward(to io.WriteCloser, from io.Reader, replies bool) {
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 1<<10)

	for {
		n, err := from.Read(buffer)

		// No byte is written while Pause holds the lock.
		p.forwarding.RLock()
		if err == nil && (!replies || !p.losingReplies.Load()) {
			_, err = to.Write(buffer[:n])
		}
		p.forwarding.RUnlock()
		if err != nil {
			return
		}
	}
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.closeConnections()
	p.goroutines.Wait()
}

func (p *Proxy) closeConnections() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.open {
		_ = conn.Close()
	}
	p.open = nil
}
