package audio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"callboard/events/eventstest"
)

// s3Server is a real S3 server behind a proxy that counts requests.
type s3Server struct {
	testing.TB
	url      string
	requests atomic.Int64
}

const (
	accessKey = "AKIATEST"
	secretKey = "bucket-secret"
)

// newS3 starts a server with one account, whose credentials are set in the environment, and with the bucket "calls".
func newS3(t *testing.T) *s3Server {
	t.Helper()
	eventstest.Long(t) // the go command builds the server
	t.Setenv("AWS_ACCESS_KEY_ID", accessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secretKey)
	t.Setenv("AWS_SESSION_TOKEN", "")
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	startS3(t, dir, socket)
	s := &s3Server{TB: t}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			s.requests.Add(1)
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "s3"
			r.Out.Host = r.In.Host // the signature covers it
		},
		Transport: transport,
	})
	t.Cleanup(func() { front.Close(); transport.CloseIdleConnections() })
	s.url = front.URL
	return s
}

// startS3 returns once the server listens. The go command builds the server and caches the binary.
func startS3(t *testing.T, dir, socket string) {
	t.Helper()
	find := exec.CommandContext(t.Context(), "go", "tool", "-n", "versitygw")
	find.Dir = "s3server"
	find.Stderr = os.Stderr
	path, err := find.Output()
	if err != nil {
		t.Fatal(err)
	}
	data, attributes := filepath.Join(dir, "data"), filepath.Join(dir, "attributes")
	for _, sub := range []string{filepath.Join(data, "calls"), attributes} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var output bytes.Buffer
	server := exec.CommandContext(t.Context(), strings.TrimSpace(string(path)),
		"--port", socket, "--access", accessKey, "--secret", secretKey, "--quiet", "posix", "--sidecar", attributes, data)
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Wait() // the process state has the exit code
	}()
	t.Cleanup(func() {
		_ = server.Process.Kill() // fails if it has ended
		<-ended
	})
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		connection, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
		if err == nil {
			_ = connection.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("the S3 server ended: %s\n%s", server.ProcessState, &output)
		case <-tick.C:
		}
	}
}

// store opens the bucket like a reader.
func (s *s3Server) store(options string) *bucket {
	s.Helper()
	at, err := ParseLocation("s3://calls" + options + "?endpoint=" + url.QueryEscape(s.url))
	if err != nil {
		s.Fatal(err)
	}
	store, err := Open(at, prefix, nil)
	if err != nil {
		s.Fatal(err)
	}
	return store.(*bucket)
}

func (s *s3Server) put(key, content string) {
	s.Helper()
	client, err := s.store("").client(credentials.Value{AccessKeyID: accessKey, SecretAccessKey: secretKey})
	if err != nil {
		s.Fatal(err)
	}
	_, err = client.PutObject(context.Background(), "calls", key, strings.NewReader(content), int64(len(content)),
		minio.PutObjectOptions{ContentType: "binary/octet-stream"})
	if err != nil {
		s.Fatal(err)
	}
}

// sign signs a link and fails the test if that sends a request.
func (s *s3Server) sign(b *bucket, o Object) Link {
	s.Helper()
	before := s.requests.Load()
	link, err := b.Sign(s.Context(), o)
	if err != nil {
		s.Fatal(err)
	}
	if after := s.requests.Load(); after != before {
		s.Errorf("requests while signing = %d, want 0", after-before)
	}
	return link
}

type response struct {
	status int
	body   string
	header http.Header
}

func get(tb testing.TB, address string, changes ...func(*http.Request)) response {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, address, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for _, change := range changes {
		change(r)
	}
	got, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return response{got.StatusCode, string(body), got.Header}
}

