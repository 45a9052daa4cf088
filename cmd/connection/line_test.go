package connection

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// line is a way to a server on which bytes can be held up.
type line struct {
	testing.TB
	net.Listener
	server string
	mu     sync.Mutex // held: nothing gets through
	calls  atomic.Int32
	ends   []net.Conn
	all    sync.WaitGroup
}

func newLine(t *testing.T, url string) *line {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{TB: t, Listener: listener, server: strings.TrimPrefix(url, "nats://")}
	l.all.Go(l.accept)
	t.Cleanup(l.hangUp)
	return l
}

func (l *line) accept() {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(l.Context(), "tcp", l.server)
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

func (l *line) carry(to io.WriteCloser, from io.Reader) {
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

func (l *line) hangUp() {
	_ = l.Close()
	l.mu.Lock()
	for _, end := range l.ends {
		_ = end.Close()
	}
	l.mu.Unlock()
	l.all.Wait()
}

func (l *line) host() string { return l.Addr().String() }

// called waits until the server was called so many more times.
func (l *line) called(times int32) {
	l.Helper()
	before := l.calls.Load()
	eventually(l, func() bool { return l.calls.Load() >= before+times })
}
