package dev

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"callboard/cmd/program/projector"
	"callboard/cmd/program/readapi"
	"callboard/cmd/program/webhooks"
	"callboard/cmd/progress"
	"callboard/events"
	"callboard/events/audit"
	"callboard/events/journal"
	"callboard/events/sample"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/selfsigned"
	"callboard/internal/run/setting"
	"callboard/schema/cluster"
)

// Config configures an instance. Its flags read no environment variables, so a second instance can start in a shell that loaded the
// first one's settings.
type Config struct {
	Listen      string      `type:"address" default:"127.0.0.1:8080" help:"The address of the API; :0 selects a free port."`
	NATSListen  string      `type:"address" name:"nats-listen" default:"127.0.0.1:4222" help:"The address of the embedded NATS server."`
	Data        string      `placeholder:"DIR" help:"The data directory. Default: a directory in the user's cache directory."`
	Fresh       bool        `help:"Delete the data of earlier runs."`
	Sample      Sample      `enum:"live,small,none" default:"live" help:"live: weeks of calls, and new calls while dev runs. small: some hundred calls. none: no calls."`
	NATSURL     setting.URL `type:"nats-url" name:"nats-url" placeholder:"URL" help:"Use this NATS server instead of an embedded one."`
	PostgresURL setting.URL `type:"postgres-url" name:"postgres-url" placeholder:"URL" help:"Use this database instead of an embedded server. The user must be allowed to create roles."`
	PostgresBin string      `type:"path" placeholder:"DIR" help:"The directory of PostgreSQL's binaries. Default: installed ones, or else downloaded ones."`
	ReadyFile   string      `placeholder:"FILE" help:"Write addresses, key and settings to this file when everything is ready."`
	JSON        bool        `kong:"-"` // print the content of the ready file
	Out, Err    io.Writer   `kong:"-"`
}

type instance struct {
	Config
	dir       *directory
	log       zerolog.Logger
	display   *progress.Display
	stack     *run.Stack
	public    net.Listener
	admin     adminListeners
	natsURL   setting.URL
	database  *database
	publisher *connection.NATS
	company   *sample.Company // nil without a sample
}

type adminListeners struct{ reader, projector, webhooks net.Listener }

