package readapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/query/querytest"
)

const (
	audioURL = "https://phones.example.com/api/audio/"
	clip     = "RIFF....WAVEfmt "
)

// newAudioReader is a reader whose audio is a folder with one clip.
func newAudioHarness(t *testing.T) (h *harness, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "clip.wav"), []byte(clip), 0o600); err != nil {
		t.Fatal(err)
	}
	return newHarness(t, func(c *Config) { c.Audio = audioIn(t, dir) }), dir
}

// recording adds one of an owner, a call or a voicemail, that has arrived or has not.
func (h *harness) recording(system uuid.UUID, sid, owner, status string, arrived bool) {
	h.Helper()
	id := uuid.New()
	row := querytest.Row{
		"system_id": system, "recording_sid": sid, "owner": owner, "owner_id": id, "status": status, "call_sid": nil,
	}
	if status == "ready" {
		row["audio_key"], row["audio_content_type"], row["audio_bytes"] = "clip.wav", "audio/wav", len(clip)
	}
	switch {
	case arrived && owner == "call":
		querytest.Insert(h, h.pool, "call_log", querytest.Row{"system_id": system, "id": id, "call_sid": "CA1"})
		row["call_sid"] = "CA1"
	case arrived:
		querytest.Insert(h, h.pool, "voicemail", querytest.Row{"system_id": system, "id": id, "recording_sid": sid})
	}
	querytest.Insert(h, h.pool, "recording", row)
}

func urlPath(system uuid.UUID, sid string) string {
	return "/customer/phone-systems/" + system.String() + "/recordings/" + sid + "/url"
}

// signed is the answer with a link.
type signed struct{ URL, ExpiresAt string }

func (h *harness) sign(system uuid.UUID, sid string, key access.IssuedKey) signed {
	h.Helper()
	w := h.get(urlPath(system, sid), withKey(key))
	if w.Code != http.StatusOK {
		h.Fatalf("%s: %d %s", sid, w.Code, w.Body)
	}
	var s signed
	decode(h, w, &s)
	return s
}

func TestRecordingURL(t *testing.T) {
	h, _ := newAudioHarness(t)
	system, other := h.system("one"), h.system("two")
	for _, owner := range []string{"call", "voicemail"} {
		for _, status := range []string{"ready", "processing", "unavailable"} {
			h.recording(system, "RE-"+owner+"-"+status, owner, status, true)
			h.recording(system, "RE-early-"+owner+"-"+status, owner, status, false)
			h.recording(other, "RE-elsewhere-"+owner+"-"+status, owner, status, true)
		}
	}
	absent := h.get(urlPath(system, "RE-absent"), withKey(h.key(system)), with("X-Request-Id", "same"))
	keys := map[string]access.IssuedKey{
		"every scope":           h.key(system),
		"recordings alone":      h.key(system, withScopes(access.ScopeRecordings)),
		"without voicemails":    h.key(system, withScopes(access.ScopeRecordings, access.ScopeCalls)),
		"without recordings":    h.key(system, withScopes(access.ScopeVoicemails, access.ScopeCalls)),
		"calls:read narrowed":   h.key(system, narrowedTo(h.extension(system))),
		"recordings, voicemail": h.key(system, withScopes(access.ScopeRecordings, access.ScopeVoicemails)),
	}
	const both = "every scope, calls:read narrowed, recordings, voicemail"
	for _, place := range []string{"", "early-", "elsewhere-"} {
		for _, owner := range []string{"call", "voicemail"} {
			for _, status := range []string{"ready", "processing", "unavailable"} {
				for name, key := range keys {
					want := map[string]code{"ready": "", "processing": recordingNotReady, "unavailable": notFound}[status]
					switch {
					case name == "without recordings":
						want = insufficientScope
					case place != "" || status == "unavailable":
						want = notFound
					case owner == "voicemail" && !strings.Contains(both, name):
						want = insufficientScope
					}
					sid := "RE-" + place + owner + "-" + status
					h.checkURL(fmt.Sprintf("%s with %s", sid, name), want, absent,
						h.get(urlPath(system, sid), withKey(key), with("X-Request-Id", "same")))
				}
			}
		}
	}
}

