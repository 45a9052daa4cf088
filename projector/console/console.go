// Package console serves the projector's console: one page for operators that shows the state of the projection and,
// for whatever is wrong, what to do. It changes nothing: every remedy is a command to copy. It shows no data of
// messages. The page needs no network beside the projector's, and works without script; a script only refreshes it.
//
//	Run ── every 15 s ── age of the oldest watermark ── history ──┐
//	                                                              ├── page
//	page loads, at most every 2 s ── report ── cache ─────────────┘
package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"html/template"
	"net/http"
	"time"

	"callboard/projector/status"
)

// Config configures a console.
type Config struct {
	// Source is the projection. Its pool needs one connection with the rights of callboard_projector; the console only
	// reads.
	Source status.Source

	// Interval is the time between two samples of the lag. 0: 15 s.
	Interval time.Duration
}

// Console is the console of a projector.
type Console struct {
	config  Config
	page    *template.Template
	assets  assets
	cache   cache
	history history
}

const defaultInterval = 15 * time.Second

// New returns a console that takes no samples before [Console.Run].
func New(c Config) *Console {
	c.Interval = cmp.Or(c.Interval, defaultInterval)
	return &Console{config: c, page: parsePage(), assets: loadAssets(), cache: cache{source: c.Source}}
}

const (
	sampleTimeout = 5 * time.Second

	// maxReportAge is the age at which a report is read again although nobody opens the page: when a server fails, the
	// page still shows what was before.
	maxReportAge = 5 * time.Minute
)

// Run takes samples of the lag until ctx ends.
func (c *Console) Run(ctx context.Context) error {
	tick := time.NewTicker(c.config.Interval)
	defer tick.Stop()
	for {
		c.sample(ctx)
		c.cache.get(ctx, maxReportAge)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// sample adds a sample to the history. A sample that could not be taken is a gap in the chart.
func (c *Console) sample(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	age, err := status.OldestWatermarkAge(ctx, c.config.Source.Pool)
	c.history.add(sample{at: time.Now(), seconds: age.Seconds(), known: err == nil})
}

// Pages returns the handlers of the console by pattern.
func (c *Console) Pages() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /{$}":         http.HandlerFunc(c.servePage),
		"GET /status.json": http.HandlerFunc(c.serveJSON),
	}
}

// snapshot returns the report for a page load. All page loads share the report, so it does not end with the request
// that caused it.
func (c *Console) snapshot(r *http.Request) snapshot {
	return c.cache.get(context.WithoutCancel(r.Context()), minReportAge)
}

func (c *Console) servePage(w http.ResponseWriter, r *http.Request) {
	v := newView(time.Now(), c.config.Source.Stream, c.snapshot(r), c.history.samples())
	v.assets = c.assets
	var body bytes.Buffer
	err := c.page.Execute(&body, v)
	c.write(w, "text/html; charset=utf-8", http.StatusOK, body.Bytes(), err)
}

// serveJSON writes what 'callboard status --json' prints.
func (c *Console) serveJSON(w http.ResponseWriter, r *http.Request) {
	s := c.snapshot(r)
	code, content := http.StatusOK, any(s.report)
	if s.failure != "" {
		code, content = http.StatusServiceUnavailable, map[string]string{"error": s.failure}
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(content)
	c.write(w, "application/json", code, body.Bytes(), err)
}

// write writes a response, or why it could not be made.
func (c *Console) write(w http.ResponseWriter, contentType string, code int, body []byte, err error) {
	if err != nil {
		contentType, code, body = "text/plain; charset=utf-8", http.StatusInternalServerError, []byte(err.Error()+"\n")
	}

	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", "no-store")

	// No other site may show this page or read it, and the page loads nothing from elsewhere.
	header.Set("Content-Security-Policy", c.assets.policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")

	w.WriteHeader(code)
	_, _ = w.Write(body) // fails if the client is gone
}
