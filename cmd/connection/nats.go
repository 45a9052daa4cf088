// Package connection connects callboard's programs to NATS and PostgreSQL. A connection to NATS reconnects without a limit. A pool of
// the primary drops its connections when the server was demoted. Neither logs a secret.
package connection

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"callboard/cmd/setting"
)

// NATS is a connection to NATS and its JetStream. Close it.
type NATS struct {
	JetStream jetstream.JetStream
	conn      *nats.Conn
	closed    chan struct{}
}

// NATSConfig configures a connection to NATS.
type NATSConfig struct {
	URL   setting.URL
	Creds string // a credentials file; empty: none
	Name  string // of the connection, as the server shows it

	// RetryConnect keeps trying while no server answers the first attempt, for programs that start together with NATS. Without it
	// that is an error.
	RetryConnect bool

	Log zerolog.Logger

	maxSilence time.Duration // zero: defaultMaxSilence
}

const (
	dialTimeout   = 5 * time.Second
	reconnectWait = 500 * time.Millisecond

	// defaultMaxSilence is how long a server may send nothing before it gets a ping, and how long a write may block. A host that has
	// disappeared closes no connection, so only this detects it.
	defaultMaxSilence = 5 * time.Second
	maxPings          = 2 // without a pong
)

// NewNATS connects to NATS.
func NewNATS(c NATSConfig) (*NATS, error) {
	n := &NATS{closed: make(chan struct{})}
	options := slices.Concat(c.logHandlers(), c.reconnectOptions(), []nats.Option{
		nats.Name(c.Name), nats.Timeout(dialTimeout), nats.ClosedHandler(func(*nats.Conn) { close(n.closed) }),
	})
	if c.Creds != "" {
		options = append(options, nats.UserCredentials(c.Creds))
	}
	var err error
	if n.conn, err = nats.Connect(c.URL.Reveal(), options...); err != nil {
		return nil, fmt.Errorf("NATS at %s: %w", c.URL, err)
	}
	if n.JetStream, err = jetstream.New(n.conn); err != nil {
		n.Close()
		return nil, fmt.Errorf("JetStream: %w", err)
	}
	return n, nil
}

// reconnectOptions detect a server that has disappeared and reconnect without a limit, also after refused credentials: while
// credentials are replaced, server and client can disagree for a time.
func (c NATSConfig) reconnectOptions() []nats.Option {
	silence := cmp.Or(c.maxSilence, defaultMaxSilence)
	return []nats.Option{
		nats.RetryOnFailedConnect(c.RetryConnect), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(silence), nats.MaxPingsOutstanding(maxPings), nats.FlusherTimeout(silence),
	}
}

// logHandlers log the changes of the connection. They log the server's address, because its URL can contain a token.
func (c NATSConfig) logHandlers() []nats.Option {
	return []nats.Option{
		nats.ConnectHandler(func(conn *nats.Conn) {
			c.Log.Info().Str("server", conn.ConnectedAddr()).Msg("connected to nats")
		}),
		nats.ReconnectHandler(func(conn *nats.Conn) {
			c.Log.Info().Str("server", conn.ConnectedAddr()).Msg("reconnected to nats")
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil: closed by this program
				c.Log.Warn().Err(err).Msg("disconnected from nats")
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.Log.Warn().Err(err).Msg("nats error")
		}),
	}
}

// Err returns an error while the connection is not connected.
func (n *NATS) Err() error {
	if status := n.conn.Status(); status != nats.CONNECTED {
		return fmt.Errorf("NATS: %s", status)
	}
	return nil
}

// Close flushes and closes the connection, and returns when its goroutines have ended.
func (n *NATS) Close() {
	n.conn.Close()
	<-n.closed
}

// Run is the connection as an actor: it closes the connection when ctx ends.
func (n *NATS) Run(ctx context.Context) error {
	<-ctx.Done()
	n.Close()
	return nil
}
