// Package admin serves the admin listener of a program: liveness, readiness, metrics and profiles. It must never be public.
package admin

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"callboard/cmd/process"
)

// Config holds what the admin listener reports.
type Config struct {
	// Ready returns nil while the program can serve, or what is missing. Every request for /readyz calls it.
	Ready func(context.Context) error

	Metrics prometheus.Gatherer

	Log zerolog.Logger
}

// NewRegistry returns a registry with the metrics of the process and of the Go runtime.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

const readyTimeout = 2 * time.Second

// Serve serves the listener until ctx ends, and closes it.
func Serve(ctx context.Context, listener net.Listener, c Config) error {
	return process.Serve(ctx, listener, &http.Server{
		Handler:           c.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		// No write timeout, because the client chooses the duration of a profile.
		IdleTimeout: time.Minute,
	}, c.Log)
}

func (c Config) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", c.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(c.Metrics, promhttp.HandlerOpts{}))
	// Without cmdline, since a command line can contain secrets.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

func (c Config) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := c.Ready(ctx); err != nil {
		respond(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	respond(w, http.StatusOK, "ok")
}

func respond(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // fails if the client is gone
}
