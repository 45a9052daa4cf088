package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
)

// broker is an embedded NATS server.
type broker struct {
	server *server.Server
}

// brokerTime is how long a start may take: a large store is read on the way.
const brokerTime = time.Minute

// newBroker starts a server that keeps its streams in dir.
func newBroker(address, dir string, log zerolog.Logger) (*broker, error) {
	host, port, err := brokerAddress(address)
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "callboard-dev", Host: host, Port: port, JetStream: true, StoreDir: dir, NoSigs: true,
	})
	if err != nil {
		return nil, fmt.Errorf("NATS: %w", err)
	}
	s.SetLoggerV2(brokerLog{log.With().Str("program", "nats").Logger()}, false, false, false)
	go s.Start() // ends with the start, or with Shutdown
	b := &broker{s}
	if !s.ReadyForConnections(brokerTime) {
		b.stop()
		return nil, errors.New("NATS does not start; the log in the data folder says why")
	}
	return b, nil
}

// brokerAddress is the address in parts. The server has no error for a port that is taken, so it is tried before.
func brokerAddress(address string) (host string, port int, err error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return "", 0, fmt.Errorf("NATS: %w; --nats-listen 127.0.0.1:0 picks a free port", err)
	}
	if err := listener.Close(); err != nil {
		return "", 0, fmt.Errorf("NATS: %w", err)
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("NATS: %w", err)
	}
	if port, err = strconv.Atoi(text); err != nil {
		return "", 0, fmt.Errorf("NATS: %w", err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

func (b *broker) url() string { return b.server.ClientURL() }

// hold keeps the server until ctx ends.
func (b *broker) hold(ctx context.Context) error {
	<-ctx.Done()
	b.stop()
	return nil
}

func (b *broker) stop() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// brokerLog hands the server's log on.
type brokerLog struct{ log zerolog.Logger }

func (l brokerLog) Noticef(format string, v ...any) { l.log.Info().Msgf(format, v...) }
func (l brokerLog) Warnf(format string, v ...any) {
	l.log.Info().Str("severity", "warning").Msgf(format, v...)
}
func (l brokerLog) Errorf(format string, v ...any) { l.log.Error().Msgf(format, v...) }
func (l brokerLog) Fatalf(format string, v ...any) { l.log.Error().Msgf(format, v...) }
func (l brokerLog) Debugf(format string, v ...any) { l.log.Debug().Msgf(format, v...) }
func (l brokerLog) Tracef(format string, v ...any) { l.log.Trace().Msgf(format, v...) }