func (h *harness) checkURL(name string, want code, absent, w *httptest.ResponseRecorder) {
	h.Helper()
	switch want {
	case "":
		headers := w.Header()
		if w.Code != http.StatusOK || headers.Get("Cache-Control") != "no-store" || headers.Get("ETag") != "" ||
			headers.Get("Data-Complete-Through") != watermark || headers.Get("Content-Type") != "application/json" {
			h.Errorf("%s: %d %v", name, w.Code, headers)
		}
		var members map[string]string
		if decode(h, w, &members); len(members) != 2 || !strings.HasPrefix(members["url"], audioURL) || members["expiresAt"] == "" {
			h.Errorf("%s: %s", name, w.Body)
		}
	case notFound:
		if got := masked(w) + headerText(w.Header()); got != masked(absent)+headerText(absent.Header()) {
			h.Errorf("%s: %s, unlike an absent one's %s", name, got, absent.Body)
		}
	case recordingNotReady:
		d := problemIn(h, w)
		if w.Code != http.StatusConflict || d.Code != string(want) || !d.Retryable || d.RetryAfter < 1 || w.Header().Get("Retry-After") == "" {
			h.Errorf("%s: %+v", name, d)
		}
	default:
		if d := problemIn(h, w); d.Code != string(want) {
			h.Errorf("%s: %s, want %s", name, d.Code, want)
		}
	}
}

func TestRecordingURL_Parameters(t *testing.T) {
	h, _ := newAudioHarness(t)
	system := h.system("one")
	h.recording(system, "RE1", "call", "ready", true)
	if w := h.get(urlPath(system, "RE1")+"?expires=1h", withKey(h.key(system))); problemIn(t, w).Code != "VALIDATION_FAILED" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The link is valid for 15 minutes from issue, and plays without a key.
func TestRecordingURL_Plays(t *testing.T) {
	h, _ := newAudioHarness(t)
	system := h.system("one")
	key := h.key(system)
	for _, owner := range []string{"call", "voicemail"} {
		h.recording(system, "RE"+owner, owner, "ready", true)
		before := time.Now().Truncate(time.Second)
		s := h.sign(system, "RE"+owner, key)
		issued := at(s.ExpiresAt).Add(-15 * time.Minute)
		if issued.Before(before) || issued.After(time.Now()) || !strings.HasSuffix(s.ExpiresAt, ".000Z") {
			t.Errorf("expires at %s, issued after %s", s.ExpiresAt, before)
		}
		w := h.get(s.URL)
		if w.Code != http.StatusOK || w.Body.String() != clip || w.Header().Get("Content-Type") != "audio/wav" {
			t.Errorf("%s: %d %v %s", owner, w.Code, w.Header(), w.Body)
		}
	}
}

// Whatever a request for audio asks, it is answered with audio or with a problem document.
func TestAudio(t *testing.T) {
	h, _ := newAudioHarness(t)
	system := h.system("one")
	h.recording(system, "RE1", "call", "ready", true)
	link := h.sign(system, "RE1", h.key(system)).URL
	tag := h.get(link).Header().Get("ETag")
	for _, c := range []struct {
		name, method string
		header       header
		status       int
		code         code
	}{
		{"a range", "GET", with("Range", "bytes=0-3"), 206, ""},
		{"head", "HEAD", with("Accept", "*/*"), 200, ""},
		{"held already", "GET", with("If-None-Match", tag), 304, ""},
		{"no such range", "GET", with("Range", "bytes=99-"), 416, rangeNotSatisfiable},
		{"no range at all", "GET", with("Range", "bytes=99-1"), 416, rangeNotSatisfiable},
		{"another file", "GET", with("If-Match", `"other"`), 412, preconditionFailed},
		{"another method", "POST", with("Accept", "*/*"), 405, methodNotAllowed},
	} {
		w := h.do(c.method, link, c.header)
		if w.Code != c.status || w.Header().Get("X-Request-Id") == "" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", c.name, w.Code, w.Header())
		}
		if c.code == "" {
			continue
		}
		if d := problemIn(t, w); d.Code != string(c.code) || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %s %v", c.name, d.Code, w.Header())
		}
	}
	if w := h.get(link, with("Range", "bytes=99-")); w.Header().Get("Content-Range") != "bytes */16" {
		t.Errorf("%v", w.Header())
	}
	if w := h.get(link, with("Range", "bytes=0-3")); w.Body.String() != "RIFF" || w.Header().Get("Content-Range") != "bytes 0-3/16" {
		t.Errorf("%s %v", w.Body, w.Header())
	}
}

