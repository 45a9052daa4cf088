// Package runreadapi runs a reader as a program: its pools, its actors, its public listener and its admin listener.
package runreadapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
	"callboard/internal/run/tracing"
	"callboard/readapi"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/auditqueue"
	"callboard/readapi/limit"
)

// Settings are the settings that only a reader has. Zero sizes stand for the defaults.
type Settings struct {
	Replica         setting.URL    `type:"postgres-url" name:"postgres-read-url" setting:"" secret:"" placeholder:"URL" help:"The PostgreSQL server that the projection is read from, such as a replica. Default: the primary."`
	ReadConnections int            `type:"count" name:"read-connections" setting:"" min:"1" max:"1000" default:"16" help:"The number of connections to the PostgreSQL server that the projection is read from. The reader has 4 more to the primary for credentials, and one to each server for its readiness."`
	BodyMemory      int64          `type:"memory" name:"body-memory" setting:"" min:"14MiB" default:"192MiB" placeholder:"SIZE" help:"The memory for all responses that are being made or written, 14MiB or more. A key has an eighth of it, at least 14MiB."`
	BaseURL         string         `type:"base-url" name:"base-url" setting:"" missing:"set it to the public URL of the API, such as https://host/v1" placeholder:"URL" help:"The public URL of the API. It ends in /v1."`
	CursorKey       setting.Secret `type:"cursor-key" setting:"" secret:"" missing:"set it to 32 random bytes in base64, the same for all readers; generate them with 'openssl rand -base64 32'" placeholder:"BASE64" help:"The secret that encrypts cursors and links to audio, the same for all readers. Do not put it on the command line."`
	Audio           audio.Location `type:"audio-url" name:"audio-url" setting:"" missing:"set it to the bucket or directory of the recordings' audio, such as s3://bucket?region=name or file:///directory" placeholder:"URL" help:"The place of the recordings' audio: s3://bucket/prefix?endpoint=https://host&region=name&style=path, or file:///directory, which the reader serves itself."`
	TrustedProxies  []netip.Prefix `type:"networks" setting:"" placeholder:"CIDR,..." help:"The networks whose X-Forwarded-For headers are trusted."`
	CoverageMaxAge  time.Duration  `name:"coverage-max-age" setting:"" min:"0s" default:"1h" placeholder:"DURATION" help:"How far the watermark that decides the coverage of a group or an organization may be behind. Keys of one that is further behind are answered 503. 0: no limit. Keys of one phone system are not affected."`
	Drain           time.Duration  `setting:"" min:"0s" max:"10m" default:"0s" example:"10s" placeholder:"DURATION" help:"For how long the reader answers requests after it was asked to stop, while /readyz says that it is not ready. The time that a load balancer needs to notice."`
	Premium         int            `type:"count" name:"premium-per-minute" setting:"" min:"1" max:"2147483647" default:"600" help:"The number of requests per minute of a key of the premium tier."`
}

// Program is the reader as a program, with all its settings.
type Program struct {
	run.ServerSettings `embed:""`
	Settings           Settings       `embed:""`
	Pepper             setting.Pepper `embed:""`
	Listen             string         `type:"address" setting:"" default:":8080" help:"The address of the API."`
}

// Run serves requests until ctx ends.
func (p *Program) Run(ctx context.Context, streams run.Streams) error {
	public, err := run.Listen(ctx, p.Listen)
	if err != nil {
		return err
	}
	server, err := p.Open(ctx, "reader", public, streams)
	if err != nil {
		return err
	}
	return Run(ctx, Config{Server: server, Settings: p.Settings, Peppers: p.Pepper.Peppers, Public: public})
}

// Config configures a reader. Run closes the listeners. Its NATS connection is for the audit; another one like it is
// for budgets.
type Config struct {
	run.Server
	Settings
	Public            net.Listener
	Peppers           []access.Pepper // the current one first
	LimiterTimeout    time.Duration   // of a decision about a budget, while NATS is connected; zero: 1 s
	RequestTimeout    time.Duration   // zero: 5 s
	DimensionsTimeout time.Duration   // of a snapshot of report dimensions; zero: 3 s
}

