// Package connection connects callboard's programs to NATS and PostgreSQL. A connection to NATS reconnects without a
// limit, unless the server refuses what was sent: then the connection is closed, and the program ends. A pool of the
// primary drops its connections when the server was demoted. Neither logs a secret.
package connection

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"callboard/internal/run/setting"
)

// NATS is a connection to NATS and its JetStream. Close it.
type NATS struct {
	JetStream jetstream.JetStream
	conn      *nats.Conn
	closed    chan struct{}
}

// NATSConfig configures a connection to NATS.
type NATSConfig struct {
	// NATS has the servers in its URL, and files, which are read again at every attempt to connect. If the URL is from a
	// file, user, password and token are read again, too; those of its first server are used for all.
	setting.NATS

	Name string // of the connection, as the server shows it

	// RetryConnect keeps trying while no server answers the first attempt, for programs that start together with NATS.
	// Without it that is an error.
	RetryConnect bool

	// Interactive is for requests whose senders do not wait for a new connection. Publishing fails while the connection
	// is lost, and a silent server is noticed sooner.
	Interactive bool

	Log zerolog.Logger

	maxSilence time.Duration // zero: defaultMaxSilence
}

const (
	dialTimeout   = 5 * time.Second
	reconnectWait = 500 * time.Millisecond

	// defaultMaxSilence is how long a server may send nothing before it gets a ping, and how long a write may block. A
	// host that has disappeared closes no connection, so only this detects it.
	defaultMaxSilence = 5 * time.Second
	maxPings          = 2 // without a pong

	interactiveMaxSilence = 2 * time.Second
)

// NewNATS connects to NATS.
func NewNATS(c NATSConfig) (*NATS, error) {
	n := &NATS{closed: make(chan struct{})}
	if c.inClear() {
		c.Log.Warn().Stringer("server", c.URL).
			Msg("nats connection does not require TLS: set CALLBOARD_NATS_CA, or write tls:// in its URL")
	}

	servers, credentials := c.credentials()
	options := slices.Concat(c.logHandlers(), c.reconnectOptions(), credentials, c.tlsOptions(), []nats.Option{
		nats.Name(c.Name), nats.CustomInboxPrefix(cmp.Or(c.Inbox, "_INBOX")),
		nats.Timeout(dialTimeout), nats.SetCustomDialer(&natsDialer{net.Dialer{Timeout: dialTimeout}}),
		nats.ClosedHandler(func(*nats.Conn) { close(n.closed) }),
	})

	// Connect. The error names the servers without passwords.
	var err error
	if n.conn, err = nats.Connect(servers, options...); err != nil {
		return nil, fmt.Errorf("NATS at %s: %w", c.URL, err)
	}
	if n.JetStream, err = jetstream.New(n.conn); err != nil {
		n.Close()
		return nil, fmt.Errorf("JetStream: %w", err)
	}
	return n, nil
}

// credentials returns the servers' URLs and the options for what the URLs do not contain. nats.go calls the options'
// functions, and opens the credentials file, at every attempt to connect.
func (c NATSConfig) credentials() (servers string, options []nats.Option) {
	if c.Creds != "" {
		options = append(options, nats.UserCredentials(c.Creds))
	}
	if !c.URL.FromFile() {
		return c.URL.Reveal(), options
	}

	// The file is read again at every attempt, so that a password can be replaced.
	servers, _ = splitUser(c.URL.Reveal())
	return servers, append(options,
		nats.UserInfoHandler(func() (user, password string) {
			u := c.currentUser()
			if password, ok := u.Password(); ok {
				return u.Username(), password
			}
			return "", ""
		}),

		// A URL without a password has a token in place of the user.
		nats.TokenHandler(func() string {
			u := c.currentUser()
			if _, ok := u.Password(); ok {
				return ""
			}
			return u.Username()
		}))
}

// currentUser returns the user in the URL's file, nil if there is none.
func (c NATSConfig) currentUser() *url.Userinfo {
	current, err := c.URL.Reload()
	if err != nil {
		c.Log.Warn().Err(err).Msg("file of the nats url not read")
		current = c.URL
	}
	_, user := splitUser(current.Reveal())
	return user
}

// splitUser returns the URLs without users, and the first user. The setting's parser has accepted the URLs.
func splitUser(urls string) (servers string, user *url.Userinfo) {
	var without []string
	for server := range strings.SplitSeq(urls, ",") {
		u, err := url.Parse(strings.TrimSpace(server))
		if err != nil {
			continue
		}
		user, u.User = cmp.Or(user, u.User), nil
		without = append(without, u.String())
	}
	return strings.Join(without, ","), user
}

// tlsOptions verify the servers and authenticate the client. nats.go reads the files at every attempt to connect.
func (c NATSConfig) tlsOptions() (options []nats.Option) {
	if c.CA != "" {
		options = append(options, nats.RootCAs(c.CA))
	}
	if c.Cert != "" {
		options = append(options, nats.ClientCert(c.Cert, c.Key))
	}
	return options
}

// reconnectOptions detect a server that has disappeared and reconnect without a limit, also after refused credentials:
// while credentials are replaced, server and client can disagree for a time.
func (c NATSConfig) reconnectOptions() []nats.Option {
	silence, buffer := cmp.Or(c.maxSilence, defaultMaxSilence), nats.DefaultReconnectBufSize
	if c.Interactive {
		silence, buffer = cmp.Or(c.maxSilence, interactiveMaxSilence), -1
	}
	return []nats.Option{
		nats.ReconnectBufSize(buffer),
		nats.RetryOnFailedConnect(c.RetryConnect), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.IgnoreAuthErrorAbort(),
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

// Run is the connection as an actor: it closes the connection when ctx ends. It returns an error if nats.go closes the
// connection first, because of an error after which nats.go does not reconnect. Then only a new connection, of a new
// process, can work.
func (n *NATS) Run(ctx context.Context) error {
	select {
	case <-n.closed:
		return fmt.Errorf("connection closed, and nats.go does not open it again: %w; restart the program",
			n.conn.LastError())
	case <-ctx.Done():
	}
	n.Close()
	return nil
}
