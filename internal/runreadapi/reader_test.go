package runreadapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
	"callboard/internal/runreadapi"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.RunAndFindLeaks(m) }

func config(tb testing.TB, server *eventstest.Server, url string) runreadapi.Config {
	tb.Helper()
	natsURL, err := setting.NewNATSURL(server.URL())
	if err != nil {
		tb.Fatal(err)
	}
	primary, err := setting.NewPostgresURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	location, err := audio.ParseLocation("file://" + tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	pepper, err := pepper()
	if err != nil {
		tb.Fatal(err)
	}
	return runreadapi.Config{
		Server: run.Server{
			NATS:     connection.NATSConfig{NATS: setting.NATS{URL: natsURL}, RetryConnect: true, Log: zerolog.Nop()},
			Postgres: primary, Admin: eventstest.Listen(tb), Log: zerolog.Nop(),
		},
		Public: eventstest.Listen(tb), Peppers: []access.Pepper{pepper},
		Settings: runreadapi.Settings{
			Replica: primary, Audio: location, Premium: 600, BaseURL: "https://phones.example.com/v1",
			CursorKey: setting.NewSecret(strings.Repeat("s", 32)),
		},
	}
}

func pepper() (access.Pepper, error) { return access.NewPepper(bytes.Repeat([]byte("p"), 32)) }

// A reader without its database is alive and not ready. It is ready without NATS.
func TestRun_Readiness(t *testing.T) {
	database := schematest.New(t)
	server := eventstest.NewServer(t)
	c := config(t, server, database.RoleURL("callboard_reader"))
	stop := eventstest.Run(t, func(ctx context.Context) error { return runreadapi.Run(ctx, c) })
	waitForReadyz := func(want int) {
		t.Helper()
		eventstest.Eventually(t, fmt.Sprintf("/readyz with status %d", want), func() bool {
			status, _ := eventstest.Get(t, c.Admin, "/readyz")
			return status == want
		})
	}
	waitForReadyz(http.StatusOK)
	if status, body := eventstest.Get(t, c.Public, "/v1/customer/phone-systems"); status != http.StatusUnauthorized {
		t.Errorf("status = %d, body = %s, want 401", status, body)
	}
	database.Cluster().Kill()
	waitForReadyz(http.StatusServiceUnavailable)
	if status, body := eventstest.Get(t, c.Admin, "/livez"); status != http.StatusOK {
		t.Errorf("/livez: status = %d, body = %s, want 200", status, body)
	}
	if err := database.Cluster().Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	waitForReadyz(http.StatusOK)
	server.Start()
	stop()
}

// After an error of the configuration Run closes the listeners.
func TestRun_InvalidConfig(t *testing.T) {
	c := config(t, eventstest.NewServer(t), "postgres://nobody@127.0.0.1:1/x")
	c.BaseURL = "https://phones.example.com"
	if err := runreadapi.Run(t.Context(), c); err == nil {
		t.Error("error = nil, want one")
	}
	for _, listener := range []net.Listener{c.Public, c.Admin} {
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("error of a second Close = %v, want ErrClosed", err)
		}
	}
}

// A reader whose connection to NATS was closed, and is not opened again, ends with an error: a supervisor restarts it.
func TestRun_ConnectionClosed(t *testing.T) {
	eventstest.Long(t) // the end of the audit's queue takes 5 s
	server := eventstest.NewServer(t)
	database := schematest.New(t)
	c := config(t, server, database.RoleURL("callboard_reader"))
	ended := make(chan error, 1)
	go func() { ended <- runreadapi.Run(t.Context(), c) }()
	eventstest.Eventually(t, "/readyz with status 200", func() bool {
		status, _ := eventstest.Get(t, c.Admin, "/readyz")
		return status == http.StatusOK
	})

	server.Reload(eventstest.MaxControlLine(16))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get(client, "http://"+c.Public.Addr().String()+"/v1/customer/phone-systems",
		issueKey(t, database, access.TierStandard)) // counts the request

	if err := <-ended; err == nil || !strings.Contains(err.Error(), "connection closed") {
		t.Errorf("Run = %v, want the error of the closed connection", err)
	}
}
