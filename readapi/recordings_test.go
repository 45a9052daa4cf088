package readapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/readapi/access"
	"callboard/readapi/audio"
)

const (
	audioURL = siteURL + "/audio/"
	clip     = "RIFF....WAVEfmt "
)

// newAudioHarness stores audio in a folder with one clip.
func newAudioHarness(t *testing.T) (h *harness, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "clip.wav"), []byte(clip), 0o600); err != nil {
		t.Fatal(err)
	}
	return newHarness(t, func(c *Config) { c.Audio = audioIn(t, dir) }), dir
}

// recording adds a recording. Its owner row is a call or a voicemail, and exists or not.
func (h *harness) recording(system uuid.UUID, sid, owner, status string, ownerExists bool) {
	h.Helper()
	id := uuid.New()
	row := columns{
		"system_id": system, "recording_sid": sid, "owner": owner, "owner_id": id, "status": status, "call_sid": nil,
	}
	if status == "ready" {
		row["audio_key"], row["audio_content_type"], row["audio_bytes"] = "clip.wav", "audio/wav", len(clip)
	}
	switch {
	case ownerExists && owner == "call":
		insertRows(h, h.pool, "call_log", columns{"system_id": system, "id": id, "call_sid": "CA1"})
		row["call_sid"] = "CA1"
	case ownerExists:
		insertRows(h, h.pool, "voicemail", columns{"system_id": system, "id": id, "recording_sid": sid})
	}
	insertRows(h, h.pool, "recording", row)
}

func urlPath(system uuid.UUID, sid string) string {
	return systemPath(system, "/recordings/"+sid+"/url")
}

// link adds a phone system with a recording, and returns the link to its audio.
func (h *harness) link() string {
	h.Helper()
	system := h.system("one")
	h.recording(system, "RE1", "call", "ready", true)
	w := h.get(urlPath(system, "RE1"), withKey(h.key(system)))
	h.expectCode("a link", w, "")
	var body struct{ URL string }
	decode(h, w, &body)
	return body.URL
}

// Every owner, status and scope. A voicemail's recording is being processed until its event arrives, and absent once it
// is deleted.
func TestRecordingURL_Access(t *testing.T) {
	t.Parallel()
	h, _ := newAudioHarness(t)
	system, other := h.system("one"), h.system("two")
	voicemailOf := func(of uuid.UUID, sid string) {
		insertRows(h, h.pool, "voicemail", columns{"system_id": of, "id": uuid.New(), "recording_sid": sid})
	}
	wants := map[string]code{"RE-early": recordingNotReady, "RE-EARLY": notFound, "RE-late": notFound, "RE-deleted": notFound, "RE-call": notFound}
	voicemailOf(system, "RE-early")
	voicemailOf(other, "RE-late")
	voicemailOf(system, "RE-deleted")
	insertRows(h, h.pool, "tombstone", columns{
		"system_id": system, "entity": "recording", "key": "RE-deleted", "owner": "voicemail", "owner_id": uuid.New(),
	})
	insertRows(h, h.pool, "call_log", columns{"system_id": system, "id": uuid.New(), "recording_sid": "RE-call"})
	for status, want := range map[string]code{"ready": "", "processing": recordingNotReady, "unavailable": notFound} {
		for _, owner := range []string{"call", "voicemail"} {
			sid := owner + "-" + status
			h.recording(system, "RE-"+sid, owner, status, true)
			h.recording(system, "RE-ownerless-"+sid, owner, status, false)
			h.recording(other, "RE-elsewhere-"+sid, owner, status, true)
			wants["RE-"+sid], wants["RE-ownerless-"+sid], wants["RE-elsewhere-"+sid] = want, notFound, notFound
		}
	}

	absent := h.get(urlPath(system, "RE-absent"), withKey(h.key(system)), with("X-Request-Id", "same"))
	for name, c := range map[string]struct {
		key                    access.IssuedKey
		recordings, voicemails bool
	}{
		"every scope":           {h.key(system), true, true},
		"recordings, calls":     {h.key(system, withScopes(access.ScopeRecordings, access.ScopeCalls)), true, false},
		"voicemails, calls":     {h.key(system, withScopes(access.ScopeVoicemails, access.ScopeCalls)), false, true},
		"narrowed":              {h.key(system, narrowedTo(h.extension(system))), true, true},
		"recordings, voicemail": {h.key(system, withScopes(access.ScopeRecordings, access.ScopeVoicemails)), true, true},
	} {
		for sid, want := range wants {
			ofVoicemail := strings.HasPrefix(sid, "RE-voicemail") || sid == "RE-early"
			if !c.recordings || want != notFound && ofVoicemail && !c.voicemails {
				want = insufficientScope
			}
			h.expectURL(sid+" with "+name, want, absent, h.get(urlPath(system, sid), withKey(c.key), with("X-Request-Id", "same")))
		}
	}
	h.expectCode("another phone system's key", h.get(urlPath(system, "RE-call-ready"), withKey(h.key(other))), notFound)
	h.expectCode("a detail before its recording", h.get(systemPath(system, "/recordings/RE-early"), withKey(h.key(system))), notFound)
}

