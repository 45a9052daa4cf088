package run_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"callboard/internal/run"
)

// An actor below the drain runs for the drain's time after the program was asked to stop.
func TestDrain(t *testing.T) {
	for name, c := range map[string]struct {
		requested bool
		want      time.Duration
	}{
		"asked to stop": {true, 10 * time.Second},
		"actor failed":  {false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requested, cancel := context.WithCancel(t.Context())
				defer cancel()
				stack, running := run.NewStack(requested)
				var stopped time.Time
				stack.Go(running, "server", func(ctx context.Context) error {
					<-ctx.Done()
					stopped = time.Now()
					return nil
				})
				stack.Go(running, "drain", run.Drain(requested, 10*time.Second))
				if c.requested {
					cancel()
				}
				began := time.Now()
				if err := stack.Stop(); err != nil {
					t.Errorf("Stop: error = %v, want none", err)
				}
				if got := stopped.Sub(began); got != c.want {
					t.Errorf("the server stopped after %s, want %s", got, c.want)
				}
			})
		})
	}
}

func TestCloseConnections(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	defer stop()
	handler := run.CloseConnections(stopping, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, want := range []string{"", "close"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if got := w.Header().Get("Connection"); got != want {
			t.Errorf("Connection = %q, want %q", got, want)
		}
		stop()
	}
}
