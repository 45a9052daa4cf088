//go:build !operator

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"callboard/internal/run"
)

// embeddedNATS is an embedded NATS server.
type embeddedNATS struct {
	server *server.Server
}

// natsStartTimeout is long because the server reads its store when it starts.
const natsStartTimeout = time.Minute

// startNATSServer starts a server that stores its streams in dir, and writes its log to a file.
func startNATSServer(address, dir, logFile string) (*embeddedNATS, error) {
	host, port, err := splitNATSAddress(address)
	if err != nil {
		return nil, err
	}

	s, err := server.NewServer(&server.Options{
		ServerName: "callboard-dev", Host: host, Port: port, JetStream: true, StoreDir: dir, NoSigs: true, LogFile: logFile,
	})
	if err != nil {
		return nil, fmt.Errorf("NATS: %w", err)
	}

	// Start, and wait until clients can connect.
	s.ConfigureLogger()
	go s.Start() // returns after the start, or after Shutdown
	n := &embeddedNATS{s}
	if !s.ReadyForConnections(natsStartTimeout) {
		n.stop()
		return nil, errors.New("the NATS server did not start: read nats.log in the data directory")
	}
	return n, nil
}

// splitNATSAddress splits an address. It opens the address first, because the server reports no error for a port in
// use.
func splitNATSAddress(address string) (host string, port int, err error) {
	listener, err := run.Listen(context.Background(), address)
	if err != nil {
		return "", 0, fmt.Errorf("NATS: %w\nUse --nats-listen 127.0.0.1:0 to select a free port", err)
	}
	if err := listener.Close(); err != nil {
		return "", 0, fmt.Errorf("NATS: %w", err)
	}
	host, _, err = net.SplitHostPort(address)
	return host, int(netip.MustParseAddrPort(listener.Addr().String()).Port()), err
}

func (n *embeddedNATS) url() string { return n.server.ClientURL() }

// run stops the server when ctx ends.
func (n *embeddedNATS) run(ctx context.Context) error {
	<-ctx.Done()
	n.stop()
	return nil
}

func (n *embeddedNATS) stop() {
	n.server.Shutdown()
	n.server.WaitForShutdown()
}
