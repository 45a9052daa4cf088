// Package console serves the projector's console: one page for operators that shows the state of the projection and, for whatever is
// wrong, what to do. It changes nothing: every remedy is a command to copy. The page needs no network beside the projector's, and works
// without script; a script only refreshes it.
//
//	Run ── every 15 s ── watermark ages ── history ──┐
//	                                                 ├── page
//	page loads, at most every 2 s ── report ── cache ┘
package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"callboard/projector/status"
)

// Config configures a console.
type Config struct {
	// Source is the projection. Its pool needs one connection with the rights of callboard_projector; the console only reads.
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
func New(c Config) (*Console, error) {
	if c.Interval == 0 {
		c.Interval = defaultInterval
	}
	assets, err := loadAssets()
	if err != nil {
		return nil, err
	}
	page, err := parsePage()
	if err != nil {
		return nil, err
	}
	return &Console{config: c, page: page, assets: assets, cache: cache{source: c.Source}, history: newHistory(c.Interval)}, nil
}

const (
	sampleTimeout = 5 * time.Second

	// maxReportAge is the age at which a report is read again although nobody opens the page: when a server fails, the page still shows
	// what was before.
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
	ages, err := status.WatermarkAges(ctx, c.config.Source.Pool)
	if err != nil {
		ages = nil
	}
	c.history.add(time.Now(), ages)
}

// Pages returns the handlers of the console by pattern.
func (c *Console) Pages() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /{$}":         http.HandlerFunc(c.servePage),
		"GET /status.json": http.HandlerFunc(c.serveJSON),
	}
}

// snapshot returns the report for a page load. All page loads share the report, so it does not end with the request that caused it.
func (c *Console) snapshot(r *http.Request) snapshot {
	return c.cache.get(context.WithoutCancel(r.Context()), minReportAge)
}

func (c *Console) servePage(w http.ResponseWriter, r *http.Request) {
	s := c.snapshot(r)
	v := newView(time.Now(), c.config.Source.Stream, s, c.history.samples())
	v.assets = c.assets
	var body bytes.Buffer
	if err := c.page.Execute(&body, v); err != nil {
		c.write(w, "text/plain; charset=utf-8", http.StatusInternalServerError, fmt.Appendf(nil, "The page could not be rendered: %v\n", err))
		return
	}
	c.write(w, "text/html; charset=utf-8", http.StatusOK, body.Bytes())
}

// serveJSON writes what 'callboard status --json' prints.
func (c *Console) serveJSON(w http.ResponseWriter, r *http.Request) {
	s := c.snapshot(r)
	code, content := http.StatusOK, any(s.report)
	if s.failure != nil {
		code, content = http.StatusServiceUnavailable, map[string]string{"error": s.failure.String()}
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(content); err != nil {
		c.write(w, "text/plain; charset=utf-8", http.StatusInternalServerError, fmt.Appendf(nil, "The report could not be encoded: %v\n", err))
		return
	}
	c.write(w, "application/json", code, body.Bytes())
}

func (c *Console) write(w http.ResponseWriter, contentType string, code int, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", c.assets.policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	w.WriteHeader(code)
	_, _ = w.Write(body) // fails if the client is gone
}
