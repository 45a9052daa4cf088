// Package admin is the listener for operators and their machines: is the process alive, can it serve, what does it count, where
// does its time go. It is never public.
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

// Config is what an admin listener answers with.
type Config struct {
	// Ready is nil while the program can serve, and else what it lacks. It is asked at every /readyz.
	Ready func(context.Context) error

	// Metrics are shown by /metrics.
	Metrics prometheus.Gatherer

	Log zerolog.Logger
}

// NewRegistry is a registry that has the metrics of the process and of Go.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// readyTime is the longest that an answer to /readyz may wait for the program.
const readyTime = 2 * time.Second

// Serve answers on the listener until ctx ends, and closes it.
func Serve(ctx context.Context, listener net.Listener, c Config) error {
	return process.Serve(ctx, listener, &http.Server{
		Handler:           c.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		// No write timeout: a profile takes as long as its reader asks for.
		IdleTimeout: time.Minute,
	}, c.Log)
}

func (c Config) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", c.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(c.Metrics, promhttp.HandlerOpts{}))
	// Without its cmdline: a command line can hold what is secret.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

func (c Config) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	if err := c.Ready(ctx); err != nil {
		say(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	say(w, http.StatusOK, "ok")
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a client gone is no concern of ours
}
