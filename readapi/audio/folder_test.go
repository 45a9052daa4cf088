package audio

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callboard/events/eventstest"
	"callboard/readapi/access"
)

func TestMain(m *testing.M) { eventstest.RunAndFindLeaks(m) }

const prefix = "https://phones.example.com/audio/"

func secretOf(b byte) []byte { return bytes.Repeat([]byte{b}, access.MinSecret) }

// folderHarness is a folder with helpers for tests.
type folderHarness struct {
	testing.TB
	*Folder
}

func newFolderHarness(tb testing.TB) folderHarness {
	tb.Helper()
	folder, err := newFolder(tb.TempDir(), prefix, secretOf('s'))
	if err != nil {
		tb.Fatal(err)
	}
	return folderHarness{tb, folder}
}

func (h folderHarness) put(key, content string) {
	h.Helper()
	path := filepath.Join(h.dir, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		h.Fatal(err)
	}
}

// token signs a link and returns its last segment.
func (h folderHarness) token(o Object) string {
	h.Helper()
	link, err := h.Sign(h.Context(), o)
	if err != nil {
		h.Fatal(err)
	}
	token, ok := strings.CutPrefix(link.URL, prefix)
	if !ok || token == "" || strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		h.Fatalf("link = %q, want the prefix and a token that is safe in URLs", link.URL)
	}
	return token
}

// serve requests a token. The headers are names and values in turn.
func (h folderHarness) serve(method, token string, headers ...string) (*httptest.ResponseRecorder, error) {
	h.Helper()
	r := httptest.NewRequestWithContext(h.Context(), method, prefix+token, nil)
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	return w, h.Serve(w, r, token)
}

func TestFolder_Serve(t *testing.T) {
	t.Parallel()
	h := newFolderHarness(t)
	h.put("a/b.wav", "0123456789")
	token := h.token(Object{Key: "a/b.wav", ContentType: "audio/wav"})
	whole, err := h.serve(http.MethodGet, token)
	if err != nil {
		t.Fatal(err)
	}
	tag := whole.Header().Get("ETag")
	for _, c := range []struct {
		name         string
		method       string
		headers      []string
		status       int
		body         string
		contentRange string
	}{
		{"whole file", "GET", nil, 200, "0123456789", ""},
		{"head", "HEAD", nil, 200, "", ""},
		{"first bytes", "GET", []string{"Range", "bytes=0-3"}, 206, "0123", "bytes 0-3/10"},
		{"If-Range matches", "GET", []string{"Range", "bytes=0-0", "If-Range", tag}, 206, "0", "bytes 0-0/10"},
		{"If-Range does not match", "GET", []string{"Range", "bytes=0-0", "If-Range", `"other"`}, 200, "0123456789", ""},
		{"If-None-Match matches", "GET", []string{"If-None-Match", tag}, 304, "", ""},
		{"after the end", "GET", []string{"Range", "bytes=10-"}, 416, "", "bytes */10"},
		{"If-Match does not match", "GET", []string{"If-Match", `"other"`}, 412, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := h.serve(c.method, token, c.headers...)
			status := w.Code
			var condition *ConditionError
			if errors.As(err, &condition) {
				status = condition.Status
			} else if err != nil {
				t.Fatal(err)
			}
			if status != c.status || w.Body.String() != c.body || w.Header().Get("Content-Range") != c.contentRange {
				t.Errorf("status = %d, body = %q, header = %v, want %d, %q, range %q", status, w.Body, w.Header(), c.status, c.body, c.contentRange)
			}
			if condition != nil && (w.Header().Get("ETag") != "" || w.Header().Get("Content-Disposition") != "") {
				t.Errorf("header of an error = %v, want no description of the file", w.Header())
			}
		})
	}
	for name, want := range map[string]string{
		"Content-Type": "audio/wav", "Content-Disposition": "inline", "Cache-Control": "private, no-store", "Accept-Ranges": "bytes",
		"Content-Length": "10",
	} {
		if got := whole.Header().Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

// The ETag changes with the file, so a client does not combine parts of two files.
func TestFolder_ETagChangesWithFile(t *testing.T) {
	t.Parallel()
	h := newFolderHarness(t)
	h.put("a.wav", "0123")
	token := h.token(Object{Key: "a.wav", ContentType: "audio/wav"})
	before, err := h.serve(http.MethodGet, token)
	if err != nil {
		t.Fatal(err)
	}
	h.put("a.wav", "01234")
	after, err := h.serve(http.MethodGet, token, "Range", "bytes=2-", "If-Range", before.Header().Get("ETag"))
	if err != nil || after.Code != http.StatusOK || after.Body.String() != "01234" {
		t.Errorf("error = %v, status = %d, body = %s, want the whole new file", err, after.Code, after.Body)
	}
}

// Only audio and video types are served, and a type cannot add headers.
func TestFolder_ContentTypes(t *testing.T) {
	t.Parallel()
	h := newFolderHarness(t)
	h.put("a", "<script>")
	for given, want := range map[string]string{
		"audio/wav":                   "audio/wav",
		"Audio/MPEG":                  "audio/mpeg",
		`audio/ogg; codecs="opus"`:    "audio/ogg; codecs=opus",
		"video/mp4":                   "video/mp4",
		"text/html":                   "application/octet-stream",
		"image/svg+xml":               "application/octet-stream",
		"audio":                       "application/octet-stream",
		"":                            "application/octet-stream",
		"audio/wav\r\nSet-Cookie: a":  "application/octet-stream",
		"audio/wav\r\n":               "audio/wav",
		"audio/x; a=\"b\r\nc: d\"":    "application/octet-stream",
		"text/html, audio/wav":        "application/octet-stream",
		"audio/wav, text/html":        "application/octet-stream",
		"audio/wav; a=b; text/html=c": "application/octet-stream",
	} {
		w, err := h.serve(http.MethodGet, h.token(Object{Key: "a", ContentType: given}))
		if err != nil || w.Header().Get("Content-Type") != want {
			t.Errorf("%q: content type = %q, error = %v, want %q", given, w.Header().Get("Content-Type"), err, want)
		}
	}
}

// A link is valid for exactly 15 minutes from the second in which it was signed.
func TestFolder_Expiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFolderHarness(t)
		h.put("a.wav", "0123")
		time.Sleep(700 * time.Millisecond)
		link, err := h.Sign(t.Context(), Object{Key: "a.wav", ContentType: "audio/wav"})
		if err != nil {
			t.Fatal(err)
		}
		if want := time.Now().Truncate(time.Second).Add(15 * time.Minute); !link.Expires.Equal(want) {
			t.Errorf("expires = %s, want %s", link.Expires, want)
		}
		token := strings.TrimPrefix(link.URL, prefix)
		time.Sleep(time.Until(link.Expires) - time.Nanosecond)
		if _, err := h.serve(http.MethodGet, token); err != nil {
			t.Errorf("one nanosecond before the expiry: error = %v", err)
		}
		time.Sleep(time.Nanosecond)
		if _, err := h.serve(http.MethodGet, token); !errors.Is(err, ErrNotFound) {
			t.Errorf("at the expiry: error = %v, want ErrNotFound", err)
		}
	})
}

