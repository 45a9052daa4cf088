package run_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

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
