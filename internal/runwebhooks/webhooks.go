// Package runwebhooks runs a webhook sender as a program: its connections, its actors and its admin listener.
package runwebhooks

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/events/webhook"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
	"callboard/projector/webhook/egress"
	"callboard/projector/webhook/sender"
	"callboard/schema"
)

// Settings are the settings that only a sender has.
type Settings struct {
	ReadURLs  []setting.URL            `type:"postgres-urls" name:"webhook-read-urls" setting:"" secret:"" placeholder:"URL ..." help:"Every PostgreSQL server that readers use, separated by spaces: every value of CALLBOARD_POSTGRES_READ_URL, with the user callboard_webhooks. A webhook is sent when all of them have the rows. Default: readers use the primary."`
	Targets   setting.WebhookTargets   `embed:""`
	Retries   []time.Duration          `type:"durations" name:"webhook-retries" setting:"" min:"1ms" max:"365d" default:"5s,30s,2m,10m,30m,1h,2h,4h,8h,12h" placeholder:"DURATION,..." help:"The intervals between the attempts of a delivery. The last one repeats."`
	GiveUp    time.Duration            `name:"webhook-give-up" setting:"" min:"1ms" max:"365d" default:"72h" help:"How long after its first attempt a delivery is tried again; then it is dead. An endpoint without a success for so long is disabled."`
	Timeout   time.Duration            `name:"webhook-timeout" setting:"" min:"1ms" max:"5m" default:"15s" help:"The time that a request may take, from connecting to the answer's headers."`
	InFlight  int                      `type:"count" name:"webhook-in-flight" setting:"" min:"1" max:"10000" default:"512" placeholder:"NUMBER" help:"The number of requests at once, to all endpoints."`
	Retention setting.WebhookRetention `embed:""`
}

// Program is the sender as a program, with all its settings.
type Program struct {
	run.ServerSettings `embed:""`
	Settings           Settings           `embed:""`
	Key                setting.WebhookKey `embed:""`
}

// Run sends until ctx ends.
func (p *Program) Run(ctx context.Context, streams run.Streams) error {
	run.RelaxGC()
	server, err := p.Open(ctx, "webhooks", nil, streams)
	if err != nil {
		return err
	}
	return Run(ctx, Config{Server: server, Settings: p.Settings, Keys: p.Key.Keys})
}

// Config configures a sender. Run closes the listener.
type Config struct {
	run.Server
	Settings
	Keys []webhook.Key // the current one first
}

// connections is the size of the pool: fan-out, tests, days, counts and judgement, each with one at a time, and the
// outcomes of tests. One more connection, which is in no pool, sends.
const connections = 8

// Run sends webhooks until ctx ends.
//
//	NATS ──┐
//	       ├── sender ── admin
//	pool ──┘
func Run(ctx context.Context, c Config) error {
	defer func() { _ = c.Admin.Close() }() // where no actor has served it

	vault, err := webhook.NewVault(c.Keys...)
	if err != nil {
		return err
	}
	roots, err := readRoots(c.Targets.CA)
	if err != nil {
		return err
	}

	// What is closed last is opened first.
	nats, err := connection.NewNATS(c.NATS)
	if err != nil {
		return err
	}
	defer nats.Close()

	registry := run.NewRegistry()
	connection.CheckTLS(c.Log, append([]setting.URL{c.Postgres}, c.ReadURLs...)...)
	pool, err := connection.NewPool(ctx, connection.PostgresConfig{
		URL: c.Postgres, Program: "webhooks", Pool: "webhooks", Connections: connections, ReadWrite: true,
		Settings: session(), Log: c.Log, Metrics: registry,
	})
	if err != nil {
		return err
	}
	defer pool.Close()

	sender := sender.New(sender.Config{
		Database: pool, NATS: nats.JetStream.Conn(), Gate: c.gate(), Vault: vault, InFlight: c.InFlight,
		Schedule: sender.Schedule{Retries: c.Retries, GiveUp: c.GiveUp},
		Client: egress.New(egress.Config{
			Networks: c.Targets.AllowNetworks, Ports: c.Targets.Ports, Roots: roots, Timeout: c.Timeout,
			Version: run.ReadBuild().Version,
		}),
		Timeout: c.Timeout, Days: c.Retention.Days, Poll: 250 * time.Millisecond, Log: c.Log, Metrics: registry,
	})

	// The stack stops its actors in the reverse order, so NATS ends last.
	stack, ctx := run.NewStack(ctx)
	stack.Go(ctx, "nats", nats.Run)
	stack.Go(ctx, "sender", sender.Run)
	stack.Go(ctx, "admin", func(actorCtx context.Context) error {
		return run.ServeAdmin(actorCtx, c.Admin,
			run.Admin{Ready: readiness(ctx, sender, nats), Metrics: registry, Log: c.Log})
	})

	return stack.Wait(ctx)
}

// readiness does not ask for NATS, which only wakes the sender: without it webhooks are sent some 250 ms later.
func readiness(running context.Context, sender *sender.Sender, nats *connection.NATS) func(context.Context) error {
	return func(context.Context) error {
		switch {
		case running.Err() != nil:
			return errors.New("stopping")
		case !sender.Ready():
			return errors.Join(errors.New("the database can't be reached: read the log"), nats.Err())
		}
		return nil
	}
}

// readRoots returns the system's authorities and those of a file; nil without a file, which means the system's.
func readRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // as crypto/tls has it
	}

	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("certificates of the system: %w", err)
	}

	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("CALLBOARD_WEBHOOK_CA_FILE: %w", err)
	}
	if !roots.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("CALLBOARD_WEBHOOK_CA_FILE: %s has no certificate in PEM", file)
	}

	return roots, nil
}

// session returns settings that make every plan use the indexes, also of tables whose statistics are old: deliveries
// come and go. A sender that is frozen in a transaction loses its row locks before its leases end.
func session() map[string]string {
	settings := connection.KeepAlive()
	maps.Copy(settings, map[string]string{
		"enable_seqscan": "off", "enable_bitmapscan": "off", "jit": "off", "idle_in_transaction_session_timeout": "5s",
	})
	return settings
}

// gate returns nil where readers use the primary.
func (c Config) gate() *sender.Gate {
	if len(c.ReadURLs) == 0 {
		return nil
	}
	return sender.NewGate(sender.GateConfig{Databases: c.readers, Log: c.Log})
}

// readers returns how to connect to the databases of readers, with the passwords that the files have now.
func (c Config) readers() ([]*pgx.ConnConfig, error) {
	list := make([]*pgx.ConnConfig, len(c.ReadURLs))
	for i, url := range c.ReadURLs {
		now, err := url.Reload()
		if err != nil {
			return nil, err
		}
		if list[i], err = pgx.ParseConfig(now.Reveal()); err != nil {
			// Not wrapped, because the parser's error quotes the URL.
			return nil, fmt.Errorf("PostgreSQL at %s: the URL can't be parsed", now)
		}

		maps.Copy(list[i].RuntimeParams, schema.SessionSettings())
		list[i].RuntimeParams["application_name"] = "webhooks-gate"
	}

	return list, nil
}
