package connection

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/internal/run/setting"
)

// files is a directory of settings that are files.
type files struct {
	tb  testing.TB
	dir string
}

func newFiles(tb testing.TB) files {
	tb.Helper()
	return files{tb, tb.TempDir()}
}

func (f files) path(name string) string { return filepath.Join(f.dir, name) }

// write replaces a file as an operator does, so that no reader finds half of it, and returns its path.
func (f files) write(name string, content []byte) string {
	f.tb.Helper()
	if err := os.WriteFile(f.path("new"), content, 0o600); err != nil {
		f.tb.Fatal(err)
	}
	if err := os.Rename(f.path("new"), f.path(name)); err != nil {
		f.tb.Fatal(err)
	}
	return f.path(name)
}

// connect connects with the settings of an environment.
func connect(tb testing.TB, env map[string]string, log zerolog.Logger) *NATS {
	tb.Helper()
	program := &struct {
		NATS setting.NATS `embed:""`
	}{}
	source := setting.Source{Getenv: func(name string) string { return env[name] }, Out: io.Discard}
	if _, err := setting.Parse(program, source); err != nil {
		tb.Fatal(err)
	}
	config := NATSConfig{NATS: program.NATS, Name: "test"}
	config.Log = log
	n, err := NewNATS(config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(n.Close)
	return n
}

// waitForRoundTrip waits until the server answers.
func waitForRoundTrip(tb testing.TB, n *NATS) {
	tb.Helper()
	eventstest.Eventually(tb, "the server answers", func() bool {
		_, err := n.JetStream.AccountInfo(tb.Context())
		return err == nil
	})
}

// User, password and token in the URL's file are read again when the connection is lost, also where the user changes.
func TestNewNATS_UserReplaced(t *testing.T) {
	t.Parallel()
	var options *server.Options
	s := eventstest.NewServer(t, func(o *server.Options) {
		options = o
		o.Username, o.Password = "first", "hunter2"
	})
	f := newFiles(t)
	withUser := func(user string) []byte { return []byte(strings.Replace(s.URL(), "//", "//"+user+"@", 1) + "\n") }
	var log eventstest.LogBuffer
	n := connect(t, map[string]string{"CALLBOARD_NATS_URL_FILE": f.write("url", withUser("first:hunter2"))}, zerolog.New(&log))
	waitForRoundTrip(t, n)
	for _, next := range []struct{ url, user, password, token string }{
		{"second:hunter3", "second", "hunter3", ""},
		{"hunter4", "", "", "hunter4"},
	} {
		s.Stop()
		options.Username, options.Password, options.Authorization = next.user, next.password, next.token
		f.write("url", withUser(next.url))
		s.Start()
		waitForRoundTrip(t, n)
	}
	if err := os.Remove(f.path("url")); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	eventstest.Eventually(t, "a log entry about the missing file", func() bool { return log.Contains("file of the nats url not read") })
	f.write("url", withUser("hunter4"))
	waitForRoundTrip(t, n)
	if log.Contains("hunter") {
		t.Errorf("log = %s, want no password", &log)
	}
}

// The files of the authority, of the client's certificate and of its key are read again when the connection is lost.
func TestNewNATS_CertificatesReplaced(t *testing.T) {
	t.Parallel()
	f, first := newFiles(t), eventstest.NewCertificateAuthority(t)
	var options *server.Options
	s := eventstest.NewServer(t, func(o *server.Options) {
		options = o
		o.TLSVerify, o.TLSTimeout = true, 10
		o.TLSConfig = serverTLS(t, first)
	})
	issue := func(a *eventstest.CertificateAuthority) {
		certificate, key := a.Issue(t)
		f.write("ca", a.PEM())
		f.write("cert", certificate)
		f.write("key", key)
	}
	issue(first)
	n := connect(t, map[string]string{
		"CALLBOARD_NATS_URL": s.URL(), "CALLBOARD_NATS_CA": f.path("ca"),
		"CALLBOARD_NATS_CERT": f.path("cert"), "CALLBOARD_NATS_KEY": f.path("key"),
	}, zerolog.Nop())
	waitForRoundTrip(t, n)
	second := eventstest.NewCertificateAuthority(t)
	s.Stop()
	options.TLSConfig = serverTLS(t, second)
	s.Start()
	eventstest.Eventually(t, "the connection is lost", func() bool { return n.Err() != nil })
	issue(second)
	waitForRoundTrip(t, n)
}

// serverTLS requires clients with a certificate of the authority.
func serverTLS(tb testing.TB, a *eventstest.CertificateAuthority) *tls.Config {
	tb.Helper()
	certificate, key := a.Issue(tb)
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		tb.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.PEM())
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12,
	}
}

