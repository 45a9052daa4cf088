package egress_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"callboard/events/eventstest"
	"callboard/projector/webhook/egress"
)

func TestMain(m *testing.M) { eventstest.RunAndFindLeaks(m) }

// query is a secret of the receiver. No error may hold it.
const query = "token=s3cret"

// receiver is an HTTPS server that counts the connections that it accepts.
type receiver struct {
	*httptest.Server
	accepted *atomic.Int64
}

type countingListener struct {
	net.Listener
	accepted *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return connection, err
}

// listen returns a listener at an address of this machine that counts what it accepts.
func listen(tb testing.TB, address string) countingListener {
	tb.Helper()
	var config net.ListenConfig
	l, err := config.Listen(tb.Context(), "tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return countingListener{Listener: l, accepted: new(atomic.Int64)}
}

// receive starts a receiver at an address. change changes its TLS settings; nil changes nothing.
func receive(tb testing.TB, address string, certificate tls.Certificate, change func(*httptest.Server), handler http.HandlerFunc) *receiver {
	tb.Helper()
	l := listen(tb, address)
	return &receiver{accepted: l.accepted, Server: eventstest.StartTLS(tb, handler, eventstest.WithCertificate(certificate), func(s *httptest.Server) {
		_ = s.Listener.Close()
		s.Listener = l
		if change != nil {
			change(s)
		}
	})}
}

// harness is an authority, and a client that trusts it and may connect to 127.0.0.1.
type harness struct {
	authority *eventstest.CertificateAuthority
	roots     *x509.CertPool
	names     *nameServer
}

func newHarness(tb testing.TB) *harness {
	tb.Helper()
	h := &harness{authority: eventstest.NewCertificateAuthority(tb), roots: x509.NewCertPool(), names: newNameServer(tb)}
	h.roots.AppendCertsFromPEM(h.authority.PEM())
	return h
}

// receive starts a receiver at 127.0.0.1.
func (h *harness) receive(tb testing.TB, handler http.HandlerFunc) *receiver {
	tb.Helper()
	return receive(tb, "127.0.0.1:0", h.authority.KeyPair(tb), nil, handler)
}

// client may connect to public addresses and to networks.
func (h *harness) client(networks ...string) *egress.Client {
	return egress.New(h.config(networks...))
}

func (h *harness) config(networks ...string) egress.Config {
	c := egress.Config{Roots: h.roots, Version: "1.2.3", Resolver: h.names.resolver(), Timeout: time.Minute, ConnectTimeout: time.Minute}
	for _, n := range networks {
		c.Networks = append(c.Networks, netip.MustParsePrefix(n))
	}
	return c
}

// connect returns an endpoint of a client that may connect to 127.0.0.1.
func (h *harness) connect(tb testing.TB, url string) *egress.Endpoint {
	tb.Helper()
	return connect(tb, h.client("127.0.0.1/32"), url)
}

func connect(tb testing.TB, client *egress.Client, url string) *egress.Endpoint {
	tb.Helper()
	endpoint, err := client.Connect(url, 2)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(endpoint.Close)
	return endpoint
}

// post posts a small body.
func post(tb testing.TB, endpoint *egress.Endpoint) egress.Answer {
	tb.Helper()
	return endpoint.Post(tb.Context(), http.Header{"Webhook-Id": {"evt_1"}}, []byte(`{}`))
}

// named is the URL of a receiver under a host name.
func (r *receiver) named(host string) string {
	return "https://" + net.JoinHostPort(host, strconv.Itoa(r.port())) + "/hook?" + query
}

func (r *receiver) port() int { return r.Listener.Addr().(*net.TCPAddr).Port }

func accept(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusNoContent)
}