// expectURL checks the response with a link, or that with a code. A 404 must equal that of a missing recording.
func (h *harness) expectURL(name string, want code, absent, w *httptest.ResponseRecorder) {
	h.Helper()
	switch want {
	case "":
		h.expectCode(name, w, "")
		h.expectHeaders(name, w, map[string]string{
			"Cache-Control": "no-store", "ETag": "", "Data-Complete-Through": watermark, "Content-Type": "application/json",
		})
		var members map[string]string
		if decode(h, w, &members); len(members) != 2 || !strings.HasPrefix(members["url"], audioURL) || members["expiresAt"] == "" {
			h.Errorf("%s: body = %s, want url and expiresAt", name, w.Body)
		}
	case notFound:
		if got, want := whole(w), whole(absent); got != want {
			h.Errorf("%s: response = %s, want that of a missing recording, %s", name, got, want)
		}
	case recordingNotReady:
		h.expectCode(name, w, want)
		if d := problemIn(h, w); !d.Retryable || d.RetryAfter < 1 || w.Header().Get("Retry-After") == "" {
			h.Errorf("%s: retryable = %t, retry_after = %d, Retry-After = %q, want a delay", name, d.Retryable, d.RetryAfter, w.Header().Get("Retry-After"))
		}
	default:
		h.expectCode(name, w, want)
	}
}

// Every request for audio is answered with audio or with a problem document.
func TestAudio_Requests(t *testing.T) {
	t.Parallel()
	h, _ := newAudioHarness(t)
	link := h.link()
	tag := h.get(link).Header().Get("ETag")
	for _, c := range []struct {
		name, method string
		header       header
		status       int
		code         code
		contentRange string
		body         string
	}{
		{"range", "GET", with("Range", "bytes=0-3"), 206, "", "bytes 0-3/16", "RIFF"},
		{"head", "HEAD", with("Accept", "*/*"), 200, "", "", ""},
		{"unchanged", "GET", with("If-None-Match", tag), 304, "", "", ""},
		{"range beyond the end", "GET", with("Range", "bytes=99-"), 416, rangeNotSatisfiable, "bytes */16", ""},
		{"another file", "GET", with("If-Match", `"other"`), 412, preconditionFailed, "", ""},
		{"another method", "POST", with("Accept", "*/*"), 405, methodNotAllowed, "", ""},
	} {
		w := h.do(c.method, link, c.header)
		if w.Code != c.status || w.Header().Get("X-Request-Id") == "" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: response = %d %v, want %d with a request id and nosniff", c.name, w.Code, w.Header(), c.status)
		}
		h.expectHeaders(c.name, w, map[string]string{"Content-Range": c.contentRange})
		switch {
		case c.code != "":
			h.expectCode(c.name, w, c.code)
			h.expectHeaders(c.name, w, map[string]string{"Cache-Control": "no-store"})
		case w.Body.String() != c.body:
			t.Errorf("%s: body = %q, want %q", c.name, w.Body, c.body)
		}
	}
}

