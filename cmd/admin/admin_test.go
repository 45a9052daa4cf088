package admin_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"callboard/cmd/admin"
	"callboard/cmd/programtest"
	"callboard/events/eventstest"
	"callboard/events/eventstest/leaks"
)

func TestMain(m *testing.M) { leaks.Run(m) }

// serve serves until the test ends and returns a function that checks a response.
func serve(t *testing.T, c admin.Config) (ask func(path string, status int, want string)) {
	t.Helper()
	listener := programtest.Listen(t)
	c.Metrics, c.Log = admin.NewRegistry(), zerolog.Nop()
	eventstest.Run(t, func(ctx context.Context) error { return admin.Serve(ctx, listener, c) })
	return func(path string, status int, want string) {
		t.Helper()
		if got, body := programtest.Get(t, listener, path); got != status || !strings.Contains(body, want) {
			t.Errorf("%s: status = %d, body = %.200q, want status %d and %q", path, got, body, status, want)
		}
	}
}

func TestServe(t *testing.T) {
	var ready atomic.Bool
	ask := serve(t, admin.Config{
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
	ask("/debug/pprof/", 404, "")
	ask("/page", 200, "a page")
	ask("/", 404, "")
}

func TestServe_Profiles(t *testing.T) {
	ask := serve(t, admin.Config{Ready: func(context.Context) error { return nil }, PProf: true})
	ask("/debug/pprof/", 200, "goroutine")
	ask("/debug/pprof/heap", 200, "")
	ask("/debug/pprof/symbol", 200, "num_symbols")
	ask("/debug/pprof/cmdline", 404, "") // it could show a secret
}
