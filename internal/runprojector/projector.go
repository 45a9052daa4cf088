// Package runprojector runs a projector as a program: its connections, its actors and its admin listener.
package runprojector

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

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
	Connections int        `type:"count" name:"postgres-connections" setting:"" min:"1" max:"1000" placeholder:"NUMBER" example:"8" help:"The number of connections to PostgreSQL for batches, beside five for other work. A partition uses one at a time; with fewer, partitions wait for each other. Default: twice the processors, at least 4."`
	Partitions  Partitions `type:"text" setting:"" placeholder:"0-7,12" help:"The partitions that this projector may own. Default: all."`
	AuditDays   int        `type:"count" name:"audit-days" setting:"" min:"1" max:"36500" default:"90" help:"For how many days audit entries are stored."`
}

// Partitions are numbers of partitions, in ascending order.
type Partitions []int

// partitionBits are enough for the partition numbers of any stream. More would let typing errors need much memory.
const partitionBits = 15

// UnmarshalText reads numbers and ranges.
func (p *Partitions) UnmarshalText(text []byte) error {
	for part := range strings.SplitSeq(string(text), ",") {
		low, high, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			high = low
		}

		first, err1 := strconv.ParseUint(low, 10, partitionBits)
		last, err2 := strconv.ParseUint(high, 10, partitionBits)
		if err1 != nil || err2 != nil || last < first {
			return errors.New("is not a list of partitions: write for example 0-7,12")
		}

		for number := first; number <= last; number++ {
			*p = append(*p, int(number))
		}
	}

	// The text may repeat numbers, and name them in any order.
	slices.Sort(*p)
	*p = slices.Compact(*p)
	return nil
}

// Program is the projector as a program, with all its settings.
type Program struct {
	run.ServerSettings `embed:""`
	Stream             setting.Stream `embed:""`
	Settings           Settings       `embed:""`
}

// Run runs the projector until ctx ends.
func (p *Program) Run(ctx context.Context, streams run.Streams) error {
	run.RelaxGC()
	server, err := p.Open(ctx, "projector", nil, streams)
	if err != nil {
		return err
	}
	return Run(ctx, Config{Server: server, Settings: p.Settings, Stream: p.Stream.Name})
}

// Config configures a projector. Run closes the listener.
type Config struct {
	run.Server
	Settings
	Stream string // of events
}

// Run applies events, stores audit entries and serves the console until ctx ends.
//
//	NATS ───┐
//	        ├── projector, audit ── console ── admin
//	pools ──┘
func Run(ctx context.Context, c Config) error {
	defer func() { _ = c.Admin.Close() }() // where no actor has served it

	// What is closed last is opened first.
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

	// The actors of the program.
	p := projector.New(projector.Config{
		JetStream: nats.JetStream, Stream: c.Stream, Database: pools.batches, Control: pools.control,
		Partitions: c.Partitions, Log: c.Log, Metrics: registry, Tracer: traces.Tracer(),
	})

	auditWriter := audit.New(audit.Config{
		JetStream: nats.JetStream, Database: pools.audit, Retention: c.AuditDays, Log: c.Log, Metrics: registry,
	})

	page := console.New(console.Config{Source: status.Source{
		JetStream: nats.JetStream, Stream: c.Stream, Pool: pools.console, Definition: schema.Definition(),
	}})

	// The stack stops its actors in the reverse order, so NATS ends last.
	stack, ctx := run.NewStack(ctx)
	stack.Go(ctx, "nats", nats.Run)
	stack.Go(ctx, "projector", p.Run)
	stack.Go(ctx, "audit", auditWriter.Run)
	stack.Go(ctx, "console", page.Run)
	stack.Go(ctx, "admin", func(actorCtx context.Context) error {
		return run.ServeAdmin(actorCtx, c.Admin, run.Admin{
			Ready: readiness(ctx, p, nats), Metrics: registry, Pages: page.Pages(), Log: c.Log,
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
