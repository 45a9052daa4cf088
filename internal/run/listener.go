package run

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/net/netutil"
)

// shutdownTimeout is how long requests may run after the server is asked to stop. It is longer than any response takes,
// except to a client with a slow connection.
const shutdownTimeout = 30 * time.Second

// Listen opens a TCP address.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: address already in use", address)
	case err != nil:
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}

// Serve serves requests until ctx ends, waits for running requests, and closes the listener.
func Serve(ctx context.Context, listener net.Listener, server *http.Server, log zerolog.Logger) error {
	// net/http logs errors of single connections, such as the handshakes of port scanners.
	server.ErrorLog = stdlog.New(debugWriter{log}, "", 0)

	// Serve until ctx ends, or the listener fails.
	var failure error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failure = server.Serve(listener)
	}()
	select {
	case <-ended:
		return fmt.Errorf("serve: %w", failure)
	case <-ctx.Done():
	}

	// Running requests may finish.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests aborted: %w", err), server.Close())
	}

	// The goroutine has ended when this function returns.
	<-ended
	return err
}

// debugWriter logs lines at debug level.
type debugWriter struct{ log zerolog.Logger }

func (w debugWriter) Write(line []byte) (int, error) {
	w.log.Debug().Msg(strings.TrimSpace(string(line)))
	return len(line), nil
}

// writeBuffer is the size of a connection's write buffer in the kernel, in bytes. The kernel would let it grow to
// several megabytes for each connection. A client that reads slowly would not be noticed until it is full.
const writeBuffer = 256 << 10

// LimitConnections returns a listener for the server with a limit of connections at once, and how many there are now.
// Further ones wait in the kernel until others close. The server must not have a ConnState hook.
func LimitConnections(
	listener net.Listener, server *http.Server, connections int,
) (limited net.Listener, open *atomic.Int64) {
	open = new(atomic.Int64)

	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		case http.StateActive, http.StateIdle:
		}
	}

	return netutil.LimitListener(smallBuffers{listener}, connections), open
}

// smallBuffers is a listener of connections with small write buffers.
type smallBuffers struct{ net.Listener }

// Accept implements [net.Listener].
func (l smallBuffers) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // fails only if the connection is closed
	}
	return conn, err
}

// Drain returns an actor that keeps the actors below it running for a time after running has ended. In this time
// clients and load balancers notice that the program is not ready, while it still answers. A program that stops for
// another reason does not wait.
func Drain(running context.Context, wait time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		if running.Err() != nil {
			<-time.After(wait)
		}
		return nil
	}
}

// CloseConnections returns a handler that asks clients to close their connection after a response once running has
// ended, because the program stops. Connections that the server closed by itself could have a request on their way.
func CloseConnections(running context.Context, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if running.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}