// A real server accepts a link for its own object and lifetime only. It is built for this test alone.
func TestBucket(t *testing.T) {
	s := newS3(t)
	for _, key := range []string{"clips/a b+c.wav", "clips/ü%20.wav", "other.wav"} {
		s.put(key, "0123456789 of "+key)
	}
	for key, b := range map[string]*bucket{
		"clips/a b+c.wav": s.store(""), "clips/ü%20.wav": s.store(""), "a b+c.wav": s.store("/clips"),
	} {
		link := s.sign(b, Object{Key: key, ContentType: "audio/wav"})
		w := get(t, link.URL)
		if w.status != http.StatusOK || w.body != "0123456789 of "+b.prefix+key {
			t.Errorf("%s: status = %d, body = %s", key, w.status, w.body)
		}
		for name, want := range map[string]string{
			"Content-Type": "audio/wav", "Cache-Control": "private, no-store", "Content-Disposition": "inline", "Accept-Ranges": "bytes",
		} {
			if got := w.header.Get(name); got != want {
				t.Errorf("%s: %s = %q, want %q", key, name, got, want)
			}
		}
	}
	link := s.sign(s.store(""), Object{Key: "other.wav", ContentType: "audio/wav"})
	part := get(t, link.URL, func(r *http.Request) { r.Header.Set("Range", "bytes=2-4") })
	if part.status != http.StatusPartialContent || part.body != "234" || part.header.Get("Content-Range") != "bytes 2-4/23" {
		t.Errorf("range: response = %+v, want bytes 2-4", part)
	}
	for name, changed := range map[string]string{
		"another object":    strings.Replace(link.URL, "other.wav", "clips/a%20b%2Bc.wav", 1),
		"a longer lifetime": strings.Replace(link.URL, "X-Amz-Expires=900", "X-Amz-Expires=901", 1),
		"another type":      strings.Replace(link.URL, "audio%2Fwav", "text%2Fhtml", 1),
		"no signature":      link.URL[:strings.Index(link.URL, "&X-Amz-Signature")],
		"a wrong signature": link.URL[:len(link.URL)-1] + otherDigit(link.URL[len(link.URL)-1]),
		"another account":   strings.Replace(link.URL, accessKey, "AKIAOTHER", 1),
		"another bucket":    strings.Replace(link.URL, "/calls/", "/others/", 1),
	} {
		if changed == link.URL {
			t.Fatalf("%s: the link was not changed", name)
		}
		if w := get(t, changed); w.status < 400 || w.status >= 500 || strings.Contains(w.body, "0123456789") {
			t.Errorf("%s: response = %+v, want a refusal", name, w)
		}
	}

	var old Link
	synctest.Test(t, func(t *testing.T) { old = expiredLink(t, s.store("")) })
	if w := get(t, old.URL); w.status != http.StatusForbidden || !strings.Contains(w.body, "expired") {
		t.Errorf("expired link: response = %+v, want 403", w)
	}
}

// The expiry of a link is the one in its URL.
func TestBucket_Expiry(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", accessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secretKey)
	t.Setenv("AWS_SESSION_TOKEN", "")
	synctest.Test(t, func(t *testing.T) { // its clock begins in the year 2000
		link := expiredLink(t, openBucket(t))
		if want := time.Now().Truncate(time.Second).Add(15 * time.Minute); !link.Expires.Equal(want) {
			t.Errorf("expires = %s, want %s", link.Expires, want)
		}
		signed, err := url.Parse(link.URL)
		if err != nil {
			t.Fatal(err)
		}
		if q := signed.Query(); q.Get("X-Amz-Date") != "20000101T000000Z" || q.Get("X-Amz-Expires") != "900" {
			t.Errorf("link = %s, want the date and a lifetime of 900 s", link.URL)
		}
	})
}

// expiredLink signs a link in the year 2000, in a bubble of synctest.
func expiredLink(t *testing.T, b Store) Link {
	t.Helper()
	time.Sleep(700 * time.Millisecond) // of the bubble's clock
	link, err := b.Sign(t.Context(), Object{Key: "other.wav"})
	if err != nil {
		t.Fatal(err)
	}
	return link
}

func TestBucket_HostsOfLinks(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", accessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secretKey)
	for location, want := range map[string]string{
		"s3://calls?region=eu-central-1":                              "https://calls.s3.dualstack.eu-central-1.amazonaws.com/a.wav",
		"s3://calls.example.com?region=eu-central-1":                  "https://s3.dualstack.eu-central-1.amazonaws.com/calls.example.com/a.wav",
		"s3://calls?endpoint=https://store.example.com":               "https://store.example.com/calls/a.wav",
		"s3://calls?endpoint=https://store.example.com&style=virtual": "https://calls.store.example.com/a.wav",
		"s3://calls/p?endpoint=http://store:9000":                     "http://store:9000/calls/p/a.wav",
	} {
		at, err := ParseLocation(location)
		if err != nil {
			t.Fatal(err)
		}
		store, err := Open(at, prefix, nil)
		if err != nil {
			t.Fatal(err)
		}
		link, err := store.Sign(t.Context(), Object{Key: "a.wav"})
		if got, _, _ := strings.Cut(link.URL, "?"); err != nil || got != want {
			t.Errorf("%s: link = %s, error = %v, want %s", location, got, err, want)
		}
	}
}

