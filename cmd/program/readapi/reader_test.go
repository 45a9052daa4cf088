package readapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"callboard/cmd/connection"
	"callboard/cmd/process"
	"callboard/cmd/program/readapi"
	"callboard/cmd/setting"
	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childURLs) != "" {
		os.Exit(runChild())
	}
	schematest.Run(m, func() error { return goleak.Find() })
}

// ask is an answer's status and body.
func ask(tb testing.TB, listener net.Listener, path string) (int, string) {
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
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func eventually(tb testing.TB, try func() error) {
	tb.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for err := try(); err != nil; err = try() {
		select {
		case <-deadline:
			tb.Fatal(err)
		case <-tick.C:
		}
	}
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	listener, err := process.Listen(tb.Context(), "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return listener
}

func config(tb testing.TB, broker *eventstest.Server, url string) readapi.Config {
	tb.Helper()
	c, err := configFor(broker.URL(), url, tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	c.Public, c.Admin = listen(tb), listen(tb)
	return c
}

// configFor is a configuration without listeners.
func configFor(natsURL, postgresURL, sounds string) (c readapi.Config, err error) {
	c = readapi.Config{
		Premium: 600, BaseURL: "https://phones.example.com/v1", CursorKey: setting.NewSecret(strings.Repeat("s", 32)), Log: zerolog.Nop(),
	}
	broker, err := setting.NewNATSURL(natsURL)
	if err != nil {
		return c, err
	}
	c.NATS = connection.NATSConfig{URL: broker, RetryConnect: true, Log: zerolog.Nop()}
	if c.Primary, err = setting.NewPostgresURL(postgresURL); err != nil {
		return c, err
	}
	c.Replica = c.Primary
	if c.Audio, err = audio.ParseLocation("file://" + sounds); err != nil {
		return c, err
	}
	pepper, err := pepper()
	c.Peppers = []access.Pepper{pepper}
	return c, err
}

func pepper() (access.Pepper, error) { return access.NewPepper(bytes.Repeat([]byte("p"), 32)) }

// A reader without its database lives on, is not ready, and is again once the database is back. NATS it can miss for a while.
func TestRun_Readiness(t *testing.T) {
	database := schematest.New(t)
	broker := eventstest.NewServer(t)
	c := config(t, broker, database.RoleURL("callboard_reader"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- readapi.Run(ctx, c) }()
	answers := func(path string, want int) func() error {
		return func() error {
			if status, body := ask(t, c.Admin, path); status != want {
				return fmt.Errorf("%s: %d %s", path, status, body)
			}
			return nil
		}
	}
	eventually(t, answers("/readyz", http.StatusOK))
	if status, body := ask(t, c.Public, "/v1/customer/phone-systems"); status != http.StatusUnauthorized {
		t.Errorf("%d %s", status, body)
	}
	database.Cluster().Kill()
	eventually(t, answers("/readyz", http.StatusServiceUnavailable))
	if err := answers("/livez", http.StatusOK)(); err != nil {
		t.Error(err)
	}
	if err := database.Cluster().Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	broker.Stop()
	eventually(t, answers("/readyz", http.StatusOK))
	broker.Start()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What can't be served with ends the program, and gives its addresses back.
func TestRun_BadConfig(t *testing.T) {
	c := config(t, eventstest.NewServer(t), "postgres://nobody@127.0.0.1:1/x")
	c.BaseURL = "https://phones.example.com"
	if err := readapi.Run(t.Context(), c); err == nil {
		t.Error("no error")
	}
	for _, listener := range []net.Listener{c.Public, c.Admin} {
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v", err)
		}
	}
}
