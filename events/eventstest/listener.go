package eventstest

import (
	"io"
	"net"
	"net/http"
	"testing"
)

// Parsed returns the value that a parser reads from a text.
func Parsed[T any](tb testing.TB, parse func(string) (T, error), text string) T {
	tb.Helper()
	value, err := parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return value
}

// Listen opens a free TCP port of this machine. The program that serves it closes it.
func Listen(tb testing.TB) net.Listener {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return listener
}

// Get requests a path of a listener over a new connection, and returns the status and the body: 0 and the error
// without a response.
func Get(tb testing.TB, listener net.Listener, path string) (status int, body string) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, nil)
	if err != nil {
		tb.Fatal(err)
	}

	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return 0, err.Error()
	}

	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}