// openBucket opens a bucket that is not on this machine. Its links can be signed, but not followed.
func openBucket(t *testing.T) Store {
	t.Helper()
	at, err := ParseLocation("s3://calls?region=eu-central-1")
	if err != nil {
		t.Fatal(err)
	}
	store, err := Open(at, prefix, nil)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// Credentials come from a file, a profile in it, or the environment.
func TestBucket_Credentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	text := "[default]\naws_access_key_id = AKIADEFAULT\naws_secret_access_key = x\n" +
		"[calls]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = x\naws_session_token = session\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sign := func() string {
		t.Helper()
		link, err := openBucket(t).Sign(t.Context(), Object{Key: "a.wav"})
		if err != nil {
			t.Fatal(err)
		}
		return link.URL
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_PROFILE", "")
	if link := sign(); !strings.Contains(link, "AKIADEFAULT") {
		t.Errorf("link = %s, want the credentials of the file", link)
	}
	t.Setenv("AWS_PROFILE", "calls")
	if link := sign(); !strings.Contains(link, "AKIAPROFILE") || !strings.Contains(link, "X-Amz-Security-Token=session") {
		t.Errorf("link = %s, want the credentials of the profile", link)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", accessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secretKey)
	if link := sign(); !strings.Contains(link, accessKey) {
		t.Errorf("link = %s, want the credentials of the environment", link)
	}
}

// newRole is a bucket whose credentials come from a server, as a machine's role has it.
func newRole(t *testing.T, serve http.HandlerFunc) Store {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(t.TempDir(), "none"),
		"AWS_CONFIG_FILE": filepath.Join(t.TempDir(), "none"), "AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL,
	} {
		t.Setenv(name, value)
	}
	store := openBucket(t)
	store.(*bucket).asking.Timeout = time.Minute // a busy machine must not end a request
	return store
}

// A link does not outlive the credentials that signed it.
func TestBucket_RoleExpires(t *testing.T) {
	for _, c := range []struct {
		left time.Duration
		want string // what ends the link
	}{{6 * time.Hour, "the lifetime"}, {5 * time.Minute, "the credentials"}} {
		end := time.Now().Add(c.left).UTC()
		store := newRole(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"AccessKeyId": "AKIAROLE", "SecretAccessKey": "x", "Token": "session", "Expiration": %q}`, end.Format(time.RFC3339Nano))
		})
		link, err := store.Sign(t.Context(), Object{Key: "a.wav"})
		if err != nil {
			t.Fatal(err)
		}
		signed, err := url.Parse(link.URL)
		if err != nil {
			t.Fatal(err)
		}
		issued, err := time.Parse("20060102T150405Z", signed.Query().Get("X-Amz-Date"))
		if err != nil {
			t.Fatal(err)
		}
		want := issued.Add(lifetime)
		if c.want == "the credentials" {
			want = end.Truncate(time.Second)
		}
		if !strings.Contains(link.URL, "X-Amz-Security-Token=session") || !link.Expires.Equal(want) {
			t.Errorf("link = %s expires %s, want %s, the end of %s", link.URL, link.Expires, want, c.want)
		}
	}
}

// A server that refuses credentials is unavailable. That does not depend on the recording.
func TestBucket_RoleRefused(t *testing.T) {
	store := newRole(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	_, err := store.Sign(t.Context(), Object{Key: "a.wav"})
	if !errors.Is(err, ErrNoCredentials) {
		t.Errorf("error = %v, want %v", err, ErrNoCredentials)
	}
}

// While a server does not answer, a link waits for it no longer than its context says.
func TestBucket_RoleHangs(t *testing.T) {
	asked, hangs := make(chan struct{}, 1), make(chan struct{})
	store := newRole(t, func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-hangs
	})
	t.Cleanup(func() { close(hangs) }) // before the server is closed
	ctx, cancel := context.WithCancel(t.Context())
	signed := make(chan error, 1)
	go func() {
		_, err := store.Sign(ctx, Object{Key: "a.wav"})
		signed <- err
	}()
	<-asked
	cancel()
	if err := <-signed; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
}

func otherDigit(digit byte) string {
	if digit == '0' {
		return "1"
	}
	return "0"
}
