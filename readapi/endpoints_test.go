package readapi

import (
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestDescription(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const path = siteURL + "/openapi.json"
	w := h.get(path)
	h.expectHeaders("description", w, map[string]string{
		"Content-Type": "application/json", "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", "Content-Encoding": "",
	})
	var document struct{ Servers []struct{ URL string } }
	decode(t, w, &document)
	if len(document.Servers) != 1 || document.Servers[0].URL != baseURL {
		t.Errorf("servers = %v, want only %s", document.Servers, baseURL)
	}
	h.expectCode("POST", h.do(http.MethodPost, path), methodNotAllowed)
}

var assetForm = regexp.MustCompile(`(?:href|src)="(/api/docs/[^"]+-[\w-]{12}\.[^"]+)"`)

// The page's assets are served, at paths that change with their content.
func TestPage_Assets(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	page := h.get(siteURL + "/docs")
	if again := h.get(siteURL + "/docs/"); page.Code != 200 || again.Body.String() != page.Body.String() {
		t.Errorf("with a slash: status = %d, want the same page", again.Code)
	}
	for _, directive := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} {
		if policy := page.Header().Get("Content-Security-Policy"); !strings.Contains(policy, directive+";") || strings.Contains(policy, "unsafe") {
			t.Errorf("policy = %s, want %s and nothing unsafe", policy, directive)
		}
	}
	assets := assetForm.FindAllStringSubmatch(page.Body.String(), -1)
	if len(assets) != 5 {
		t.Errorf("assets = %d %v, want 5", len(assets), assets)
	}
	for _, asset := range assets {
		url := "https://phones.example.com" + asset[1]
		w := h.get(url)
		if w.Code != 200 || w.Body.Len() == 0 || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: status = %d, %d bytes, Cache-Control %s, want an immutable file", url, w.Code, w.Body.Len(), w.Header().Get("Cache-Control"))
		}
		again, head := h.get(url, with("If-None-Match", w.Header().Get("ETag"))), h.do(http.MethodHead, url)
		if again.Code != 304 || again.Body.Len() > 0 || head.Code != 200 || head.Body.Len() > 0 {
			t.Errorf("%s: status with its ETag = %d, of HEAD = %d, want 304 and 200 without bodies", url, again.Code, head.Code)
		}
		h.expectCode("with another ETag", h.get(url, with("If-None-Match", `"other"`)), "")
	}
}

// firstByte records where the first piece of a body is in memory.
type firstByte struct {
	http.ResponseWriter
	at *byte
}

func (w *firstByte) Write(b []byte) (int, error) {
	if w.at == nil {
		w.at = &b[0]
	}
	return w.ResponseWriter.Write(b)
}

// All requests share the bodies of a file, so a client that doesn't read holds no memory but its connection's.
func TestPage_BodiesAreShared(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	script := regexp.MustCompile(`/api/docs/swagger-ui-bundle-[^"]+`).FindString(h.get(siteURL + "/docs").Body.String())
	for _, accepted := range []string{"gzip", "identity"} {
		var sent [2]firstByte
		for i := range sent {
			sent[i].ResponseWriter = httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, script, nil)
			r.Header.Set("Accept-Encoding", accepted)
			h.handler.ServeHTTP(&sent[i], r)
		}
		if sent[0].at == nil || sent[0].at != sent[1].at {
			t.Errorf("Accept-Encoding %s: the bodies of two responses are at %p and %p, want one body", accepted, sent[0].at, sent[1].at)
		}
	}
}

// The guide for receivers of webhooks is a page beside the operations, and the description has nothing of webhooks.
func TestGuide(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	page := h.get(siteURL + "/docs/webhooks")
	h.expectHeaders("guide", page, map[string]string{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache"})
	text := html.UnescapeString(page.Body.String())
	for _, want := range []string{"call.ended", "webhook-signature", "hmac.compare_digest("} {
		if !strings.Contains(text, want) {
			t.Errorf("the guide does not mention %s", want)
		}
	}
	if linked := `href="/api/docs/webhooks"`; !strings.Contains(h.get(siteURL+"/docs").Body.String(), linked) {
		t.Errorf("the page of the operations has no %s", linked)
	}
	for name, member := range map[string]string{
		"webhooks.openapi.json": "webhooks", "webhooks.asyncapi.yaml": "asyncapi", "webhook.schema.json": "$defs", "webhooks.vectors.json": "vectors",
	} {
		if !strings.Contains(text, `href="/api/docs/`+name+`"`) {
			t.Errorf("the guide has no link to %s", name)
		}
		if got := h.get(siteURL + "/docs/" + name); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), member) {
			t.Errorf("%s: status = %d, want 200 and a document with %s", name, got.Code, member)
		}
	}
	description := h.get(siteURL + "/openapi.json").Body.String()
	for _, unwanted := range []string{`"webhooks":`, "webhook-id", "whsec_", "/docs/webhooks"} {
		if strings.Contains(description, unwanted) {
			t.Errorf("the description has %s", unwanted)
		}
	}
}

func TestPage_NotFound(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, path := range []string{"/docs/nothing", "/docs/page.js", "/docs/nothing/x", "/openapi.json/", "/docs/%2e%2e/openapi.json", "/docs/index.html", "/docs/webhooks.html", "/docs/webhooks/"} {
		h.expectCode(path, h.get(siteURL+path), notFound)
	}
}
