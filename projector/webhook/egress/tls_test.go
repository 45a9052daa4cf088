package egress_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"callboard/projector/webhook/egress"
)

// selfSigned returns a certificate for 127.0.0.1 that is its own authority, valid until an instant.
func selfSigned(tb testing.TB, until time.Time) tls.Certificate {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "self"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}
}

func TestCertificatesAreVerified(t *testing.T) {
	h := newHarness(t)
	expired := selfSigned(t, time.Now().Add(-time.Hour))
	h.roots.AddCert(expired.Leaf)
	h.names.set([]string{"127.0.0.1"})
	for _, c := range []struct {
		name, host, want string
		certificate      tls.Certificate
	}{
		{"self-signed", "127.0.0.1", "signed by an unknown authority: add the authority with CALLBOARD_WEBHOOK_CA_FILE",
			selfSigned(t, time.Now().Add(time.Hour))},
		{"expired", "127.0.0.1", "certificate has expired", expired},
		{"of another name", host, "valid for other.example, not hooks.example", h.authority.KeyPair(t, "other.example")},
		{"of a name instead of an address", "127.0.0.1", "127.0.0.1", h.authority.KeyPair(t, host)},
	} {
		t.Run(c.name, func(t *testing.T) {
			requests := make(chan string, 1)
			r := receive(t, "127.0.0.1:0", c.certificate, nil, func(_ http.ResponseWriter, r *http.Request) { requests <- r.URL.Path })
			checkNoAnswer(t, post(t, h.connect(t, r.named(c.host))), egress.TLS, c.want)
			if len(requests) > 0 {
				t.Error("the receiver got a request, want none")
			}
		})
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	h := newHarness(t)
	r := receive(t, "127.0.0.1:0", h.authority.KeyPair(t), func(s *httptest.Server) {
		s.TLS.MinVersion, s.TLS.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	}, accept)
	checkNoAnswer(t, post(t, h.connect(t, r.named("127.0.0.1"))), egress.TLS, "protocol version not supported")
}

func TestTLS12IsEnough(t *testing.T) {
	h := newHarness(t)
	r := receive(t, "127.0.0.1:0", h.authority.KeyPair(t), func(s *httptest.Server) { s.TLS.MaxVersion = tls.VersionTLS12 }, accept)
	if a := post(t, h.connect(t, r.named("127.0.0.1"))); !a.Delivered() {
		t.Errorf("answer = %+v, want 204", a)
	}
}

func TestServerWithoutTLS(t *testing.T) {
	h := newHarness(t)
	l := listen(t, "127.0.0.1:0")
	server := &http.Server{Handler: http.HandlerFunc(accept), ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
	checkNoAnswer(t, post(t, h.connect(t, "https://"+l.Addr().String()+"/?"+query)), egress.TLS, "does not look like a TLS handshake")
}
