// Package egress posts webhooks to addresses that customers chose.
//
//	URL ──CheckURL──> canonical URL ──Connect──> Endpoint ──Post──> Answer
//	                                                │
//	                        every dial: is the address public, is the port allowed?
//
// The owner of an endpoint's domain decides what its name resolves to, at every request. So the address that is dialled
// is checked, not the name. Redirects are not followed, proxies of the environment are ignored, and certificates are
// always verified. What an endpoint answers is bounded in time and memory.
package egress

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"time"
)

const (
	defaultTimeout        = 15 * time.Second
	defaultConnectTimeout = 5 * time.Second
	idleTimeout           = 90 * time.Second
	keepAlive             = 15 * time.Second
	pingTimeout           = 5 * time.Second

	maxHeaderBytes = 32 << 10
	// An HTTP/2 server may send as much as the window allows before anybody reads. Go's default is 4 MiB per request.
	streamWindow     = 64 << 10
	connectionWindow = 1 << 20
)

// Config says where a client may connect to.
type Config struct {
	Networks       []netip.Prefix // destinations that are allowed besides public ones, at any port
	Ports          []uint16       // allowed ports outside Networks; empty: 443 and 8443
	Roots          *x509.CertPool // nil: the system's
	Timeout        time.Duration  // of a request; 0: 15 s
	ConnectTimeout time.Duration  // of name resolution and the TCP connection, and of the TLS handshake; 0: 5 s each
	Version        string         // for the header User-Agent
	Resolver       *net.Resolver  // nil: the system's
}

// Client makes connections to endpoints. It is safe for concurrent use.
type Client struct {
	guard          *guard
	dialer         *net.Dialer
	tls            *tls.Config
	connectTimeout time.Duration
	timeout        time.Duration
	userAgent      string
}

// New returns a client.
func New(config Config) *Client {
	connectTimeout := cmp.Or(config.ConnectTimeout, defaultConnectTimeout)
	g := newGuard(config.Networks, config.Ports)

	return &Client{
		guard: g,
		// The guard checks the address of every dial, because a name can resolve to another address each time.
		dialer: &net.Dialer{
			Timeout: connectTimeout, KeepAlive: keepAlive, Resolver: config.Resolver, Control: g.control,
		},
		tls: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: config.Roots, NextProtos: []string{"h2", "http/1.1"},
		},

		connectTimeout: connectTimeout,
		timeout:        cmp.Or(config.Timeout, defaultTimeout),
		userAgent:      "callboard-webhooks/" + config.Version,
	}
}

// Connect returns the connections to one endpoint, at most concurrency of them. It checks the URL as [Client.CheckURL]
// does. It sends nothing: connections open when [Endpoint.Post] needs them. Endpoints never share connections, not even
// those with the same URL.
func (c *Client) Connect(url string, concurrency int) (*Endpoint, error) {
	canonical, err := c.CheckURL(url)
	if err != nil {
		return nil, err
	}
	return &Endpoint{
		url: canonical, userAgent: c.userAgent, timeout: c.timeout,
		transport: c.transport(max(concurrency, 1)),
	}, nil
}

// transport has no Proxy, so that the environment's is ignored.
func (c *Client) transport(connections int) *http.Transport {
	return &http.Transport{
		DialContext:        c.dialer.DialContext,
		DialTLSContext:     c.dialTLS,
		ForceAttemptHTTP2:  true,
		DisableCompression: true,

		MaxConnsPerHost:     connections,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     idleTimeout,

		// An endpoint must not decide how much memory its answers take.
		MaxResponseHeaderBytes: maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     streamWindow,
			MaxReceiveBufferPerConnection: connectionWindow,
			SendPingTimeout:               keepAlive, // finds connections that are silent, which HTTP/2 would use again
			PingTimeout:                   pingTimeout,
		},
	}
}

// dialTLS connects and shakes hands. The transport's handshake would return errors that cannot be told from others.
func (c *Client) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	connection, err := c.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}

	// The name is verified, not the address.
	settings := c.tls.Clone()
	settings.ServerName = host
	secured := tls.Client(connection, settings)

	ctx, cancel := context.WithTimeout(ctx, c.connectTimeout)
	defer cancel()
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = connection.Close()
		return nil, &handshakeError{cause: err}
	}
	return secured, nil
}

// bodyTimeout is the time for the answer's body once its headers are there. The status is known by then.
const bodyTimeout = time.Second

// Endpoint is the connections to one endpoint. It is safe for concurrent use.
type Endpoint struct {
	url       string
	userAgent string
	timeout   time.Duration
	transport *http.Transport
}

// Post sends one request and returns what became of it. It adds the headers User-Agent and Content-Type. It sends a
// request again only where the endpoint has certainly not processed it: on a connection that was closed before the
// request was written.
func (e *Endpoint) Post(ctx context.Context, header http.Header, body []byte) Answer {
	timed, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()

	request, err := e.request(timed, header, body)
	if err != nil {
		return Answer{Class: Other, Err: err}
	}

	response, err := e.transport.RoundTrip(request) // a http.Client would follow redirects
	if err != nil {
		return e.failure(ctx, timed, err)
	}

	// The status is known by now, so the body gets little time.
	defer response.Body.Close()
	bound := time.AfterFunc(bodyTimeout, cancel)
	defer bound.Stop()
	return readAnswer(response)
}

func (e *Endpoint) request(ctx context.Context, header http.Header, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the endpoint's URL is not valid: set another one") // err holds the URL
	}
	if header != nil {
		request.Header = header.Clone()
	}
	request.Header.Set("User-Agent", e.userAgent)
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}

// Close closes the connections that no request uses. Those in use close when they are idle for 90 s at the latest.
func (e *Endpoint) Close() { e.transport.CloseIdleConnections() }
