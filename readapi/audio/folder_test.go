package audio

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callboard/readapi/seal"
)

const prefix = "https://phones.example.com/audio/"

func secretOf(b byte) []byte { return bytes.Repeat([]byte{b}, seal.MinSecret) }

// shelf is a folder under test.
type shelf struct {
	testing.TB
	*Folder
}

func newShelf(tb testing.TB) shelf {
	tb.Helper()
	folder, err := newFolder(tb.TempDir(), prefix, secretOf('s'))
	if err != nil {
		tb.Fatal(err)
	}
	return shelf{tb, folder}
}

func (s shelf) put(key, content string) {
	s.Helper()
	path := filepath.Join(s.dir, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.Fatal(err)
	}
}

// token is the last segment of a new link.
func (s shelf) token(o Object) string {
	s.Helper()
	link, err := s.Sign(s.Context(), o)
	if err != nil {
		s.Fatal(err)
	}
	token, ok := strings.CutPrefix(link.URL, prefix)
	if !ok || token == "" || strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		s.Fatalf("link %q", link.URL)
	}
	return token
}

// listen serves a token. The headers are names and values in turn.
func (s shelf) listen(method, token string, headers ...string) (*httptest.ResponseRecorder, error) {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), method, prefix+token, nil)
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	return w, s.Serve(w, r, token)
}

func TestFolder_Serve(t *testing.T) {
	s := newShelf(t)
	s.put("a/b.wav", "0123456789")
	token := s.token(Object{Key: "a/b.wav", ContentType: "audio/wav"})
	whole, err := s.listen(http.MethodGet, token)
	if err != nil {
		t.Fatal(err)
	}
	tag, changed := whole.Header().Get("ETag"), whole.Header().Get("Last-Modified")
	for _, c := range []struct {
		name         string
		method       string
		headers      []string
		status       int
		body         string
		contentRange string
	}{
		{"whole", "GET", nil, 200, "0123456789", ""},
		{"head", "HEAD", nil, 200, "", ""},
		{"first bytes", "GET", []string{"Range", "bytes=0-3"}, 206, "0123", "bytes 0-3/10"},
		{"from a byte on", "GET", []string{"Range", "bytes=4-"}, 206, "456789", "bytes 4-9/10"},
		{"last bytes", "GET", []string{"Range", "bytes=-4"}, 206, "6789", "bytes 6-9/10"},
		{"more than there is", "GET", []string{"Range", "bytes=8-99"}, 206, "89", "bytes 8-9/10"},
		{"the same as before, a range", "GET", []string{"Range", "bytes=0-0", "If-Range", tag}, 206, "0", "bytes 0-0/10"},
		{"another than before, the whole", "GET", []string{"Range", "bytes=0-0", "If-Range", `"other"`}, 200, "0123456789", ""},
		{"not changed since, a range", "GET", []string{"Range", "bytes=0-0", "If-Range", changed}, 206, "0", "bytes 0-0/10"},
		{"the same as is held", "GET", []string{"If-None-Match", tag}, 304, "", ""},
		{"not changed since", "GET", []string{"If-Modified-Since", changed}, 304, "", ""},
		{"the one that is wanted", "GET", []string{"If-Match", tag}, 200, "0123456789", ""},
		{"behind the end", "GET", []string{"Range", "bytes=10-"}, 416, "", "bytes */10"},
		{"no range", "GET", []string{"Range", "bytes=x"}, 416, "", "bytes */10"},
		{"another than is wanted", "GET", []string{"If-Match", `"other"`}, 412, "", ""},
		{"changed since", "GET", []string{"If-Unmodified-Since", "Mon, 02 Jan 2006 15:04:05 GMT"}, 412, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := s.listen(c.method, token, c.headers...)
			status := w.Code
			var refused *ConditionError
			if errors.As(err, &refused) {
				status = refused.Status
			} else if err != nil {
				t.Fatal(err)
			}
			if status != c.status || w.Body.String() != c.body || w.Header().Get("Content-Range") != c.contentRange {
				t.Errorf("%d %q %q", status, w.Body, w.Header())
			}
			if refused != nil && (w.Header().Get("ETag") != "" || w.Header().Get("Content-Disposition") != "") {
				t.Errorf("a refusal describes audio: %v", w.Header())
			}
		})
	}
	for name, want := range map[string]string{
		"Content-Type": "audio/wav", "Content-Disposition": "inline", "Cache-Control": "private, no-store", "Accept-Ranges": "bytes",
		"Content-Length": "10",
	} {
		if got := whole.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	parts, err := s.listen(http.MethodGet, token, "Range", "bytes=0-1,8-9")
	if err != nil || parts.Code != http.StatusPartialContent ||
		!strings.HasPrefix(parts.Header().Get("Content-Type"), "multipart/byteranges") ||
		strings.Count(parts.Body.String(), "Content-Type: audio/wav") != 2 {
		t.Errorf("two ranges: %v, %d %v\n%s", err, parts.Code, parts.Header(), parts.Body)
	}
}

