package process

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

// grace is how long requests may take to end once a listener is asked to stop; longer than any answer takes.
const grace = 10 * time.Second

// Listen opens an address to serve on.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: another program does already", address)
	case err != nil:
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}

// Serve answers requests on the listener until ctx ends. It then lets those under way end and closes the listener.
func Serve(ctx context.Context, listener net.Listener, server *http.Server, log zerolog.Logger) error {
	// What net/http has to say is about single connections: handshakes of scanners, clients gone.
	server.ErrorLog = stdlog.New(whisper{log}, "", 0)
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
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(patience)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests cut short: %w", err), server.Close())
	}
	<-ended
	return err
}

// whisper logs what a library says, for whoever debugs.
type whisper struct{ log zerolog.Logger }

func (w whisper) Write(line []byte) (int, error) {
	w.log.Debug().Msg(strings.TrimSpace(string(line)))
	return len(line), nil
}
