package readapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// site is where the description and its page are.
const site = "https://phones.example.com/api"

func TestDescription(t *testing.T) {
	h := newHarness(t)
	w := h.get(site + "/openapi.json")
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", "Content-Encoding": "",
	} {
		if got := w.Header().Get(name); w.Code != 200 || got != want {
			t.Errorf("%d, %s: %q, want %q", w.Code, name, got, want)
		}
	}
	var document struct{ Servers []struct{ URL string } }
	decode(t, w, &document)
	if len(document.Servers) != 1 || document.Servers[0].URL != baseURL {
		t.Errorf("servers %v, want one, %s", document.Servers, baseURL)
	}
	tag := w.Header().Get("ETag")
	if again := h.get(site+"/openapi.json", with("If-None-Match", tag)); again.Code != 304 || again.Body.Len() > 0 || again.Header().Get("ETag") != tag {
		t.Errorf("with its tag: %d, tag %s, %d bytes", again.Code, again.Header().Get("ETag"), again.Body.Len())
	}
	if other := h.get(site+"/openapi.json", with("If-None-Match", `"other"`)); other.Code != 200 {
		t.Errorf("with another tag: %d", other.Code)
	}
	head := h.do(http.MethodHead, site+"/openapi.json")
	if head.Code != 200 || head.Body.Len() > 0 || head.Header().Get("Content-Length") != w.Header().Get("Content-Length") {
		t.Errorf("HEAD: %d %v", head.Code, head.Header())
	}
	if post := h.do(http.MethodPost, site+"/openapi.json"); post.Code != 405 || problemIn(t, post).Code != "METHOD_NOT_ALLOWED" {
		t.Errorf("POST: %d", post.Code)
	}
}

var assetForm = regexp.MustCompile(`(?:href|src)="(/api/docs/[^"]+)"`)

// The page's assets are all there, under a path that changes with their content.
func TestPage_Assets(t *testing.T) {
	h := newHarness(t)
	page := h.get(site + "/docs")
	if again := h.get(site + "/docs/"); page.Code != 200 || again.Body.String() != page.Body.String() {
		t.Errorf("with a slash: %d", again.Code)
	}
	for _, directive := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} {
		if policy := page.Header().Get("Content-Security-Policy"); !strings.Contains(policy, directive+";") || strings.Contains(policy, "unsafe") {
			t.Errorf("policy %s, want %s", policy, directive)
		}
	}
	assets := assetForm.FindAllStringSubmatch(page.Body.String(), -1)
	if len(assets) != 5 {
		t.Errorf("%d assets: %v", len(assets), assets)
	}
	for _, asset := range assets {
		url := "https://phones.example.com" + asset[1]
		w := h.get(url)
		if w.Code != 200 || w.Body.Len() == 0 || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d, %d bytes, %s", url, w.Code, w.Body.Len(), w.Header().Get("Cache-Control"))
		}
		if again := h.get(url, with("If-None-Match", w.Header().Get("ETag"))); again.Code != 304 {
			t.Errorf("%s with its tag: %d", url, again.Code)
		}
	}
}

// A client that reads gzip gets what the library packed, another the same unpacked, and the two are not taken for each other.
func TestPage_Gzip(t *testing.T) {
	h := newHarness(t)
	script := regexp.MustCompile(`/api/docs/swagger-ui-bundle-[^"]+`).FindString(h.get(site + "/docs").Body.String())
	plain := h.get("https://phones.example.com" + script)
	for accepted, zipped := range map[string]bool{
		"gzip": true, "br, GZIP;q=0.5": true, "gzip;q=1": true, "gzip;q=0": false, "gzip; q=0.0": false, "br": false, "x-gzip": false, "identity": false,
	} {
		w := h.get("https://phones.example.com"+script, with("Accept-Encoding", accepted))
		body := w.Body.Bytes()
		if zipped != (w.Header().Get("Content-Encoding") == "gzip") || zipped == (w.Header().Get("ETag") == plain.Header().Get("ETag")) {
			t.Errorf("%s: %v", accepted, w.Header())
			continue
		}
		if zipped {
			reader, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(reader); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(body, plain.Body.Bytes()) {
			t.Errorf("%s: another body", accepted)
		}
	}
}

func TestPage_NotFound(t *testing.T) {
	h := newHarness(t)
	for _, path := range []string{"/docs/nothing", "/docs/page.js", "/docs/nothing/x", "/openapi.json/", "/docs/%2e%2e/openapi.json", "/docs/index.html"} {
		if w := h.get(site + path); w.Code != 404 || problemIn(t, w).Code != "NOT_FOUND" {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
