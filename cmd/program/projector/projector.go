// Package projector runs a projector as a program: its connections, its actors and its admin listener.
package projector

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/rs/zerolog"

	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
	"callboard/internal/run/tracing"
	"callboard/projector"
	"callboard/projector/audit"
	"callboard/projector/console"
	"callboard/projector/status"
	"callboard/schema"
)

// Settings are the settings that only a projector has. The zero value stands for the defaults.
type Settings struct {
	Connections int           `type:"count" name:"postgres-connections" setting:"" min:"1" max:"1000" placeholder:"NUMBER" example:"8" help:"The number of connections to PostgreSQL for batches, beside five for other work. A partition uses one at a time; with fewer, partitions wait for each other. Default: twice the processors, at least 4."`
	Partitions  []int         `type:"partitions" setting:"" placeholder:"0-7,12" help:"The partitions that this projector may own. Default: all."`
	FeedMemory  int64         `type:"memory" name:"feed-memory" setting:"" default:"64MiB" placeholder:"SIZE" help:"The memory for messages that wait to be committed, of all partitions, beside 16MiB that NATS sends ahead."`
	Clock       time.Duration `setting:"" min:"250ms" max:"60s" default:"1s" placeholder:"DURATION" help:"How old the newest clock message of the stream may be until the projector publishes another one, 250ms to 60s: while there are no events, watermarks move that often."`
	AuditDays   int           `type:"count" name:"audit-days" setting:"" min:"1" max:"36500" default:"90" help:"For how many days audit entries are stored."`
}

// Config configures a projector. Run closes the listener.
type Config struct {
	Settings
	NATS     connection.NATSConfig
	Stream   string
	Postgres setting.URL       // the primary
	Session  map[string]string // additional settings of the database sessions
	Admin    net.Listener
	PProf    bool // serve profiles on the admin listener
	Log      zerolog.Logger
}

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
	registry := run.NewRegistry()
	connection.CheckTLS(c.Log, c.Postgres)
	pools, err := c.openPools(ctx, registry)
	if err != nil {
		return err
	}
	defer pools.close()
	p, err := projector.New(projector.Config{
		JetStream: nats.JetStream, Stream: c.Stream, Database: pools.batches, Control: pools.control, Partitions: c.Partitions,
		FeedBytes: c.FeedMemory, Clock: c.Clock,
		Log: c.Log, Metrics: registry, Tracer: traces.Tracer(),
	})
	if err != nil {
		return fmt.Errorf("projector: %w", err)
	}
	auditWriter, err := audit.New(audit.Config{
		JetStream: nats.JetStream, Database: pools.audit, Retention: c.AuditDays, Log: c.Log, Metrics: registry,
	})
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	page, err := console.New(console.Config{Source: status.Source{
		JetStream: nats.JetStream, Stream: c.Stream, Pool: pools.console, Definition: schema.Definition(),
	}})
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	stack, ctx := run.NewStack(ctx)
	stack.Go(ctx, "nats", nats.Run)
	stack.Go(ctx, "projector", p.Run)
	stack.Go(ctx, "audit", auditWriter.Run)
	stack.Go(ctx, "console", page.Run)
	stack.Go(ctx, "admin", func(actorCtx context.Context) error {
		return run.ServeAdmin(actorCtx, c.Admin, run.Admin{
			Ready: readiness(ctx, p, nats), Metrics: registry, PProf: c.PProf, Pages: page.Pages(), Log: c.Log,
		})
	})
	return stack.Wait(ctx)
}

func readiness(running context.Context, p *projector.Projector, nats *connection.NATS) func(context.Context) error {
	return func(context.Context) error {
		switch {
		case running.Err() != nil:
			return errors.New("stopping")
		case nats.Err() != nil:
			return nats.Err()
		}
		return p.Ready()
	}
}

// closeListener closes a listener that no actor has served.
func closeListener(listener net.Listener) { _ = listener.Close() }
