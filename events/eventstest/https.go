package eventstest

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
)

// StartTLS starts an HTTPS server that does not log failed handshakes, and is changed before. It is closed when the
// test ends.
func StartTLS(tb testing.TB, handler http.Handler, changes ...func(*httptest.Server)) *httptest.Server {
	tb.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	for _, change := range changes {
		change(server)
	}
	server.StartTLS()
	tb.Cleanup(server.Close)
	return server
}

// WithCertificate makes a server of [StartTLS] use a certificate instead of httptest's.
func WithCertificate(certificate tls.Certificate) func(*httptest.Server) {
	return func(s *httptest.Server) {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	}
}

// WithHTTP2 makes a server of [StartTLS] speak HTTP/2, too.
func WithHTTP2(s *httptest.Server) { s.EnableHTTP2 = true }