// Run serves requests until ctx ends. Then it reports that it is not ready, goes on for the drain, closes the public
// listener, finishes the running requests, and sends their audit entries. The admin listener is closed last.
//
//	primary ──┐
//	replica ──┼── readapi ── public, drain
//	NATS ─────┘         ├─── audit queue
//	                    └─── admin
func Run(ctx context.Context, c Config) error {
	defer func() { // where no actor has served them
		_ = c.Public.Close()
		_ = c.Admin.Close()
	}()

	// What is closed last is opened first.
	nats, budgets, err := connectNATS(c.NATS)
	if err != nil {
		return err
	}
	defer nats.Close()
	defer budgets.Close()

	traces, err := tracing.New(ctx, "callboard-readapi", c.Log)
	if err != nil {
		return err
	}
	defer traces.Close()

	registry := run.NewRegistry()
	pools, err := openPools(ctx, c, registry)
	if err != nil {
		return err
	}
	defer pools.close()

	// The actors of the program, and the handler of requests.
	limiter, err := limit.New(limit.Config{
		JetStream: budgets.JetStream, Report: limit.ReportPerMinute, Standard: limit.StandardPerMinute, Premium: c.Premium,
		Timeout: c.LimiterTimeout, Log: c.Log, Metrics: registry,
	})
	if err != nil {
		return fmt.Errorf("limiter: %w", err)
	}

	auditQueue := auditqueue.NewQueue(auditqueue.Config{JetStream: nats.JetStream, Log: c.Log, Metrics: registry})
	handler, err := readapi.New(readapi.Config{
		Primary: pools.access, Projection: pools.projection, Peppers: c.Peppers, Limiter: limiter, AuditQueue: auditQueue,
		Secret: []byte(c.CursorKey.Reveal()), Audio: c.Audio, BaseURL: c.BaseURL, TrustedProxies: c.TrustedProxies,
		Timeout:           c.RequestTimeout,
		DimensionsTimeout: c.DimensionsTimeout, CoverageMaxAge: c.CoverageMaxAge, BodyMemory: c.BodyMemory,
		Log: c.Log, Metrics: registry,
	})
	if err != nil {
		return fmt.Errorf("reader: %w", err)
	}

	monitor, err := readapi.NewFreshnessMonitor(pools.primary(), pools.projection, c.Log, registry)
	if err != nil {
		return fmt.Errorf("freshness: %w", err)
	}

	// The public listener bounds connections of clients that have sent no key yet.
	server := publicServer()
	public, open := run.LimitConnections(c.Public, server, maxConnections)
	if err := registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "callboard_readapi_connections", Help: "Open connections of clients; further ones wait while there are 4096.",
	}, func() float64 { return float64(open.Load()) })); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}

	// Actors are stopped in the reverse order: the drain first, so that the public listener goes on until it is over.
	stack, running := run.NewStack(ctx)
	server.Handler = run.CloseConnections(running, traces.Handler(handler))

	stack.Go(running, "nats", nats.Run)
	stack.Go(running, "nats of the budgets", budgets.Run)
	stack.Go(running, "admin", func(actorCtx context.Context) error {
		return run.ServeAdmin(actorCtx, c.Admin, run.Admin{
			Ready: readiness(running, auditQueue, pools.readiness...), Metrics: registry, Log: c.Log,
		})
	})

	stack.Go(running, "freshness", monitor.Run)
	stack.Go(running, "limiter", limiter.Run)
	stack.Go(running, "audit queue", auditQueue.Run)
	stack.Go(running, "public", func(actorCtx context.Context) error {
		return run.Serve(actorCtx, public, server, c.Log)
	})

	stack.Go(running, "drain", run.Drain(ctx, c.Drain))
	return stack.Wait(running)
}

// connectNATS opens the connection of the audit, and that of the budgets, on which nothing else delays a decision.
func connectNATS(c connection.NATSConfig) (nats, budgets *connection.NATS, err error) {
	if nats, err = connection.NewNATS(c); err != nil {
		return nil, nil, err
	}

	c.Name, c.Interactive = c.Name+" budgets", true
	if budgets, err = connection.NewNATS(c); err != nil {
		nats.Close()
		return nil, nil, err
	}
	return nats, budgets, nil
}

// maxConnections bounds what clients take that have sent no key yet.
const maxConnections = 4096

// publicServer has timeouts that suffice for a client with a slow connection. Responses of operations have shorter
// ones. Requests have no body, and headers no longer than a chain of proxies makes them.
func publicServer() *http.Server {
	return &http.Server{
		// The handler answers "OPTIONS *" like every other request.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            5 * time.Second,
		ReadTimeout:                  10 * time.Second,
		WriteTimeout:                 2 * time.Minute, // the largest response at 0.4 Mbit/s
		IdleTimeout:                  2 * time.Minute,
		MaxHeaderBytes:               16 << 10,
	}
}

// readiness returns a check that both databases can be reached and the audit queue is not full. The projection's lag
// does not matter, since every response contains the watermark.
func readiness(
	running context.Context, auditQueue *auditqueue.Queue, pools ...*pgxpool.Pool,
) func(context.Context) error {
	return func(ctx context.Context) error {
		switch {
		case running.Err() != nil:
			return errors.New("stopping")
		case auditQueue.Full():
			return errors.New("the audit's queue is full: NATS takes no entries")
		}

		for _, pool := range pools {
			if err := pool.Ping(ctx); err != nil {
				return fmt.Errorf("PostgreSQL: %w", err)
			}
		}

		return nil
	}
}
