package runprojector_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
	"callboard/internal/runprojector"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.RunAndFindLeaks(m) }

// config configures a projector of the servers, with its own database role.
func config(t *testing.T, server *eventstest.Server, database *schematest.Database) runprojector.Config {
	t.Helper()
	return runprojector.Config{
		Server: run.Server{
			NATS:     connection.NATSConfig{NATS: setting.NATS{URL: eventstest.Parsed(t, setting.NewNATSURL, server.URL())}, Log: zerolog.Nop()},
			Postgres: eventstest.Parsed(t, setting.NewPostgresURL, database.RoleURL("callboard_projector")),
			Admin:    eventstest.Listen(t), Log: zerolog.Nop(),
		},
		Stream: events.StreamName,
	}
}

// A projector that starts before NATS becomes ready when NATS does, and applies events after NATS has restarted. It
// uses its own database role. Its console answers all the time.
func TestRun(t *testing.T) {
	server := eventstest.NewServer(t)
	js := eventstest.JetStream(t, server.URL())
	eventstest.CreateStream(t, js, 4)
	server.Stop()
	database := schematest.New(t)
	c := config(t, server, database)
	c.NATS.RetryConnect = true
	admin := c.Admin
	stop := eventstest.Run(t, func(ctx context.Context) error { return runprojector.Run(ctx, c) })
	waitForReadyz := func(want int) {
		t.Helper()
		eventstest.Eventually(t, fmt.Sprintf("/readyz with status %d", want), func() bool {
			status, _ := eventstest.Get(t, admin, "/readyz")
			return status == want
		})
	}
	waitForConsole := func(want string) {
		t.Helper()
		eventstest.Eventually(t, fmt.Sprintf("the console with %q", want), func() bool {
			status, body := eventstest.Get(t, admin, "/")
			return status == http.StatusOK && strings.Contains(body, want)
		})
	}
	waitForReadyz(http.StatusServiceUnavailable)
	waitForConsole("NATS can&#39;t be reached")
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
	waitForConsole("Nothing needs attention")
	waitForConsole("projector@")
	eventstest.Eventually(t, "the report as JSON", func() bool {
		status, body := eventstest.Get(t, admin, "/status.json")
		return status == http.StatusOK && strings.Contains(body, `"stream":"PHONES"`)
	})
	database.Cluster().Kill()
	waitForConsole("The report could not be read")
	if err := database.Cluster().Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitForConsole("Nothing needs attention")
	stop()
}

func TestPartitions(t *testing.T) {
	for text, want := range map[string][]int{
		"4-6, 1,5": {1, 4, 5, 6}, "": nil, "7-3": nil, "1,,2": nil, "0-99999999999": nil,
	} {
		var got runprojector.Partitions
		if err := got.UnmarshalText([]byte(text)); (err == nil) != (want != nil) || err == nil && !slices.Equal(got, want) {
			t.Errorf("partitions of %q = %v, %v, want %v", text, got, err, want)
		}
	}
}

// A projector whose partitions the stream doesn't have is not ready, and says so. One that has some of them logs the
// others.
func TestRun_SurplusPartitions(t *testing.T) {
	server := eventstest.NewServer(t)
	eventstest.CreateStream(t, eventstest.JetStream(t, server.URL()), 4)
	database := schematest.New(t)
	start := func(partitions ...int) (admin net.Listener, log *eventstest.LogBuffer) {
		t.Helper()
		log = &eventstest.LogBuffer{}
		c := config(t, server, database)
		c.Partitions, c.Log = partitions, zerolog.New(log)
		t.Cleanup(eventstest.Run(t, func(ctx context.Context) error { return runprojector.Run(ctx, c) }))
		return c.Admin, log
	}
	admin, _ := start(4, 5)
	const want = "none of the partitions [4 5] of CALLBOARD_PARTITIONS is the stream's, which has 0-3"
	eventstest.Eventually(t, "/readyz names the partitions", func() bool {
		status, body := eventstest.Get(t, admin, "/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, want)
	})
	admin, log := start(3, 4, 5)
	eventstest.Eventually(t, "the other projector is ready", func() bool {
		status, _ := eventstest.Get(t, admin, "/readyz")
		return status == http.StatusOK
	})
	if log.Count(`"level":"error","surplus":[4,5],"last_partition":3`) == 0 { // one in each session
		t.Errorf("log = %s, want an error that names partitions 4 and 5", log)
	}
}

// With fewer connections than partitions, the partitions wait for each other. No work takes more connections than its
// pool has.
func TestRun_FewConnections(t *testing.T) {
	server := eventstest.NewServer(t)
	js := eventstest.JetStream(t, server.URL())
	eventstest.CreateStream(t, js, 16)
	database := schematest.New(t)
	c := config(t, server, database)
	c.Connections = 1
	stop := eventstest.Run(t, func(ctx context.Context) error { return runprojector.Run(ctx, c) })
	publisher := events.NewPublisher(js, "test")
	const systems = 64
	for range systems {
		if err := publisher.Publish(t.Context(), events.Changed(&events.PhoneSystem{ID: uuid.New(), Version: 1, Name: "A"})); err != nil {
			t.Fatal(err)
		}
	}
	pool := database.Pool(t)
	eventstest.Eventually(t, "all events are applied", func() bool {
		var n int
		return pool.QueryRow(t.Context(), "select count(*) from projection.phone_system").Scan(&n) == nil && n == systems
	})
	for program, most := range map[string]int{"projector": 2, "projector-control": 2, "projector-audit": 1} {
		const count = "select count(*) from pg_stat_activity where application_name like $1 || '@%' and datname = current_database()"
		// A connection that was closed may be counted beside the one that replaced it.
		eventstest.Eventually(t, fmt.Sprintf("1 to %d connections of %s", most, program), func() bool {
			var sessions int
			return pool.QueryRow(t.Context(), count, program).Scan(&sessions) == nil && sessions > 0 && sessions <= most
		})
	}
	stop()
}

// A projector whose connection to NATS was closed, and is not opened again, ends with an error: a supervisor restarts
// it.
func TestRun_ConnectionClosed(t *testing.T) {
	server := eventstest.NewServer(t)
	eventstest.CreateStream(t, eventstest.JetStream(t, server.URL()), 4)
	c := config(t, server, schematest.New(t))
	ended := make(chan error, 1)
	go func() { ended <- runprojector.Run(t.Context(), c) }()
	eventstest.Eventually(t, "/readyz with status 200", func() bool {
		status, _ := eventstest.Get(t, c.Admin, "/readyz")
		return status == http.StatusOK
	})

	server.Reload(eventstest.MaxControlLine(16))

	if err := <-ended; err == nil || !strings.Contains(err.Error(), "nats: connection closed") {
		t.Errorf("Run = %v, want the error of the closed connection", err)
	}
}