// A file that is replaced is no longer the one of which a listener holds the beginning.
func TestFolder_TagFollowsFile(t *testing.T) {
	s := newShelf(t)
	s.put("a.wav", "0123")
	token := s.token(Object{Key: "a.wav", ContentType: "audio/wav"})
	before, err := s.listen(http.MethodGet, token)
	if err != nil {
		t.Fatal(err)
	}
	s.put("a.wav", "01234")
	after, err := s.listen(http.MethodGet, token, "Range", "bytes=2-", "If-Range", before.Header().Get("ETag"))
	if err != nil || after.Code != http.StatusOK || after.Body.String() != "01234" {
		t.Errorf("%v, %d %s", err, after.Code, after.Body)
	}
}

// No page, script or header comes out of a content type.
func TestFolder_ContentTypes(t *testing.T) {
	s := newShelf(t)
	s.put("a", "<script>")
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
		w, err := s.listen(http.MethodGet, s.token(Object{Key: "a", ContentType: given}))
		if err != nil || w.Header().Get("Content-Type") != want {
			t.Errorf("%q: %q, %v, want %q", given, w.Header().Get("Content-Type"), err, want)
		}
	}
}

// A link works for exactly 15 minutes, from the second in which it was signed.
func TestFolder_Expiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		s.put("a.wav", "0123")
		time.Sleep(700 * time.Millisecond)
		link, err := s.Sign(t.Context(), Object{Key: "a.wav", ContentType: "audio/wav"})
		if err != nil {
			t.Fatal(err)
		}
		if want := time.Now().Truncate(time.Second).Add(15 * time.Minute); !link.Expires.Equal(want) {
			t.Errorf("expires at %s, want %s", link.Expires, want)
		}
		token := strings.TrimPrefix(link.URL, prefix)
		time.Sleep(time.Until(link.Expires) - time.Nanosecond)
		if _, err := s.listen(http.MethodGet, token); err != nil {
			t.Errorf("at the last moment: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if _, err := s.listen(http.MethodGet, token); !errors.Is(err, ErrNotFound) {
			t.Errorf("once expired: %v", err)
		}
	})
}

