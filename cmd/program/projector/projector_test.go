package projector_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"callboard/cmd/connection"
	"callboard/cmd/process"
	"callboard/cmd/program/projector"
	"callboard/cmd/setting"
	"callboard/events"
	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m, func() error { return goleak.Find() }) }

// A projector that starts before NATS becomes ready when NATS does, and applies events after NATS has restarted. It uses its own
// database role.
func TestRun(t *testing.T) {
	server := eventstest.NewServer(t)
	js := eventstest.JetStream(t, server.URL())
	eventstest.CreateStream(t, js, 4)
	server.Stop()
	database := schematest.New(t)
	admin, err := process.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := projector.Config{
		NATS:     connection.NATSConfig{URL: natsURL(t, server.URL()), RetryConnect: true, Log: zerolog.Nop()},
		Stream:   events.StreamName,
		Postgres: postgresURL(t, database.RoleURL("callboard_projector")),
		Admin:    admin,
		Log:      zerolog.Nop(),
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- projector.Run(ctx, c) }()
	waitForReadyz := func(want int) {
		t.Helper()
		eventstest.Eventually(t, fmt.Sprintf("/readyz with status %d", want), func() bool { return readyz(t, admin.Addr().String()) == want })
	}
	waitForReadyz(http.StatusServiceUnavailable)
	server.Start()
	waitForReadyz(http.StatusOK)
	server.Restart()
	id := uuid.New()
	event := events.Changed(&events.PhoneSystem{ID: id, Version: 1, Name: "A"})
	if err := events.NewPublisher(js, "test").Publish(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	pool := database.Pool(t)
	eventstest.Eventually(t, "the event is applied", func() bool {
		var name string
		return pool.QueryRow(t.Context(), "select name from projection.phone_system where id = $1", id).Scan(&name) == nil
	})
	waitForReadyz(http.StatusOK)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// readyz returns the status of /readyz, 0 without a response.
func readyz(tb testing.TB, address string) int {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		tb.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func natsURL(tb testing.TB, text string) setting.URL {
	tb.Helper()
	u, err := setting.NewNATSURL(text)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

func postgresURL(tb testing.TB, text string) setting.URL {
	tb.Helper()
	u, err := setting.NewPostgresURL(text)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}
