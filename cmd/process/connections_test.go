package process_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/rs/zerolog"

	"callboard/cmd/process"
	"callboard/events/eventstest"
)

// A connection beyond the limit is served as soon as another one closes. All of them have closed when the server has stopped.
func TestLimitConnections(t *testing.T) {
	listener, err := process.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answered") })}
	limited := process.LimitConnections(listener, server, 2)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- process.Serve(ctx, limited, server, zerolog.Nop()) }()
	var idle []net.Conn
	for range 2 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		idle = append(idle, conn)
	}
	eventstest.Eventually(t, "two connections", func() bool { return limited.Connections() == 2 })
	answered := make(chan error, 1)
	go func() {
		response, err := ask(t, listener)
		if err == nil {
			err = response.Body.Close()
		}
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Errorf("a third connection was served: error = %v", err)
	default:
	}
	if err := idle[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("after a connection has closed: error = %v, want none", err)
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
