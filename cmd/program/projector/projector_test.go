package projector_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

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

// A projector that starts before NATS waits for it, and keeps the projection through its absences, under its own role.
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
	readyz := func(want int) func() error { return func() error { return answers(t, admin.Addr().String(), want) } }
	eventually(t, readyz(http.StatusServiceUnavailable))
	server.Start()
	eventually(t, readyz(http.StatusOK))
	server.Restart()
	id := uuid.New()
	event := events.Changed(&events.PhoneSystem{ID: id, Version: 1, Name: "A"})
	if err := events.NewPublisher(js, "test").Publish(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	pool := database.Pool(t)
	eventually(t, func() error {
		var name string
		return pool.QueryRow(t.Context(), "select name from projection.phone_system where id = $1", id).Scan(&name)
	})
	eventually(t, readyz(http.StatusOK))
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// answers fails unless /readyz does so.
func answers(tb testing.TB, address string, want int) error {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		tb.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != want {
		err = fmt.Errorf("readyz: %s", response.Status)
	}
	_ = response.Body.Close()
	return err
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