// A link that is not valid is answered like a path that is not in the contract.
func TestAudio_NotFound(t *testing.T) {
	t.Parallel()
	h, dir := newAudioHarness(t)
	link := h.link()
	if err := os.Remove(filepath.Join(dir, "clip.wav")); err != nil {
		t.Fatal(err)
	}
	want := whole(h.get("/nothing", with("X-Request-Id", "same")))
	for name, address := range map[string]string{
		"a missing file": link, "no token": audioURL, "noise": audioURL + "noise", "a parent folder": audioURL + "..%2fclip.wav",
		"a folder": audioURL + "a/b", "below the base URL": baseURL + "/audio/" + strings.TrimPrefix(link, audioURL),
	} {
		if got := whole(h.get(address, with("X-Request-Id", "same"))); got != want {
			t.Errorf("%s: response = %s, want %s", name, got, want)
		}
	}
}

// stuckClient accepts nothing until it is released.
type stuckClient struct {
	*httptest.ResponseRecorder
	stuck    func()
	released <-chan struct{}
}

func (c stuckClient) Write(b []byte) (int, error) {
	c.stuck()
	<-c.released
	return c.ResponseRecorder.Write(b)
}

// A client has a bounded number of downloads under way. Others have theirs, and one that has ended makes room.
func TestAudio_DownloadsOfOneClient(t *testing.T) {
	t.Parallel()
	h, _ := newAudioHarness(t)
	link := h.link()
	serve := func(w http.ResponseWriter, client string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
		r.RemoteAddr = client
		h.handler.ServeHTTP(w, r)
	}
	status := func(client string) int {
		w := httptest.NewRecorder()
		serve(w, client)
		return w.Code
	}

	released := make(chan struct{})
	var stuck, ended sync.WaitGroup
	stuck.Add(maxDownloads)
	for i := range maxDownloads {
		ended.Go(func() {
			serve(stuckClient{httptest.NewRecorder(), stuck.Done, released}, fmt.Sprintf("[2001:db8::%x]:1", i)) // one network
		})
	}
	stuck.Wait()
	for client, want := range map[string]int{"[2001:db8::ffff]:1": 503, "[2001:db8:0:1::1]:1": 200, "192.0.2.1:1": 200} {
		if got := status(client); got != want {
			t.Errorf("%s beside %d downloads of 2001:db8::/64: status = %d, want %d", client, maxDownloads, got, want)
		}
	}
	if got := h.metric("callboard_readapi_shed_total", "downloads"); got != 1 {
		t.Errorf("shed downloads = %v, want 1", got)
	}

	close(released)
	ended.Wait()
	if got := status("[2001:db8::ffff]:1"); got != 200 {
		t.Errorf("after their end: status = %d, want 200", got)
	}
}

// A link is a secret: neither the log nor the metrics have a part of it, whatever the request for it.
func TestAudio_Secret(t *testing.T) {
	t.Parallel()
	h, dir := newAudioHarness(t)
	link := h.link()
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
	w := h.get(link)
	h.expectCode("without the folder", w, serviceUnavailable)
	if strings.Contains(w.Body.String(), dir) {
		t.Errorf("body has the folder: %s", w.Body)
	}
	h.expectLogged(map[string]any{"operation": "audio", "cause": "any"})
	families, err := h.config.Metrics.(*prometheus.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the log lines": h.log.String(), "the metrics": fmt.Sprint(families)} {
		for _, part := range []string{token[:16], token[len(token)-16:], "/audio/", "clip.wav", "canary"} {
			if strings.Contains(text, part) {
				t.Errorf("%s have %q: %s", where, part, text)
			}
		}
	}
}

// The reader signs links to a bucket, and serves no audio then.
func TestRecordingURL_Bucket(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	bucket, err := audio.ParseLocation("s3://calls/2026?region=eu-central-1&endpoint=https://store.example.com")
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, func(c *Config) { c.Audio = bucket })
	link := h.link()
	if !strings.HasPrefix(link, "https://store.example.com/calls/2026/clip.wav?") || !strings.Contains(link, "&X-Amz-Expires=900&") {
		t.Errorf("link = %s, want one to the bucket for 900 seconds", link)
	}
	h.expectCode("audio path", h.get(audioURL+"token"), notFound)
	if h.log.Contains("X-Amz") {
		t.Errorf("the log has the link: %s", h.log)
	}
}