// A token grants what it was signed for, and no other text is a token.
func TestFolder_Tokens(t *testing.T) {
	s := newShelf(t)
	s.put("a.wav", "a")
	s.put("b.wav", "b")
	first, second := s.token(Object{Key: "a.wav"}), s.token(Object{Key: "b.wav"})
	for token, want := range map[string]string{first: "a", second: "b"} {
		if w, err := s.listen(http.MethodGet, token); err != nil || w.Body.String() != want {
			t.Errorf("%v, %s", err, w.Body)
		}
	}
	foreign := newShelf(t)
	foreign.put("a.wav", "a")
	var err error
	if foreign.Folder, err = newFolder(foreign.dir, prefix, secretOf('x')); err != nil {
		t.Fatal(err)
	}
	cursors, err := seal.New(secretOf('s'), "cursor")
	if err != nil {
		t.Fatal(err)
	}
	message, err := s.sealer.Open(first)
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]string{
		"nothing":           "",
		"another secret's":  foreign.token(Object{Key: "a.wav"}),
		"another purpose's": cursors.Seal(message),
		"no ticket":         s.sealer.Seal([]byte("a.wav")),
		"cut short":         first[:len(first)-1],
		"continued":         first + "A",
		"two halves":        first[:len(first)/2] + second[len(second)/2:],
		"a key":             "a.wav",
	}
	for i := range first {
		other := byte('A')
		if first[i] == other {
			other = 'B'
		}
		refused["character "+strconv.Itoa(i)+" changed"] = first[:i] + string(other) + first[i+1:]
	}
	for name, token := range refused {
		if w, err := s.listen(http.MethodGet, token); !errors.Is(err, ErrNotFound) || w.Body.Len() > 0 {
			t.Errorf("%s: %v, %s", name, err, w.Body)
		}
	}
}

// No key leads out of the folder or to what is no file, and none of them can be told from an absent one.
func TestFolder_Keys(t *testing.T) {
	s := newShelf(t)
	outside := filepath.Join(t.TempDir(), "outside.wav")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.put("folder/in.wav", "inside")
	for name, target := range map[string]string{
		"out.wav": outside, "up": "..", "loop": "loop", "dangling": "nowhere", "within.wav": "folder/in.wav",
	} {
		if err := os.Symlink(target, filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{
		"", ".", "/", "..", "../outside.wav", "../../../../../../etc/passwd", "/etc/passwd", "folder/../../../etc/passwd",
		"folder/../folder/in.wav", "folder//in.wav", "./folder/in.wav", "folder/in.wav/", "folder/in.wav/x", "folder", "folder/",
		"absent.wav", "out.wav", "up/outside.wav", "loop", "dangling", "a\x00b", strings.Repeat("n", 300), `..\..\etc\passwd`,
		outside, "folder/in.wav\n", "%2e%2e/etc/passwd",
	} {
		if w, err := s.listen(http.MethodGet, s.token(Object{Key: key})); !errors.Is(err, ErrNotFound) || w.Body.Len() > 0 {
			t.Errorf("%q: %v, %s", key, err, w.Body)
		}
	}
	for _, key := range []string{"folder/in.wav", "within.wav"} {
		if w, err := s.listen(http.MethodGet, s.token(Object{Key: key})); err != nil || w.Body.String() != "inside" {
			t.Errorf("%q: %v, %s", key, err, w.Body)
		}
	}
}

// A folder that is gone is a fault, and not a listener's.
func TestFolder_Gone(t *testing.T) {
	s := newShelf(t)
	token := s.token(Object{Key: "a.wav"})
	if err := os.Remove(s.dir); err != nil {
		t.Fatal(err)
	}
	_, err := s.listen(http.MethodGet, token)
	if err == nil || errors.Is(err, ErrNotFound) || strings.Contains(err.Error(), token) {
		t.Errorf("%v", err)
	}
}

// Long audio takes longer to listen to than a server gives its other answers.
func TestFolder_OutlivesWriteTimeout(t *testing.T) {
	s := newShelf(t)
	s.put("long.wav", strings.Repeat("0123456789", 1<<20))
	token := s.token(Object{Key: "long.wav", ContentType: "audio/wav"})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.Serve(w, r, token); err != nil {
			t.Error(err)
		}
	}))
	server.Config.WriteTimeout = time.Nanosecond
	server.Start()
	defer server.Close()
	if w := get(t, server.URL); w.status != http.StatusOK || len(w.body) != 10<<20 {
		t.Errorf("%d, %d bytes", w.status, len(w.body))
	}
}
