// Package projector runs a projector as a program: its connections, its actors and its admin listener.
package projector

import (
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
	"callboard/projector"
	"callboard/projector/audit"
)

// Config configures a projector. Run closes the listener.
type Config struct {
	NATS       connection.NATSConfig
	Stream     string
	Postgres   setting.URL       // the primary
	Session    map[string]string // additional settings of the database sessions
	Partitions []int             // nil: all of the stream's
	AuditDays  int               // for how many days audit entries are stored; 0: 90
	Admin      net.Listener
	Log        zerolog.Logger
}

// Run applies events and stores audit entries until ctx ends.
//
//	NATS ──┐
//	       ├── projector, audit ── admin
//	pool ──┘
func Run(ctx context.Context, c Config) error {
	defer closeListener(c.Admin)
	nats, err := connection.NewNATS(c.NATS)
	if err != nil {
		return err
	}
	defer nats.Close()
	pool, err := connection.NewPool(ctx, connection.PostgresConfig{
		URL: c.Postgres, Program: "projector", ReadWrite: true, Settings: session(c.Session),
	})
	if err != nil {
		return err
	}
	defer pool.Close()
	registry := admin.NewRegistry()
	p, err := projector.New(projector.Config{
		JetStream: nats.JetStream, Stream: c.Stream, Database: pool, Partitions: c.Partitions, Log: c.Log, Metrics: registry,
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
	stack, ctx := process.NewStack(ctx)
	stack.Go(ctx, "projector", p.Run)
	stack.Go(ctx, "audit", auditWriter.Run)
	stack.Go(ctx, "admin", func(actorCtx context.Context) error {
		return admin.Serve(actorCtx, c.Admin, admin.Config{Ready: readiness(ctx, p, nats), Metrics: registry, Log: c.Log})
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
