package run

import (
	"net"
	"net/http"
	"sync"
)

// writeBuffer is the size of a connection's write buffer in the kernel, in bytes. The kernel would let it grow to several megabytes for each
// connection. A client that reads slowly would not be noticed until it is full.
const writeBuffer = 256 << 10

// ConnectionLimit is a listener with a limit of connections at once. Further ones wait in the kernel until others close.
type ConnectionLimit struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	close  func() error
}

// LimitConnections returns a listener for the server, which must not have a ConnState hook.
func LimitConnections(listener net.Listener, server *http.Server, connections int) *ConnectionLimit {
	l := &ConnectionLimit{Listener: listener, places: make(chan struct{}, connections), closed: make(chan struct{})}
	l.close = sync.OnceValue(func() error {
		close(l.closed)
		return listener.Close()
	})
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			<-l.places
		}
	}
	return l
}

// Connections returns how many connections there are.
func (l *ConnectionLimit) Connections() int { return len(l.places) }

// Accept implements [net.Listener].
func (l *ConnectionLimit) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // fails only if the connection is closed
	}
	return conn, nil
}

// Close implements [net.Listener].
func (l *ConnectionLimit) Close() error { return l.close() }
