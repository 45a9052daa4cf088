package run

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

// Admin holds what the admin listener of a program serves: liveness, readiness, metrics, profiles, and the program's
// own pages.
type Admin struct {
	// Ready returns nil while the program can serve, or what is missing. Every request for /readyz calls it.
	Ready func(context.Context) error

	// Metrics has the metrics of the program, to which the listener adds its own.
	Metrics *prometheus.Registry

	// Pages are further handlers, by the pattern of their requests.
	Pages map[string]http.Handler

	Log zerolog.Logger
}

// NewRegistry returns a registry with the metrics of the process, of the Go runtime and of the build.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	process := collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})
	registry.MustRegister(collectors.NewGoCollector(), process, buildInfo(ReadBuild()))
	return registry
}

// buildInfo is a metric whose labels tell the build.
func buildInfo(build Build) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "callboard_build_info", Help: "1, with the build that runs as labels.",
		ConstLabels: prometheus.Labels{"version": build.Version, "revision": build.Revision, "go": build.Go},
	})
	info.Set(1)
	return info
}

const readyTimeout = 2 * time.Second

// ServeAdmin serves the listener until ctx ends, and closes it. The listener must never be public.
func ServeAdmin(ctx context.Context, listener net.Listener, c Admin) error {
	return Serve(ctx, listener, &http.Server{
		Handler:           c.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		// No write timeout, because the client chooses the duration of a profile.
		IdleTimeout: time.Minute,
	}, c.Log)
}

func (c Admin) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", c.ready(readyMetric(c.Metrics)))
	mux.Handle("GET /metrics", promhttp.HandlerFor(c.Metrics, promhttp.HandlerOpts{}))

	shown := http.NewServeMux()
	for pattern, page := range c.Pages {
		shown.Handle(pattern, page)
	}
	handleProfiles(shown)
	mux.Handle("/", withoutDomain(shown))
	return mux
}

// withoutDomain refuses requests whose Host is a domain name. A site whose name resolves to this listener's address
// could otherwise read the pages through the browser of a person who reaches the listener (DNS rebinding). No site has
// an IP address or a name without a dot.
func withoutDomain(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		if _, err := netip.ParseAddr(host); err != nil && strings.Contains(host, ".") {
			respond(w, http.StatusMisdirectedRequest, "This page is not served under a domain name: "+
				"open it by an IP address or as localhost.")
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// handleProfiles adds the profiles, without cmdline, since a command line can contain secrets.
func handleProfiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}

func (c Admin) ready(metric *prometheus.GaugeVec) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()

		if err := c.Ready(ctx); err != nil {
			metric.WithLabelValues().Set(0)
			respond(w, http.StatusServiceUnavailable, err.Error())
			return
		}

		metric.WithLabelValues().Set(1)
		respond(w, http.StatusOK, "ok")
	}
}

// readyMetric is the last answer of /readyz, which a load balancer or a kubelet asks for all the time. It has no value
// before the first one: collecting metrics checks nothing by itself.
func readyMetric(registry *prometheus.Registry) *prometheus.GaugeVec {
	metric := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "callboard_ready", Help: "1 if the last request for /readyz found the program ready, else 0.",
	}, nil)
	registry.MustRegister(metric)
	return metric
}

func respond(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // fails if the client is gone
}
