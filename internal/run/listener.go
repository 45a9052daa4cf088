package run

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
)

// shutdownTimeout is how long requests may run after the server is asked to stop. It is longer than any response takes, except to a
// client with a slow connection.
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests aborted: %w", err), server.Close())
	}
	<-ended
	return err
}

// debugWriter logs lines at debug level.
type debugWriter struct{ log zerolog.Logger }

func (w debugWriter) Write(line []byte) (int, error) {
	w.log.Debug().Msg(strings.TrimSpace(string(line)))
	return len(line), nil
}