// A token gives access to its own object, and no other text is accepted.
func TestFolder_Tokens(t *testing.T) {
	t.Parallel()
	h := newFolderHarness(t)
	h.put("a.wav", "a")
	h.put("b.wav", "b")
	first, second := h.token(Object{Key: "a.wav"}), h.token(Object{Key: "b.wav"})
	for token, want := range map[string]string{first: "a", second: "b"} {
		if w, err := h.serve(http.MethodGet, token); err != nil || w.Body.String() != want {
			t.Errorf("body = %q, error = %v, want %q", w.Body, err, want)
		}
	}
	foreign := newFolderHarness(t)
	foreign.put("a.wav", "a")
	var err error
	if foreign.Folder, err = newFolder(foreign.dir, prefix, secretOf('x')); err != nil {
		t.Fatal(err)
	}
	cursors, err := access.NewSealer(secretOf('s'), "cursor")
	if err != nil {
		t.Fatal(err)
	}
	message, err := h.sealer.Open(first)
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]string{
		"empty":             "",
		"another secret's":  foreign.token(Object{Key: "a.wav"}),
		"another purpose's": cursors.Seal(message),
		"not a ticket":      h.sealer.Seal([]byte("a.wav")),
		"two halves":        first[:len(first)/2] + second[len(second)/2:],
		"a key":             "a.wav",
	}
	for name, token := range refused {
		if w, err := h.serve(http.MethodGet, token); !errors.Is(err, ErrNotFound) || w.Body.Len() > 0 {
			t.Errorf("%s: body = %q, error = %v, want ErrNotFound", name, w.Body, err)
		}
	}
}

