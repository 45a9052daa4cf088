package runreadapi_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/internal/runreadapi"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

// occupy takes connections until the server refuses one, and returns what releases them.
func occupy(tb testing.TB, url string) (release func()) {
	tb.Helper()
	var held []*pgx.Conn
	for {
		conn, err := pgx.Connect(tb.Context(), url)
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == pgerrcode.TooManyConnections {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		held = append(held, conn)
	}
	return sync.OnceFunc(func() {
		for _, conn := range held {
			_ = conn.Close(context.Background())
		}
	})
}

// While PostgreSQL has no connection left, a reader answers 503 at once, says why in its log and on /readyz, and serves
// again when there are some. A reader that has connections stays ready with them.
func TestRun_NoConnectionsLeft(t *testing.T) {
	database := schematest.NewWithSettings(t, map[string]string{"max_connections": "16", "superuser_reserved_connections": "6"})
	server := eventstest.NewServer(t)
	if _, err := eventstest.JetStream(t, server.URL()).CreateStream(t.Context(), events.AuditStreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	c := config(t, server, database.RoleURL("callboard_reader"))
	issued, err := access.NewRegistry(database.Pool(t), c.Peppers[0]).Issue(t.Context(), access.KeySpec{
		Name: "load", Grant: access.Grant{Kind: access.GrantSystem, ID: uuid.New()}, Scopes: []access.Scope{access.ScopeCalls},
	})
	if err != nil {
		t.Fatal(err)
	}
	var log eventstest.LogBuffer
	c.Log, c.RequestTimeout, c.LimiterTimeout = zerolog.New(&log), 10*time.Minute, time.Minute
	release := occupy(t, database.RoleURL("callboard_operator"))
	defer release()
	defer eventstest.Run(t, func(ctx context.Context) error { return runreadapi.Run(ctx, c) })()
	base := "http://" + c.Public.Addr().String()
	// The client gives up long before the reader would.
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ask := func(n int) map[int]int {
		var mu sync.Mutex
		statuses := map[int]int{}
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				status := get(client, base+"/v1/customer/phone-systems", issued.Key.Reveal())
				mu.Lock()
				statuses[status]++
				mu.Unlock()
			})
		}
		all.Wait()
		return statuses
	}

	if statuses := ask(20); statuses[http.StatusServiceUnavailable] != 20 {
		t.Errorf("no connection left: responses by status = %v, want 20 times 503", statuses)
	}
	if status, body := eventstest.Get(t, c.Admin, "/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("/readyz: status = %d, body = %s, want 503", status, body)
	}
	for _, want := range []string{
		`"pool":"access"`, `"pool":"readiness"`, "postgres refused a connection: raise its max_connections",
		`"pool":"projection","server":"` + c.Postgres.String() + `","connections":16`,
	} {
		if !log.Contains(want) {
			t.Errorf("log = %s, want %s", &log, want)
		}
	}

	release()
	awaitReady := func(what string) {
		eventstest.Eventually(t, what, func() bool {
			status, _ := eventstest.Get(t, c.Admin, "/readyz")
			return status == http.StatusOK
		})
	}
	awaitReady("the reader is ready")
	// The server's slots become free one after another.
	eventstest.Eventually(t, "connections are back: status 200", func() bool { return ask(1)[http.StatusOK] == 1 })

	release = occupy(t, database.RoleURL("callboard_operator"))
	defer release()
	statuses := ask(20)
	if statuses[http.StatusOK] == 0 || statuses[http.StatusOK]+statuses[http.StatusServiceUnavailable] != 20 {
		t.Errorf("one connection: responses by status = %v, want 200 and 503 only, and a 200", statuses)
	}
	awaitReady("the reader is ready with a connection")
}
