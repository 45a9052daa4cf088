//go:build !operator

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/sample"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
	"callboard/internal/runprojector"
	"callboard/internal/runreadapi"
	"callboard/internal/runwebhooks"
	"callboard/schema/cluster"
)

// devConfig configures an instance. Its flags read no environment variables, so a second instance can start in a shell
// that loaded the first one's settings.
type devConfig struct {
	Listen      string      `type:"address" default:"127.0.0.1:8080" help:"The address of the API; :0 selects a free port."`
	NATSListen  string      `type:"address" name:"nats-listen" default:"127.0.0.1:4222" help:"The address of the embedded NATS server."`
	Data        string      `placeholder:"DIR" help:"The data directory. Default: a directory in the user's cache directory."`
	Fresh       bool        `help:"Delete the data of earlier runs."`
	Sample      devSample   `enum:"live,small,none" default:"live" help:"live: weeks of calls, and new calls while dev runs. small: some hundred calls. none: no calls."`
	NATSURL     setting.URL `type:"nats-url" name:"nats-url" placeholder:"URL" help:"Use this NATS server instead of an embedded one."`
	PostgresURL setting.URL `type:"postgres-url" name:"postgres-url" placeholder:"URL" help:"Use this database instead of an embedded server. The user must be allowed to create roles."`
	PostgresBin string      `type:"path" placeholder:"DIR" help:"The directory of PostgreSQL's binaries. Default: installed ones, or else downloaded ones."`
	ReadyFile   string      `placeholder:"FILE" help:"Write addresses, key and settings to this file when everything is ready."`
	JSON        bool        `kong:"-"` // print the content of the ready file
	Out, Err    io.Writer   `kong:"-"`
}

type devInstance struct {
	devConfig
	dir       *devDirectory
	log       zerolog.Logger
	display   *progressDisplay
	stack     *run.Stack
	public    net.Listener
	admin     adminListeners
	natsURL   setting.URL
	database  *devDatabase
	publisher *connection.NATS
	company   *sample.Company // nil without a sample
}

type adminListeners struct{ reader, projector, webhooks net.Listener }

// runDev starts everything, prints how to use it, and stops everything in the reverse order when ctx ends.
//
//	NATS ──────┬── publisher ── sample, live calls
//	           │
//	           ├── projector ──┐
//	PostgreSQL ┼── reader ─────┤ tables
//	           └── webhooks ───┘
func runDev(ctx context.Context, c devConfig) (err error) {
	i := &devInstance{devConfig: c}
	if i.dir, err = openDevDirectory(c.Data, c.Fresh); err != nil {
		return err
	}
	defer i.dir.close()
	if err := i.removeReadyFile(); err != nil {
		return err
	}

	if i.log, err = i.dir.openLog(c.Err); err != nil {
		return err
	}
	defer i.closeListeners()
	if err := i.listen(ctx); err != nil {
		return err
	}

	// Run until the end of ctx, or of an actor.
	stack, running := run.NewStack(ctx)
	i.stack = stack
	err = i.start(running)
	if err == nil {
		<-running.Done()
	}

	// An interruption is no error. An error of an actor counts more than one of a step that it broke.
	if ctx.Err() != nil {
		err = nil // of the interruption
		fmt.Fprintln(c.Err, "stopping")
	}
	if stopErr := stack.Stop(); stopErr != nil {
		err = stopErr
	}
	return err
}