// A key never leads out of the folder or to anything but a file. The error is that of a missing file.
func TestFolder_KeysStayInFolder(t *testing.T) {
	t.Parallel()
	h := newFolderHarness(t)
	outside := filepath.Join(t.TempDir(), "outside.wav")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.put("folder/in.wav", "inside")
	for name, target := range map[string]string{
		"out.wav": outside, "up": "..", "loop": "loop", "dangling": "nowhere", "within.wav": "folder/in.wav",
	} {
		if err := os.Symlink(target, filepath.Join(h.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{
		"", ".", "/", "..", "../outside.wav", "../../../../../../etc/passwd", "/etc/passwd", "folder/../../../etc/passwd",
		"folder/../folder/in.wav", "folder//in.wav", "./folder/in.wav", "folder/in.wav/", "folder/in.wav/x", "folder", "folder/",
		"absent.wav", "out.wav", "up/outside.wav", "loop", "dangling", "a\x00b", strings.Repeat("n", 300), `..\..\etc\passwd`,
		outside, "folder/in.wav\n", "%2e%2e/etc/passwd",
	} {
		if w, err := h.serve(http.MethodGet, h.token(Object{Key: key})); !errors.Is(err, ErrNotFound) || w.Body.Len() > 0 {
			t.Errorf("%q: body = %q, error = %v, want ErrNotFound", key, w.Body, err)
		}
	}
	for _, key := range []string{"folder/in.wav", "within.wav"} {
		if w, err := h.serve(http.MethodGet, h.token(Object{Key: key})); err != nil || w.Body.String() != "inside" {
			t.Errorf("%q: body = %q, error = %v, want %q", key, w.Body, err, "inside")
		}
	}
}

// A missing folder is an error of the service, not of the client, and the error does not have the token.
func TestFolder_MissingFolder(t *testing.T) {
	t.Parallel()
	h := newFolderHarness(t)
	token := h.token(Object{Key: "a.wav"})
	if err := os.Remove(h.dir); err != nil {
		t.Fatal(err)
	}
	_, err := h.serve(http.MethodGet, token)
	if err == nil || errors.Is(err, ErrNotFound) || strings.Contains(err.Error(), token) {
		t.Errorf("error = %v, want one other than ErrNotFound without the token", err)
	}
}

// slowClient takes an interval for each write. A write that ends after its deadline fails, as that of a connection
// does.
type slowClient struct {
	*httptest.ResponseRecorder
	interval time.Duration
	deadline time.Time
}

func (c *slowClient) SetWriteDeadline(deadline time.Time) error {
	c.deadline = deadline
	return nil
}

func (c *slowClient) Write(b []byte) (int, error) {
	time.Sleep(c.interval)
	if time.Now().After(c.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return c.ResponseRecorder.Write(b)
}

// A client that reads as fast as telephone audio plays gets all of it. A slower one is cut off, although it accepts
// every piece in time.
func TestFolder_SlowestRate(t *testing.T) {
	t.Parallel()
	const piece, pieces = 32 << 10, 40 // of io.Copy
	for interval, want := range map[time.Duration]int{0: pieces, 4 * time.Second: pieces, 5 * time.Second: 6, 29 * time.Second: 1} {
		synctest.Test(t, func(t *testing.T) {
			h := newFolderHarness(t)
			h.put("long.wav", strings.Repeat("0123456789abcdef", piece*pieces/16))
			w := &slowClient{ResponseRecorder: httptest.NewRecorder(), interval: interval}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, prefix, nil)
			if err := h.Serve(w, r, h.token(Object{Key: "long.wav"})); err != nil {
				t.Fatal(err)
			}
			if got := w.Body.Len() / piece; got != want {
				t.Errorf("a piece every %s: pieces = %d, want %d", interval, got, want)
			}
		})
	}
}

// Audio may take longer than the server's write timeout.
func TestFolder_ExtendsWriteTimeout(t *testing.T) {
	t.Parallel()
	h := newFolderHarness(t)
	h.put("long.wav", strings.Repeat("0123456789", 1<<20))
	token := h.token(Object{Key: "long.wav", ContentType: "audio/wav"})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h.Serve(w, r, token); err != nil {
			t.Error(err)
		}
	}))
	server.Config.WriteTimeout = time.Nanosecond
	server.Start()
	defer server.Close()
	if w := get(t, server.URL); w.status != http.StatusOK || len(w.body) != 10<<20 {
		t.Errorf("status = %d, bytes = %d, want 200 and %d", w.status, len(w.body), 10<<20)
	}
}
