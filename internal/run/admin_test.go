package run_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/internal/run"
)

// serveAdmin serves until the test ends and returns a function that checks a response.
func serveAdmin(t *testing.T, c run.Admin) (ask func(path string, status int, want string)) {
	t.Helper()
	listener := eventstest.Listen(t)
	c.Metrics, c.Log = run.NewRegistry(), zerolog.Nop()
	eventstest.Run(t, func(ctx context.Context) error { return run.ServeAdmin(ctx, listener, c) })
	return func(path string, status int, want string) {
		t.Helper()
		if got, body := eventstest.Get(t, listener, path); got != status || !strings.Contains(body, want) {
			t.Errorf("%s: status = %d, body = %.200q, want status %d and %q", path, got, body, status, want)
		}
	}
}

func TestServeAdmin(t *testing.T) {
	var ready atomic.Bool
	ask := serveAdmin(t, run.Admin{
		Ready: func(context.Context) error {
			if !ready.Load() {
				return errors.New("no database")
			}
			return nil
		},
		Pages: map[string]http.Handler{"GET /page": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "a page")
		})},
	})
	ask("/livez", 200, "ok")
	ask("/readyz", 503, "no database")
	ask("/metrics", 200, "callboard_ready 0")
	ready.Store(true)
	ask("/readyz", 200, "ok")
	ask("/metrics", 200, "callboard_ready 1")
	ask("/metrics", 200, `callboard_build_info{go="go1`)
	ask("/metrics", 200, "go_goroutines")
	ask("/metrics", 200, "process_open_fds")
	ask("/page", 200, "a page")
	ask("/", 404, "")
}

// A site that makes its name resolve to the listener's address reads neither the pages nor the profiles.
func TestServe_DomainNames(t *testing.T) {
	t.Parallel()
	listener := eventstest.Listen(t)
	eventstest.Run(t, func(ctx context.Context) error {
		return run.ServeAdmin(ctx, listener, run.Admin{
			Ready: func(context.Context) error { return nil }, Metrics: run.NewRegistry(), Log: zerolog.Nop(),
			Pages: map[string]http.Handler{"GET /{$}": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "a page")
			})},
		})
	})
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	for host, want := range map[string]int{
		"127.0.0.1:" + port: 200, "localhost:" + port: 200, "LOCALHOST": 200, "projector:9091": 200, "[::1]:9091": 200, "[fe80::1%25eth0]:9091": 200,
		"192.0.2.7": 200, "evil.example:" + port: 421, "127.0.0.1.evil.example": 421, "localhost.": 421, "a.localhost.evil:80": 421,
	} {
		for path, status := range map[string]int{"/": want, "/debug/pprof/symbol": want, "/metrics": 200, "/readyz": 200, "/livez": 200} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = host
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != status {
				t.Errorf("Host %s, %s: status = %d, want %d", host, path, response.StatusCode, status)
			}
		}
	}
}

func TestServe_Profiles(t *testing.T) {
	ask := serveAdmin(t, run.Admin{Ready: func(context.Context) error { return nil }})
	ask("/debug/pprof/", 200, "goroutine")
	ask("/debug/pprof/heap", 200, "")
	ask("/debug/pprof/symbol", 200, "num_symbols")
	ask("/debug/pprof/cmdline", 404, "") // it could show a secret
}