// A link that grants nothing is answered like a path that isn't there.
func TestAudio_NotFound(t *testing.T) {
	h, dir := newAudioHarness(t)
	system := h.system("one")
	h.recording(system, "RE1", "call", "ready", true)
	link := h.sign(system, "RE1", h.key(system)).URL
	old := h.signLongAgo(t)
	if err := os.Remove(filepath.Join(dir, "clip.wav")); err != nil {
		t.Fatal(err)
	}
	nothing := h.get("/nothing", with("X-Request-Id", "same"))
	want := masked(nothing) + headerText(nothing.Header())
	for name, address := range map[string]string{
		"a missing file": link, "an expired link": old, "an altered link": link + "A", "no token": audioURL, "noise": audioURL + "noise",
		"a path": audioURL + "clip.wav", "a way up": audioURL + "..%2fclip.wav", "a folder": audioURL + "a/b", "no folder": strings.TrimSuffix(audioURL, "/"),
		"an operation's place": baseURL + "/audio/" + strings.TrimPrefix(link, audioURL),
	} {
		w := h.get(address, with("X-Request-Id", "same"))
		if got := masked(w) + headerText(w.Header()); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// signLongAgo is a link that the reader would have signed in the year 2000.
func (h *harness) signLongAgo(t *testing.T) string {
	t.Helper()
	store, err := audio.Open(h.config.Audio, audioURL, h.config.Secret)
	if err != nil {
		t.Fatal(err)
	}
	var link audio.Link
	synctest.Test(t, func(t *testing.T) {
		if link, err = store.Sign(t.Context(), audio.Object{Key: "clip.wav", ContentType: "audio/wav"}); err != nil {
			t.Fatal(err)
		}
	})
	return link.URL
}

// A link is a secret: neither the log nor the metrics have any part of one, whatever becomes of it.
func TestAudio_Secret(t *testing.T) {
	h, dir := newAudioHarness(t)
	system := h.system("one")
	h.recording(system, "RE1", "call", "ready", true)
	link := h.sign(system, "RE1", h.key(system)).URL
	token := strings.TrimPrefix(link, audioURL)
	h.get(link)
	h.get(link, with("Range", "bytes=99-"))
	h.do(http.MethodPost, link)
	h.get(link+"?canary=canary", with("Referer", link))
	h.get(audioURL + "x" + token)
	h.get(audioURL + token + "/" + token)
	h.get(baseURL + "/" + token)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if w := h.get(link); problemIn(t, w).Code != "SERVICE_UNAVAILABLE" || strings.Contains(w.Body.String(), dir) {
		t.Errorf("without its folder: %d %s", w.Code, w.Body)
	}
	if line := h.log.last(t); line["operation"] != "audio" || line["cause"] == nil {
		t.Errorf("without its folder: %v", line)
	}
	families, err := h.config.Metrics.(*prometheus.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the log": h.log.String(), "the metrics": fmt.Sprint(families)} {
		for _, part := range []string{token[:16], token[len(token)-16:], "/audio/", "clip.wav", "canary"} {
			if strings.Contains(text, part) {
				t.Errorf("%s has %q: %s", where, part, text)
			}
		}
	}
}

// Links to a bucket lead there, and the reader serves none.
func TestRecordingURL_Bucket(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	bucket, err := audio.ParseLocation("s3://calls/2026?region=eu-central-1&endpoint=https://store.example.com")
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, func(c *Config) { c.Audio = bucket })
	system := h.system("one")
	h.recording(system, "RE1", "call", "ready", true)
	s := h.sign(system, "RE1", h.key(system))
	if !strings.HasPrefix(s.URL, "https://store.example.com/calls/2026/clip.wav?") || !strings.Contains(s.URL, "&X-Amz-Expires=900&") {
		t.Errorf("%+v", s)
	}
	if w := h.get(audioURL + "token"); w.Code != http.StatusNotFound {
		t.Errorf("%d", w.Code)
	}
	if strings.Contains(h.log.String(), "X-Amz") {
		t.Errorf("%s", h.log)
	}
}
