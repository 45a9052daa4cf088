// Package readapi is the reader as a running program: its pools, its public listener and its admin listener.
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

// Config is what a reader is run with. Run closes the listeners.
type Config struct {
	NATS           connection.NATSConfig // for budgets and the audit
	Premium        int                   // requests a minute of a premium key
	LimiterTimeout time.Duration         // of a decision about a budget; zero: 50 ms
	RequestTimeout time.Duration         // zero: 5 s
	Primary        setting.URL
	Replica        setting.URL       // where the projection is read; zero: the primary
	Session        map[string]string // further settings of the database sessions
	BaseURL        string
	Peppers        []access.Pepper
	CursorKey      setting.Secret // seals cursors and links
	Audio          audio.Location
	TrustedProxies []netip.Prefix
	Public, Admin  net.Listener
	Log            zerolog.Logger
}

// Run answers requests until ctx ends; then it stops being ready, lets the requests under way end and hands over what the audit
// has of them.
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
	stack.Go(ctx, "admin", func(own context.Context) error {
		return admin.Serve(own, c.Admin, admin.Config{Ready: readiness(ctx, auditQueue, primary, replica), Metrics: registry, Log: c.Log})
	})
	stack.Go(ctx, "limiter", limiter.Run)
	stack.Go(ctx, "audit queue", auditQueue.Run)
	stack.Go(ctx, "public", func(own context.Context) error {
		return process.Serve(own, c.Public, publicServer(handler), c.Log)
	})
	return stack.Wait(ctx)
}

// publicServer gives a client time enough for an honest request over a bad line, and not more. A request has no body and no
// header longer than a chain of proxies makes it.
func publicServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler,
		// "OPTIONS *" is the service's to answer, like every other request.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            5 * time.Second,
		ReadTimeout:                  10 * time.Second,
		WriteTimeout:                 2 * time.Minute, // the largest answer at 0.4 Mbit/s
		IdleTimeout:                  2 * time.Minute,
		MaxHeaderBytes:               32 << 10,
	}
}

// readiness reaches both databases and has room in the audit queue. How far behind the projection is does not matter: it is in
// every answer.
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

// closeListeners is for the ways out before anybody serves on them; whoever serves has closed them.
func closeListeners(listeners ...net.Listener) {
	for _, listener := range listeners {
		_ = listener.Close()
	}
}
