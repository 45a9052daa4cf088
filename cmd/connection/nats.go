// Package connection connects callboard's programs to NATS and to PostgreSQL, with what each must insist on: a connection to
// NATS never gives up reconnecting, one to the primary is never left on a server that was demoted, and neither shows a secret.
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

// NATSConfig says which NATS, and who is calling.
type NATSConfig struct {
	URL   setting.URL
	Creds string // a file; empty for none
	Name  string // of the connection, for those who look at the server

	// RetryConnect keeps trying while no server answers the first attempt, for programs that start together with NATS. Without it
	// that is an error.
	RetryConnect bool

	Log zerolog.Logger

	silence time.Duration // zero: maxSilence
}

// Servers are fast to answer, or not there.
const (
	dialTime      = 5 * time.Second
	reconnectWait = 500 * time.Millisecond

	// maxSilence is how long a server may say nothing before it is asked for a sign of life, and how long it may take no bytes.
	// A host that vanished closes no connection, so nothing else tells that it is gone.
	maxSilence = 5 * time.Second
	maxPings   = 2 // without an answer
)

// NewNATS connects.
func NewNATS(c NATSConfig) (*NATS, error) {
	n := &NATS{closed: make(chan struct{})}
	options := slices.Concat(c.watch(), c.persist(), []nats.Option{
		nats.Name(c.Name), nats.Timeout(dialTime), nats.ClosedHandler(func(*nats.Conn) { close(n.closed) }),
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

// persist notices a server that is gone and looks for one for ever. Credentials that are refused may be right again later: they
// are changed in two places, one after the other.
func (c NATSConfig) persist() []nats.Option {
	silence := cmp.Or(c.silence, maxSilence)
	return []nats.Option{
		nats.RetryOnFailedConnect(c.RetryConnect), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(silence), nats.MaxPingsOutstanding(maxPings), nats.FlusherTimeout(silence),
	}
}

// watch logs what becomes of the connection, and names servers by their address: a token stands in a URL where its user does.
func (c NATSConfig) watch() []nats.Option {
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
			c.Log.Warn().Err(err).Msg("nats")
		}),
	}
}

// Err is why the connection can't be used now.
func (n *NATS) Err() error {
	if status := n.conn.Status(); status != nats.CONNECTED {
		return fmt.Errorf("NATS: %s", status)
	}
	return nil
}

// Close sends what is left to be sent, closes the connection and returns once its goroutines have ended.
func (n *NATS) Close() {
	n.conn.Close()
	<-n.closed
}

// Hold is the connection as an actor: it is closed when ctx ends.
func (n *NATS) Hold(ctx context.Context) error {
	<-ctx.Done()
	n.Close()
	return nil
}
