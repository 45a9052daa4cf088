package run_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/internal/run"
)

// A connection beyond the limit is served as soon as another one closes. All of them have closed when the server has stopped.
func TestLimitConnections(t *testing.T) {
	listener, err := run.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answered") })}
	limited := run.LimitConnections(listener, server, 2)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run.Serve(ctx, limited, server, zerolog.Nop()) }()
	dial := func() net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	idle := []net.Conn{dial(), dial()}
	eventstest.Eventually(t, "two connections", func() bool { return limited.Connections() == 2 })
	third := dial()
	if _, err := third.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := third.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := third.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("third connection: bytes = %d, error = %v, want no answer", n, err)
	}
	if err := errors.Join(idle[0].Close(), third.SetReadDeadline(time.Time{})); err != nil {
		t.Fatal(err)
	}
	if _, err := third.Read(make([]byte, 1)); err != nil {
		t.Errorf("after a connection has closed: error = %v, want an answer", err)
	}
	if err := idle[1].Close(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Serve: error = %v, want none", err)
	}
	eventstest.Eventually(t, "no connection", func() bool { return limited.Connections() == 0 })
}