// Run starts everything, prints how to use it, and stops everything in the reverse order when ctx ends.
//
//	NATS ──────┬── publisher ── sample, live calls
//	           │
//	           ├── projector ──┐
//	PostgreSQL ┼── reader ─────┤ tables
//	           └── webhooks ───┘
func Run(ctx context.Context, c Config) (err error) {
	i := &instance{Config: c}
	if i.dir, err = openDirectory(c.Data, c.Fresh); err != nil {
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
	stack, running := run.NewStack(ctx)
	i.stack = stack
	err = i.start(running)
	if err == nil {
		<-running.Done()
	}
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
func (i *instance) start(ctx context.Context) error {
	i.display = progress.New(i.Err)
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
func (i *instance) listen(ctx context.Context) (err error) {
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
func (i *instance) closeListeners() {
	for _, listener := range []net.Listener{i.public, i.admin.reader, i.admin.projector, i.admin.webhooks} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}

func (i *instance) startNATS(ctx context.Context) error {
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

func (i *instance) startPostgres(ctx context.Context) (err error) {
	i.database, err = newDatabase(ctx, i.PostgresURL, cluster.Config{
		BinDir: i.PostgresBin, DataDir: i.dir.path("postgres"), Password: i.dir.postgres, Progress: i.display.Println,
	})
	if err != nil {
		return err
	}
	i.stack.Go(ctx, "postgres", i.database.run)
	return i.database.prepare(ctx, i.display.Println)
}

func (i *instance) startPublisher(ctx context.Context) (err error) {
	i.publisher, err = connection.NewNATS(connection.NATSConfig{URL: i.natsURL, Name: "callboard-dev", Log: i.log})
	if err != nil {
		return err
	}
	i.stack.Go(ctx, "publisher", i.publisher.Run)
	return i.createStreams(ctx)
}

// createStreams creates the streams and the bucket if they are missing. The reader creates the streams of its limiter.
func (i *instance) createStreams(ctx context.Context) error {
	js := i.publisher.JetStream
	for _, ensure := range []func() (bool, error){
		func() (bool, error) { return events.EnsureBucket(ctx, js, 1) },
		func() (bool, error) {
			return events.EnsureStream(ctx, js, events.StreamConfig(events.StreamName, events.DefaultPartitions, 1))
		},
		func() (bool, error) { return events.EnsureStream(ctx, js, journal.StreamConfig(1)) },
		func() (bool, error) { return events.EnsureStream(ctx, js, audit.StreamConfig(1)) },
	} {
		if _, err := ensure(); err != nil {
			return err
		}
	}
	return nil
}

func (i *instance) startProjector(ctx context.Context) error {
	url, session, err := i.database.role("callboard_projector")
	if err != nil {
		return err
	}
	log := i.log.With().Str("program", "projector").Logger()
	config := projector.Config{
		NATS:     connection.NATSConfig{URL: i.natsURL, Name: "callboard-projector", Log: log},
		Stream:   events.StreamName,
		Postgres: url,
		Session:  session,
		Admin:    i.admin.projector,
		Log:      log,
	}
	i.stack.Go(ctx, "projector", func(ctx context.Context) error { return projector.Run(ctx, config) })
	return nil
}

const (
	premiumPerMinute = 600       // the default of CALLBOARD_PREMIUM_PER_MINUTE
	coverageMaxAge   = time.Hour // that of CALLBOARD_COVERAGE_MAX_AGE
)

func (i *instance) startReader(ctx context.Context) error {
	url, session, err := i.database.role("callboard_reader")
	if err != nil {
		return err
	}
	location, err := i.dir.audio()
	if err != nil {
		return err
	}
	log := i.log.With().Str("program", "reader").Logger()
	config := readapi.Config{
		NATS:    connection.NATSConfig{URL: i.natsURL, Name: "callboard-reader", Log: log},
		Primary: url,
		Session: session,
		Peppers: i.dir.peppers(),
		Public:  i.public,
		Admin:   i.admin.reader,
		Log:     log,
		Settings: readapi.Settings{
			Premium: premiumPerMinute, BaseURL: i.baseURL(), CursorKey: i.dir.cursorKey(), Audio: location, CoverageMaxAge: coverageMaxAge,
		},
	}
	i.stack.Go(ctx, "reader", func(ctx context.Context) error { return readapi.Run(ctx, config) })
	return nil
}

// startWebhooks starts a sender that sends to this machine, too, and trusts the certificate of 'callboard webhooks listen'.
func (i *instance) startWebhooks(ctx context.Context) error {
	url, session, err := i.database.role("callboard_webhooks")
	if err != nil {
		return err
	}
	if _, err := selfsigned.Load(i.dir.path(listenCertificate), "", time.Now()); err != nil {
		return err
	}
	log := i.log.With().Str("program", "webhooks").Logger()
	config := webhooks.Config{
		NATS:     connection.NATSConfig{URL: i.natsURL, Name: "callboard-webhooks", Log: log},
		Postgres: url,
		Session:  session,
		Keys:     i.dir.webhookKeys(),
		Settings: webhooks.Settings{Targets: setting.WebhookTargets{
			AllowNetworks: []netip.Prefix{netip.MustParsePrefix(localNetwork), netip.PrefixFrom(netip.IPv6Loopback(), 128)},
			CA:            i.dir.path(listenCertificate),
		}},
		Admin: i.admin.webhooks,
		Log:   log,
	}
	i.stack.Go(ctx, "webhooks", func(ctx context.Context) error { return webhooks.Run(ctx, config) })
	return nil
}

const (
	// localNetwork is where 'callboard webhooks listen' listens.
	localNetwork = "127.0.0.0/8"

	// listenCertificate is the name of the file with its certificate and key.
	listenCertificate = "webhook-listen.pem"
)

// baseURL returns the URL at which this machine reaches the reader.
func (i *instance) baseURL() string {
	host, port, err := net.SplitHostPort(i.public.Addr().String())
	if ip := net.ParseIP(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/v1"
}

// finish waits until the reader, the projector and the sender are ready, prints how to use them, and starts the live calls.
func (i *instance) finish(ctx context.Context) error {
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
	if i.Sample == Live {
		i.stack.Go(ctx, "live calls", i.publishLiveCalls)
	}
	return nil
}
