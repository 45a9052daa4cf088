package connection

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"

	"callboard/internal/run/setting"
)

// CheckTLS logs a warning for each URL of a PostgreSQL server on another host that does not require TLS. It ignores
// URLs that are not set.
func CheckTLS(log zerolog.Logger, servers ...setting.URL) {
	for _, server := range servers {
		if server.Reveal() != "" && postgresInClear(server.Reveal()) {
			log.Warn().Stringer("server", server).
				Msg("postgres connection does not require TLS: set sslmode=verify-full, or sslmode=require, in its URL")
		}
	}
}

// postgresInClear reports whether one of the attempts to connect is in the clear, and to another host.
func postgresInClear(text string) bool {
	config, err := pgconn.ParseConfig(text)
	if err != nil {
		return false // the pool reports it
	}
	if config.TLSConfig == nil && remote(config.Host) {
		return true
	}
	return slices.ContainsFunc(config.Fallbacks,
		func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil && remote(f.Host) })
}

// inClear reports whether nothing requires TLS for one of the NATS servers, which is on another host.
func (c NATSConfig) inClear() bool {
	if c.CA != "" || c.Cert != "" {
		return false
	}
	for server := range strings.SplitSeq(c.URL.Reveal(), ",") {
		u, err := url.Parse(strings.TrimSpace(server))
		if err == nil && (u.Scheme == "nats" || u.Scheme == "ws") && remote(u.Hostname()) {
			return true
		}
	}
	return false
}

// remote reports whether a host can be another one than this. Paths and names with @ are Unix sockets.
func remote(host string) bool {
	if strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

// natsDialer dials NATS servers. It closes a connection when a write has failed: nats.go keeps one open whose server
// did not read what was published while no connection was there, and waits for its reader to end, which lasts until the
// server gives the connection up.
type natsDialer struct{ dialer net.Dialer }

// Dial dials a server.
func (d *natsDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.dialer.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &natsConn{Conn: conn}, nil
}

// natsConn is a connection to a NATS server.
type natsConn struct{ net.Conn }

// Write writes, and closes the connection if that fails.
func (c *natsConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		_ = c.Close() // the write's error is the cause
	}
	return n, err
}