// A server with a certificate of another authority is refused, and so is one without TLS.
func TestNewNATS_UnknownAuthority(t *testing.T) {
	t.Parallel()
	ca := newFiles(t).write("ca", eventstest.NewCertificateAuthority(t).PEM())
	for name, s := range map[string]*eventstest.Server{
		"unknown authority": eventstest.NewServer(t, func(o *server.Options) { o.TLSConfig = serverTLS(t, eventstest.NewCertificateAuthority(t)) }),
		"no TLS":            eventstest.NewServer(t),
	} {
		n, err := NewNATS(NATSConfig{NATS: setting.NATS{URL: natsURL(t, s.URL()), CA: ca}})
		if err == nil {
			n.Close()
			t.Errorf("%s: error = nil, want one", name)
		}
	}
}

// A credentials file is read again when the connection is lost: the second user is accepted after the first one was
// revoked.
func TestNewNATS_CredentialsReplaced(t *testing.T) {
	t.Parallel()
	account, operator := newNKey(t, nkeys.CreateAccount), newNKey(t, nkeys.CreateOperator)
	first, second := newNKey(t, nkeys.CreateUser), newNKey(t, nkeys.CreateUser)
	claims, resolver := jwt.NewAccountClaims(publicKey(t, account)), &server.MemAccResolver{}
	store := func() {
		encoded, err := claims.Encode(operator)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolver.Store(publicKey(t, account), encoded); err != nil {
			t.Fatal(err)
		}
	}
	store()
	s := eventstest.NewServer(t, func(o *server.Options) {
		o.JetStream, o.TrustedKeys, o.AccountResolver = false, []string{publicKey(t, operator)}, resolver
	})
	f := newFiles(t)
	n := connect(t, map[string]string{
		"CALLBOARD_NATS_URL": s.URL(), "CALLBOARD_NATS_CREDS": f.write("creds", credentials(t, account, first)),
	}, zerolog.Nop())
	s.Stop()
	eventstest.Eventually(t, "the connection is lost", func() bool { return n.Err() != nil })
	claims.Revoke(publicKey(t, first))
	store()
	f.write("creds", credentials(t, account, second))
	s.Start()
	eventstest.Eventually(t, "the connection is back", func() bool { return n.Err() == nil })
}

func newNKey(tb testing.TB, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	tb.Helper()
	pair, err := create()
	if err != nil {
		tb.Fatal(err)
	}
	return pair
}

func publicKey(tb testing.TB, pair nkeys.KeyPair) string {
	tb.Helper()
	key, err := pair.PublicKey()
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// credentials returns a credentials file of a user.
func credentials(tb testing.TB, account, user nkeys.KeyPair) []byte {
	tb.Helper()
	encoded, err := jwt.NewUserClaims(publicKey(tb, user)).Encode(account)
	if err != nil {
		tb.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		tb.Fatal(err)
	}
	content, err := jwt.FormatUserConfig(encoded, seed)
	if err != nil {
		tb.Fatal(err)
	}
	return content
}

// With a separate inbox prefix a user needs no permission for other users' inboxes.
func TestNewNATS_Inbox(t *testing.T) {
	t.Parallel()
	s := eventstest.NewServer(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "reader", Password: "p", Permissions: &server.Permissions{
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX_reader.>"}},
		}}}
	})
	n := connect(t, map[string]string{
		"CALLBOARD_NATS_URL": strings.Replace(s.URL(), "//", "//reader:p@", 1), "CALLBOARD_NATS_INBOX": "_INBOX_reader",
	}, zerolog.Nop())
	if _, err := n.JetStream.AccountInfo(t.Context()); err != nil {
		t.Errorf("account info: error = %v, want none", err)
	}
}

// A server on another host must be reached with TLS.
func TestNATSConfig_InClear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url, ca string
		want    bool
	}{
		{"nats://a:4222", "", true},
		{"tls://a:4222,nats://b:4222", "", true},
		{"ws://a", "", true},
		{"tls://a:4222", "", false},
		{"wss://a", "", false},
		{"nats://a:4222", "ca.pem", false},
		{"nats://127.0.0.1:4222,nats://localhost:4222,nats://[::1]:4222", "", false},
	} {
		if got := (NATSConfig{NATS: setting.NATS{URL: natsURL(t, c.url), CA: c.ca}}).inClear(); got != c.want {
			t.Errorf("%s with CA %q: in the clear = %t, want %t", c.url, c.ca, got, c.want)
		}
	}
}
