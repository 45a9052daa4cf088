package runwebhooks_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/events/webhook"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
	"callboard/internal/runwebhooks"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.RunAndFindLeaks(m) }

// A sender that starts before NATS is ready as soon as the database answers. It uses its own database role, and waits
// for the databases of readers.
func TestRun(t *testing.T) {
	server := eventstest.NewServer(t)
	server.Stop()
	database := schematest.New(t)
	c := config(t, database)
	c.NATS = connection.NATSConfig{NATS: setting.NATS{URL: eventstest.Parsed(t, setting.NewNATSURL, server.URL())}, RetryConnect: true, Log: zerolog.Nop()}
	c.ReadURLs = []setting.URL{eventstest.Parsed(t, setting.NewPostgresURL, database.RoleURL("callboard_webhooks"))}
	stop := eventstest.Run(t, func(ctx context.Context) error { return runwebhooks.Run(ctx, c) })
	eventstest.Eventually(t, "/readyz with status 200", func() bool {
		status, _ := eventstest.Get(t, c.Admin, "/readyz")
		return status == http.StatusOK
	})
	server.Start()
	owner := database.Pool(t)
	// The gate is asked only while a notice is held: this one's partition has no position.
	schematest.Exec(t, owner, `
		insert into webhook.notice (stream, partition, sequence, ordinal, id, kind, system_id, call_sid, at)
		values ('00000000-0000-4000-8000-00000000000a', 0, 1, 0, 'evt_1', 'call.ended', gen_random_uuid(), 'CA1', now())`)
	schematest.Exec(t, owner, "insert into webhook.floor values ('00000000-0000-4000-8000-00000000000a', 0, 1)")
	eventstest.Eventually(t, "connections of the gate", func() bool {
		var gate, pool int
		err := owner.QueryRow(t.Context(), `
			select count(*) filter (where application_name = 'webhooks-gate'), count(*) filter (where application_name like 'webhooks@%')
			from pg_stat_activity
			where datname = current_database()
			  and usename = 'callboard_webhooks'`).Scan(&gate, &pool)
		return err == nil && gate == 1 && pool >= 2 && pool <= 9
	})
	stop()
}

// A sender doesn't start without a key, nor with a file of certificates that it can't read.
func TestRun_Refused(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	database := schematest.New(t)
	for _, test := range []struct {
		want   string
		change func(*runwebhooks.Config)
	}{
		{"CALLBOARD_WEBHOOK_KEY", func(c *runwebhooks.Config) { c.Keys = nil }},
		{"has no certificate in PEM", func(c *runwebhooks.Config) { c.Targets.CA = empty }},
		{"no such file", func(c *runwebhooks.Config) { c.Targets.CA = filepath.Join(t.TempDir(), "missing.pem") }},
	} {
		c := config(t, database)
		test.change(&c)
		if err := runwebhooks.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error = %v, want one with %q", err, test.want)
		}
		if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", c.Admin.Addr().String()); err == nil {
			t.Error("the admin address still accepts connections")
		}
	}
}

func config(t *testing.T, database *schematest.Database) runwebhooks.Config {
	t.Helper()
	key, err := webhook.NewKey(bytes.Repeat([]byte{'k'}, webhook.MinKeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return runwebhooks.Config{
		Server: run.Server{
			Postgres: eventstest.Parsed(t, setting.NewPostgresURL, database.RoleURL("callboard_webhooks")), Admin: eventstest.Listen(t),
			Log: zerolog.Nop(),
		},
		Settings: runwebhooks.Settings{
			Retries: []time.Duration{time.Second}, GiveUp: time.Hour, Timeout: time.Second, InFlight: 8,
			Retention: setting.WebhookRetention{Days: 30},
		},
		Keys: []webhook.Key{key},
	}
}
