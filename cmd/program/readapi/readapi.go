// Package readapi runs a reader as a program: its pools, its actors, its public listener and its admin listener.
package readapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"callboard/cmd/admin"
	"callboard/cmd/connection"
	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/readapi"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/audit"
	"callboard/readapi/limit"
)

// Config configures a reader. Run closes the listeners.
type Config struct {
	NATS           connection.NATSConfig // for budgets and the audit
	Premium        int                   // requests per minute of a premium key
	LimiterTimeout time.Duration         // of a decision about a budget; zero: 50 ms
	RequestTimeout time.Duration         // zero: 5 s
	Primary        setting.URL
	Replica        setting.URL       // the projection is read from it; zero: the primary
	Session        map[string]string // additional settings of the database sessions
	BaseURL        string
	Peppers        []access.Pepper
	CursorKey      setting.Secret // seals cursors and links
	Audio          audio.Location
	TrustedProxies []netip.Prefix
	Public, Admin  net.Listener
	Log            zerolog.Logger
}

// Run serves requests until ctx ends. Then it reports that it is not ready, finishes the running requests and sends their audit
// entries.
//
//	primary ──┐
//	replica ──┼── readapi ── public
//	NATS ─────┘         ├─── audit queue
//	                    └─── admin
func Run(ctx context.Context, c Config) error {
	defer closeListeners(c.Public, c.Admin)
	nats, err := connection.NewNATS(c.NATS)
	if err != nil {
		return err
	}
	defer nats.Close()
	primary, err := connection.NewPool(ctx, connection.PostgresConfig{
		URL: c.Primary, Program: "reader", ReadWrite: true, Settings: c.Session,
	})
	if err != nil {
		return err
	}
	defer primary.Close()
	replica := primary
	if c.Replica.Reveal() != "" {
		replica, err = connection.NewPool(ctx, connection.PostgresConfig{URL: c.Replica, Program: "reader", Settings: c.Session})
		if err != nil {
			return err
		}
		defer replica.Close()
	}
	registry := admin.NewRegistry()
	limiter, err := limit.New(limit.Config{
		JetStream: nats.JetStream, Report: limit.ReportPerMinute, Standard: limit.StandardPerMinute, Premium: c.Premium,
		DecisionTimeout: c.LimiterTimeout, Log: c.Log, Metrics: registry,
	})
	if err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	auditQueue, err := audit.NewQueue(audit.Config{JetStream: nats.JetStream, Log: c.Log, Metrics: registry})
	if err != nil {
		return fmt.Errorf("audit queue: %w", err)
	}
	handler, err := readapi.New(readapi.Config{
		Primary: primary, Projection: replica, Peppers: c.Peppers, Limiter: limiter, AuditQueue: auditQueue,
		Secret: []byte(c.CursorKey.Reveal()), Audio: c.Audio, BaseURL: c.BaseURL, TrustedProxies: c.TrustedProxies, Timeout: c.RequestTimeout,
		Log: c.Log, Metrics: registry,
	})
	if err != nil {
		return fmt.Errorf("reader: %w", err)
	}
	stack, ctx := process.NewStack(ctx)
	stack.Go(ctx, "admin", func(actorCtx context.Context) error {
		return admin.Serve(actorCtx, c.Admin, admin.Config{Ready: readiness(ctx, auditQueue, primary, replica), Metrics: registry, Log: c.Log})
	})
	stack.Go(ctx, "limiter", limiter.Run)
	stack.Go(ctx, "audit queue", auditQueue.Run)
	stack.Go(ctx, "public", func(actorCtx context.Context) error {
		return process.Serve(actorCtx, c.Public, publicServer(handler), c.Log)
	})
	return stack.Wait(ctx)
}

// publicServer has timeouts that suffice for a client with a slow connection. Requests have no body, and headers no longer than a chain
// of proxies makes them.
func publicServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler,
		// The handler answers "OPTIONS *" like every other request.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            5 * time.Second,
		ReadTimeout:                  10 * time.Second,
		WriteTimeout:                 2 * time.Minute, // the largest response at 0.4 Mbit/s
		IdleTimeout:                  2 * time.Minute,
		MaxHeaderBytes:               32 << 10,
	}
}

// readiness returns a check that both databases can be reached and the audit queue is not full. The projection's lag does not matter,
// since every response contains the watermark.
func readiness(running context.Context, auditQueue *audit.Queue, pools ...*pgxpool.Pool) func(context.Context) error {
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

// closeListeners closes the listeners that no actor has served.
func closeListeners(listeners ...net.Listener) {
	for _, listener := range listeners {
		_ = listener.Close()
	}
}
