// Package projector is the projector as a running program: its connections, its loop and its admin listener.
package projector

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/rs/zerolog"

	"callboard/cmd/admin"
	"callboard/cmd/connection"
	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/projector"
	"callboard/projector/audit"
)

// Config is what a projector is run with. Run closes the listener.
type Config struct {
	NATS       connection.NATSConfig
	Stream     string
	Postgres   setting.URL       // the primary
	Session    map[string]string // further settings of the database sessions
	Partitions []int             // nil: all of the stream's
	AuditDays  int               // how long the audit is kept; 0: 90
	Admin      net.Listener
	Log        zerolog.Logger
}

// Run keeps the projection, and files the audit, until ctx ends.
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
	filer, err := audit.New(audit.Config{
		JetStream: nats.JetStream, Database: pool, Retention: c.AuditDays, Log: c.Log, Metrics: registry,
	})
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	stack, ctx := process.NewStack(ctx)
	stack.Go(ctx, "projector", p.Run)
	stack.Go(ctx, "audit", filer.Run)
	stack.Go(ctx, "admin", func(own context.Context) error {
		return admin.Serve(own, c.Admin, admin.Config{Ready: readiness(ctx, p, nats), Metrics: registry, Log: c.Log})
	})
	return stack.Wait(ctx)
}

// session puts the projection, whichever generation is live, on the search path. A server notices within seconds that the host of a
// session is gone, and lets its locks go.
func session(further map[string]string) map[string]string {
	settings := map[string]string{
		"search_path":             "projection",
		"tcp_keepalives_idle":     "5",
		"tcp_keepalives_interval": "2",
		"tcp_keepalives_count":    "3",
	}
	for name, value := range further {
		settings[name] = value
	}
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
			return errors.New("the stream or the database is out of reach; the log says why")
		}
		return nil
	}
}

// closeListener is for the ways out before anybody serves on it; whoever serves has closed it.
func closeListener(listener net.Listener) { _ = listener.Close() }
