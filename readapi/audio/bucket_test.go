package audio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"callboard/events/eventstest"
)

const (
	accessKey = "AKIATEST"
	secretKey = "bucket-secret"
)

// startS3 starts a real S3 server with one account, whose credentials are set in the environment, and with the bucket
// "calls". It returns the server's URL. The go command builds the server and caches the binary.
func startS3(t *testing.T) string {
	t.Helper()
	eventstest.Long(t)
	setCredentials(t)
	find := exec.CommandContext(t.Context(), "go", "tool", "-n", "versitygw")
	find.Dir, find.Stderr = "s3server", os.Stderr
	path, err := find.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	data, attributes := filepath.Join(dir, "data"), filepath.Join(dir, "attributes")
	if err := errors.Join(os.MkdirAll(filepath.Join(data, "calls"), 0o700), os.Mkdir(attributes, 0o700)); err != nil {
		t.Fatal(err)
	}

	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(eventstest.FreePort(t)))
	server := exec.CommandContext(t.Context(), strings.TrimSpace(string(path)), //nolint:gosec // the tool of s3server
		"--port", address, "--access", accessKey, "--secret", secretKey, "--quiet", "posix", "--sidecar", attributes, data)
	server.Stdout, server.Stderr = os.Stdout, os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // killed with the test's context
	eventstest.Eventually(t, "the S3 server listens", func() bool {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		return err == nil && connection.Close() == nil
	})
	return "http://" + address
}

func setCredentials(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", accessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secretKey)
	t.Setenv("AWS_SESSION_TOKEN", "")
}

// open opens a bucket like a reader.
func open(tb testing.TB, location string) *bucket {
	tb.Helper()
	at, err := ParseLocation(location)
	if err != nil {
		tb.Fatal(err)
	}
	store, err := Open(at, prefix, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return store.(*bucket)
}

// openBucket opens a bucket that is not on this machine. Its links can be signed, but not followed.
func openBucket(tb testing.TB) *bucket {
	tb.Helper()
	return open(tb, "s3://calls?region=eu-central-1")
}

// sign signs a link to an object.
func (b *bucket) sign(tb testing.TB, key string) Link {
	tb.Helper()
	link, err := b.Sign(tb.Context(), Object{Key: key, ContentType: "audio/wav"})
	if err != nil {
		tb.Fatal(err)
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
	server := startS3(t)
	whole := open(t, "s3://calls?endpoint="+server)
	client, err := whole.client(credentials.Value{AccessKeyID: accessKey, SecretAccessKey: secretKey})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"clips/a b+c.wav", "clips/ü%20.wav", "other.wav"} {
		content := "0123456789 of " + key
		_, err := client.PutObject(t.Context(), "calls", key, strings.NewReader(content), int64(len(content)), minio.PutObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	for key, b := range map[string]*bucket{
		"clips/a b+c.wav": whole, "clips/ü%20.wav": whole, "a b+c.wav": open(t, "s3://calls/clips?endpoint="+server),
	} {
		w := get(t, b.sign(t, key).URL)
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
	link := whole.sign(t, "other.wav")
	part := get(t, link.URL, func(r *http.Request) { r.Header.Set("Range", "bytes=2-4") })
	if part.status != http.StatusPartialContent || part.body != "234" || part.header.Get("Content-Range") != "bytes 2-4/23" {
		t.Errorf("range: response = %+v, want bytes 2-4", part)
	}
	for name, changed := range map[string]string{
		"another object":    strings.Replace(link.URL, "other.wav", "clips/a%20b%2Bc.wav", 1),
		"a longer lifetime": strings.Replace(link.URL, "X-Amz-Expires=900", "X-Amz-Expires=901", 1),
		"another type":      strings.Replace(link.URL, "audio%2Fwav", "text%2Fhtml", 1),
		"no signature":      link.URL[:strings.Index(link.URL, "&X-Amz-Signature")],
		"a wrong signature": link.URL[:len(link.URL)-1] + "x", // its digits are hexadecimal
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
	synctest.Test(t, func(t *testing.T) { old = open(t, "s3://calls?endpoint="+server).sign(t, "other.wav") }) // in the year 2000
	if w := get(t, old.URL); w.status != http.StatusForbidden || !strings.Contains(w.body, "expired") {
		t.Errorf("expired link: response = %+v, want 403", w)
	}
}

func TestBucket_HostsOfLinks(t *testing.T) {
	setCredentials(t)
	for location, want := range map[string]string{
		"s3://calls?region=eu-central-1":                              "https://calls.s3.dualstack.eu-central-1.amazonaws.com/a.wav",
		"s3://calls.example.com?region=eu-central-1":                  "https://s3.dualstack.eu-central-1.amazonaws.com/calls.example.com/a.wav",
		"s3://calls?endpoint=https://store.example.com":               "https://store.example.com/calls/a.wav",
		"s3://calls?endpoint=https://store.example.com&style=virtual": "https://calls.store.example.com/a.wav",
		"s3://calls/p?endpoint=http://store:9000":                     "http://store:9000/calls/p/a.wav",
	} {
		if got, _, _ := strings.Cut(open(t, location).sign(t, "a.wav").URL, "?"); got != want {
			t.Errorf("%s: link = %s, want %s", location, got, want)
		}
	}
}

// Credentials come from a file, a profile in it, or the environment.
func TestBucket_Credentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	text := "[default]\naws_access_key_id = AKIADEFAULT\naws_secret_access_key = x\n" +
		"[calls]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = x\naws_session_token = session\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key, profile string
		want         []string
	}{
		{"", "", []string{"AKIADEFAULT"}},
		{"", "calls", []string{"AKIAPROFILE", "X-Amz-Security-Token=session"}},
		{accessKey, "calls", []string{accessKey}},
	} {
		for name, value := range map[string]string{
			"AWS_ACCESS_KEY_ID": c.key, "AWS_SECRET_ACCESS_KEY": c.key, "AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": c.profile,
		} {
			t.Setenv(name, value)
		}
		link := openBucket(t).sign(t, "a.wav").URL
		for _, want := range c.want {
			if !strings.Contains(link, want) {
				t.Errorf("key %q, profile %q: link = %s, want %s in it", c.key, c.profile, link, want)
			}
		}
	}
}

// newRole is a bucket whose credentials come from a server, as a machine's role has it.
func newRole(t *testing.T, serve http.HandlerFunc) *bucket {
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
	store.asking.Timeout = time.Minute // a busy machine must not end a request
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
		link := store.sign(t, "a.wav")
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
