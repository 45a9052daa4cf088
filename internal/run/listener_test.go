package run_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/internal/run"
)

func TestListen_AddressInUse(t *testing.T) {
	first, err := run.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	_, err = run.Listen(t.Context(), first.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error = %v, want address already in use", err)
	}
}

// A request that runs while the server is asked to stop gets its response.
func TestServe_FinishesRequests(t *testing.T) {
	listener, err := run.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		_, _ = io.WriteString(w, "answered")
	})}
	ended := make(chan error, 1)
	go func() { ended <- run.Serve(ctx, listener, server, zerolog.Nop()) }()
	response, err := ask(t, listener)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "answered" {
		t.Errorf("body = %q, error = %v, want answered", body, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: error = %v, want none", err)
	}
	if again, err := ask(t, listener); err == nil {
		again.Body.Close()
		t.Error("a request after the end succeeded, want an error")
	}
}

func ask(tb testing.TB, listener net.Listener) (*http.Response, error) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://"+listener.Addr().String(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
}

func TestServe_ClosedListener(t *testing.T) {
	listener, err := run.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := run.Serve(t.Context(), listener, &http.Server{}, zerolog.Nop()); err == nil {
		t.Error("error = nil, want one")
	}
}

// A connection beyond the limit is served as soon as another one closes. All of them have closed when the server has
// stopped.
func TestLimitConnections(t *testing.T) {
	listener, err := run.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answered") })}
	limited, open := run.LimitConnections(listener, server, 2)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run.Serve(ctx, limited, server, zerolog.Nop()) }()
	dial := func() net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	idle := []net.Conn{dial(), dial()}
	eventstest.Eventually(t, "two connections", func() bool { return open.Load() == 2 })
	third := dial()
	if _, err := third.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := third.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := third.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("third connection: bytes = %d, error = %v, want no answer", n, err)
	}
	if err := errors.Join(idle[0].Close(), third.SetReadDeadline(time.Time{})); err != nil {
		t.Fatal(err)
	}
	if _, err := third.Read(make([]byte, 1)); err != nil {
		t.Errorf("after a connection has closed: error = %v, want an answer", err)
	}
	if err := idle[1].Close(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Serve: error = %v, want none", err)
	}
	eventstest.Eventually(t, "no connection", func() bool { return open.Load() == 0 })
}

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
