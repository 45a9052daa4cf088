// Package projector runs a projector as a program: its connections, its actors and its admin listener.
package projector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"

	"github.com/rs/zerolog"

	"callboard/cmd/admin"
	"callboard/cmd/connection"
	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/cmd/tracing"
	"callboard/projector"
	"callboard/projector/audit"
	"callboard/projector/console"
	"callboard/projector/status"
	"callboard/schema"
)

// Config configures a projector. Run closes the listener.
type Config struct {
	NATS        connection.NATSConfig
	Stream      string
	Postgres    setting.URL       // the primary
	Connections int               // of the pool; zero: 20
	Session     map[string]string // additional settings of the database sessions
	Partitions  []int             // nil: all of the stream's
	AuditDays   int               // for how many days audit entries are stored; 0: 90
	Admin       net.Listener
	PProf       bool // serve profiles on the admin listener
	Log         zerolog.Logger
}

const (
	// defaultConnections are enough for 16 partitions, each of which uses one at a time, and for the audit and the metrics. With fewer
	// connections than partitions, the partitions wait for each other.
	defaultConnections = 20

	// lockConnections hold the locks of the partitions. They are not in the pool.
	lockConnections = 1

	// consoleConnections are apart, so that a report does not wait for batches, nor a batch for a report.
	consoleConnections = 1
)

// Run applies events, stores audit entries and serves the console until ctx ends.
//
//	NATS ───┐
//	        ├── projector, audit ── console ── admin
//	pools ──┘
func Run(ctx context.Context, c Config) error {
	defer closeListener(c.Admin)
	nats, err := connection.NewNATS(c.NATS)
	if err != nil {
		return err
	}
	defer nats.Close()
	traces, err := tracing.New(ctx, "callboard-projector", c.Log)
	if err != nil {
		return err
	}
	defer traces.Close()
	registry := admin.NewRegistry()
	connections := cmp.Or(c.Connections, defaultConnections)
	connection.CheckTLS(c.Log, c.Postgres)
	pool, err := connection.NewPool(ctx, connection.PostgresConfig{
		URL: c.Postgres, Program: "projector", Pool: "projector", Connections: connections, ReadWrite: true, Settings: session(c.Session),
		Log: c.Log, Metrics: registry,
	})
	if err != nil {
		return err
	}
	defer pool.Close()
	c.Log.Info().Str("pool", "projector").Stringer("server", c.Postgres).Int("connections", connections+lockConnections+consoleConnections).
		Msg("postgres pool opened")
	p, err := projector.New(projector.Config{
		JetStream: nats.JetStream, Stream: c.Stream, Database: pool, Partitions: c.Partitions, Log: c.Log, Metrics: registry,
		Tracer: traces.Tracer(),
	})
	if err != nil {
		return fmt.Errorf("projector: %w", err)
	}
	auditWriter, err := audit.New(audit.Config{
		JetStream: nats.JetStream, Database: pool, Retention: c.AuditDays, Log: c.Log, Metrics: registry,
	})
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	consolePool, err := connection.NewPool(ctx, connection.PostgresConfig{
		URL: c.Postgres, Program: "projector-console", Pool: "console", Connections: consoleConnections, ReadWrite: true,
		Settings: consoleSession(c.Session), Log: c.Log, Metrics: registry,
	})
	if err != nil {
		return err
	}
	defer consolePool.Close()
	page, err := console.New(console.Config{Source: status.Source{
		JetStream: nats.JetStream, Stream: c.Stream, Pool: consolePool, Definition: schema.Definition(),
	}})
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	stack, ctx := process.NewStack(ctx)
	stack.Go(ctx, "projector", p.Run)
	stack.Go(ctx, "audit", auditWriter.Run)
	stack.Go(ctx, "console", page.Run)
	stack.Go(ctx, "admin", func(actorCtx context.Context) error {
		return admin.Serve(actorCtx, c.Admin, admin.Config{
			Ready: readiness(ctx, p, nats), Metrics: registry, PProf: c.PProf, Pages: page.Pages(), Log: c.Log,
		})
	})
	return stack.Wait(ctx)
}

// session returns settings with the live generation in the search path. The keepalives make the server notice within seconds that the
// host of a session has disappeared, and release the session's locks.
func session(additional map[string]string) map[string]string {
	settings := map[string]string{
		"search_path":             "projection",
		"tcp_keepalives_idle":     "5",
		"tcp_keepalives_interval": "2",
		"tcp_keepalives_count":    "3",
	}
	maps.Copy(settings, additional)
	return settings
}

// consoleSession returns the settings of the console's own connection. A report that takes longer than the console waits ends in the
// server, too.
func consoleSession(additional map[string]string) map[string]string {
	settings := map[string]string{"statement_timeout": "5s"}
	maps.Copy(settings, additional)
	return settings
}

func readiness(running context.Context, p *projector.Projector, nats *connection.NATS) func(context.Context) error {
	return func(context.Context) error {
		switch {
		case running.Err() != nil:
			return errors.New("stopping")
		case nats.Err() != nil:
			return nats.Err()
		case !p.Ready():
			return errors.New("the stream or the database can't be reached: read the log")
		}
		return nil
	}
}

// closeListener closes a listener that no actor has served.
func closeListener(listener net.Listener) { _ = listener.Close() }