// start starts the actors and returns when everything is ready.
func (i *devInstance) start(ctx context.Context) error {
	i.display = newProgress(i.Err)
	defer i.display.Close()
	for _, step := range []func(context.Context) error{
		i.startNATS, i.startPostgres, i.startPublisher, i.startProjector, i.startReader, i.startWebhooks, i.load, i.finish,
	} {
		if err := step(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// listen opens the addresses before anything is started, so that an address in use is reported at once.
func (i *devInstance) listen(ctx context.Context) (err error) {
	if i.public, err = run.Listen(ctx, i.Listen); err != nil {
		return fmt.Errorf("%w: use --listen :0 to select a free port", err)
	}
	for _, listener := range []*net.Listener{&i.admin.reader, &i.admin.projector, &i.admin.webhooks} {
		if *listener, err = run.Listen(ctx, "127.0.0.1:0"); err != nil {
			return err
		}
	}
	return nil
}

// closeListeners closes the listeners that no actor has closed.
func (i *devInstance) closeListeners() {
	for _, listener := range []net.Listener{i.public, i.admin.reader, i.admin.projector, i.admin.webhooks} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}

func (i *devInstance) startNATS(ctx context.Context) error {
	if i.NATSURL.Reveal() != "" {
		i.natsURL = i.NATSURL
		return nil
	}
	server, err := startNATSServer(i.NATSListen, i.dir.path("nats"), i.log)
	if err != nil {
		return err
	}
	i.stack.Go(ctx, "nats", server.run)
	i.natsURL, err = setting.NewNATSURL(server.url())
	return err
}

func (i *devInstance) startPostgres(ctx context.Context) (err error) {
	i.database, err = newDevDatabase(ctx, i.PostgresURL, cluster.Config{
		BinDir: i.PostgresBin, DataDir: i.dir.path("postgres"), Password: i.dir.postgres, Progress: i.display.Println,
	})
	if err != nil {
		return err
	}
	i.stack.Go(ctx, "postgres", i.database.run)
	return i.database.prepare(ctx, i.display.Println)
}

func (i *devInstance) startPublisher(ctx context.Context) (err error) {
	i.publisher, err = connection.NewNATS(connection.NATSConfig{URL: i.natsURL, Name: "callboard-dev", Log: i.log})
	if err != nil {
		return err
	}
	i.stack.Go(ctx, "publisher", i.publisher.Run)
	return i.createStreams(ctx)
}

// createStreams creates the streams and the bucket if they are missing. The reader creates the streams of its limiter.
func (i *devInstance) createStreams(ctx context.Context) error {
	js := i.publisher.JetStream
	for _, ensure := range []func() (bool, error){
		func() (bool, error) { return events.EnsureBucket(ctx, js, 1) },
		func() (bool, error) {
			return events.EnsureStream(ctx, js, events.StreamConfig(events.StreamName, events.DefaultPartitions, 1))
		},
		func() (bool, error) { return events.EnsureStream(ctx, js, events.KeyStreamConfig(1)) },
		func() (bool, error) { return events.EnsureStream(ctx, js, events.AuditStreamConfig(1)) },
	} {
		if _, err := ensure(); err != nil {
			return err
		}
	}
	return nil
}

// server configures a program with its own database role. Its log names the program.
func (i *devInstance) server(program, role string, admin net.Listener) (run.Server, error) {
	url, session, err := i.database.role(role)
	log := i.log.With().Str("program", program).Logger()
	return run.Server{
		NATS:     connection.NATSConfig{URL: i.natsURL, Name: "callboard-" + program, Log: log},
		Postgres: url, Session: session, Admin: admin, Log: log,
	}, err
}

func (i *devInstance) startProjector(ctx context.Context) error {
	server, err := i.server("projector", "callboard_projector", i.admin.projector)
	if err != nil {
		return err
	}
	config := runprojector.Config{Server: server, Stream: events.StreamName}
	i.stack.Go(ctx, "projector", func(ctx context.Context) error { return runprojector.Run(ctx, config) })
	return nil
}

const (
	premiumPerMinute = 600       // the default of CALLBOARD_PREMIUM_PER_MINUTE
	coverageMaxAge   = time.Hour // that of CALLBOARD_COVERAGE_MAX_AGE
)

func (i *devInstance) startReader(ctx context.Context) error {
	server, err := i.server("reader", "callboard_reader", i.admin.reader)
	if err != nil {
		return err
	}
	location, err := i.dir.audio()
	if err != nil {
		return err
	}
	config := runreadapi.Config{
		Server: server, Public: i.public, Peppers: i.dir.peppers(),
		Settings: runreadapi.Settings{
			Premium: premiumPerMinute, BaseURL: i.baseURL(), CursorKey: i.dir.cursorKey(), Audio: location, CoverageMaxAge: coverageMaxAge,
		},
	}
	i.stack.Go(ctx, "reader", func(ctx context.Context) error { return runreadapi.Run(ctx, config) })
	return nil
}

// startWebhooks starts a sender that sends to this machine, too, and trusts the certificate of 'callboard webhooks
// listen'.
func (i *devInstance) startWebhooks(ctx context.Context) error {
	server, err := i.server("webhooks", "callboard_webhooks", i.admin.webhooks)
	if err != nil {
		return err
	}
	if _, err := run.LoadCertificate(i.dir.path(listenCertificate), "", time.Now()); err != nil {
		return err
	}
	config := runwebhooks.Config{
		Server: server, Keys: i.dir.webhookKeys(),
		Settings: runwebhooks.Settings{Targets: setting.WebhookTargets{
			AllowNetworks: []netip.Prefix{netip.MustParsePrefix(localNetwork), netip.PrefixFrom(netip.IPv6Loopback(), 128)},
			CA:            i.dir.path(listenCertificate),
		}},
	}
	i.stack.Go(ctx, "webhooks", func(ctx context.Context) error { return runwebhooks.Run(ctx, config) })
	return nil
}

const (
	// localNetwork is where 'callboard webhooks listen' listens.
	localNetwork = "127.0.0.0/8"

	// listenCertificate is the name of the file with its certificate and key.
	listenCertificate = "webhook-listen.pem"
)

// baseURL returns the URL at which this machine reaches the reader.
func (i *devInstance) baseURL() string {
	host, port, err := net.SplitHostPort(i.public.Addr().String())
	if ip := net.ParseIP(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/v1"
}

// finish waits until the reader, the projector and the sender are ready, prints how to use them, and starts the live
// calls.
func (i *devInstance) finish(ctx context.Context) error {
	for _, admin := range []net.Listener{i.admin.reader, i.admin.projector, i.admin.webhooks} {
		if err := i.waitUntilReady(ctx, admin); err != nil {
			return err
		}
	}
	ready, err := i.newReady(ctx)
	if err != nil {
		return err
	}
	if err := i.publishReady(ready); err != nil {
		return err
	}
	if i.Sample == liveSample {
		i.stack.Go(ctx, "live calls", i.publishLiveCalls)
	}
	return nil
}
