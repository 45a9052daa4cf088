//go:build !operator

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/alecthomas/kong"
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
	logs      io.Writer // of all programs
	display   *progress
	stack     *run.Stack
	public    net.Listener
	adminURLs map[string]string // by program
	natsURL   setting.URL
	database  *devDatabase
	publisher *connection.NATS
	company   *sample.Company // nil without a sample
}

// runDev starts everything, prints how to use it, and stops everything in the reverse order when ctx ends.
//
//	NATS ──────┬── publisher ── sample, live calls
//	           │
//	           ├── projector ──┐
//	PostgreSQL ┼── reader ─────┤ tables
//	           └── webhooks ───┘
func runDev(ctx context.Context, c devConfig) (err error) {
	i := &devInstance{devConfig: c, adminURLs: make(map[string]string)}
	if i.dir, err = openDevDirectory(c.Data, c.Fresh); err != nil {
		return err
	}
	defer i.dir.close()

	if err := i.removeReadyFile(); err != nil {
		return err
	}

	if i.logs, err = i.dir.openLog(c.Err); err != nil {
		return err
	}

	// The address is opened before anything is started, so that an address in use is reported at once.
	if i.public, err = run.Listen(ctx, i.Listen); err != nil {
		return fmt.Errorf("%w: use --listen :0 to select a free port", err)
	}
	defer func() { _ = i.public.Close() }() // where no reader has closed it

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

	// Each step uses what the steps before it have started.
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

func (i *devInstance) startNATS(ctx context.Context) error {
	// An external server runs already.
	if i.NATSURL.Reveal() != "" {
		i.natsURL = i.NATSURL
		return nil
	}

	server, err := startNATSServer(i.NATSListen, i.dir.path("nats"), i.dir.path("nats.log"))
	if err != nil {
		return err
	}

	i.stack.Go(ctx, "nats", server.run)
	i.natsURL, err = setting.NewNATSURL(server.url())
	return err
}

func (i *devInstance) startPostgres(ctx context.Context) (err error) {
	i.database, err = newDevDatabase(ctx, i.PostgresURL, cluster.Config{
		BinDir: i.PostgresBin, DataDir: i.dir.path("postgres"), Password: i.dir.secrets["postgres-password"],
		Progress: i.display.Println,
	})
	if err != nil {
		return err
	}

	i.stack.Go(ctx, "postgres", i.database.run)
	return i.database.prepare(ctx, i.display.Println)
}

func (i *devInstance) startPublisher(ctx context.Context) (err error) {
	i.publisher, err = connection.NewNATS(connection.NATSConfig{
		NATS: setting.NATS{URL: i.natsURL}, Name: "callboard-dev", Log: zerolog.New(i.logs),
	})
	if err != nil {
		return err
	}

	i.stack.Go(ctx, "publisher", i.publisher.Run)
	return i.createStreams(ctx)
}

// createStreams creates the streams and the bucket if they are missing. The reader creates the streams of its limiter.
func (i *devInstance) createStreams(ctx context.Context) error {
	js := i.publisher.JetStream
	if _, err := events.EnsureBucket(ctx, js, 1); err != nil {
		return err
	}
	return ensureStreams(ctx, js, new(createdStreams),
		events.StreamConfig(events.StreamName, events.DefaultPartitions, 1),
		events.KeyStreamConfig(1), events.AuditStreamConfig(1))
}

// env returns the settings with which other commands use this instance.
func (i *devInstance) env() map[string]string {
	return map[string]string{
		"CALLBOARD_NATS_URL":     i.natsURL.Reveal(),
		"CALLBOARD_STREAM":       events.StreamName,
		"CALLBOARD_POSTGRES_URL": i.database.ownerURL.Reveal(),
		"CALLBOARD_BASE_URL":     i.baseURL(),
		"CALLBOARD_KEY_PEPPER":   i.dir.secrets["key-pepper"],
		"CALLBOARD_CURSOR_KEY":   i.dir.secrets["cursor-key"],
		"CALLBOARD_AUDIO_URL":    i.dir.audioURL(),

		"CALLBOARD_WEBHOOK_KEY":            i.dir.secrets["webhook-key"],
		"CALLBOARD_WEBHOOK_ALLOW_NETWORKS": localNetworks,
		"CALLBOARD_WEBHOOK_CA_FILE":        i.dir.path(listenCertificate),
	}
}

// openProgram reads the settings of a program, whose own settings are in common, and opens its log and its admin
// listener. The program has the database role of its name.
func (i *devInstance) openProgram(
	ctx context.Context, name string, program any, common *run.ServerSettings,
) (run.Server, error) {
	// The program reads this instance's settings, whatever the shell's environment has.
	env := i.env()
	env["CALLBOARD_POSTGRES_URL"] = i.database.roleURL("callboard_" + name)
	source := setting.Source{Getenv: func(name string) string { return env[name] }, Out: io.Discard}
	if _, err := setting.Parse(program, source, kong.Vars{"admin_listen": "127.0.0.1:0"}); err != nil {
		return run.Server{}, fmt.Errorf("%s: %w\nIf the data directory is damaged, start with --fresh", name, err)
	}

	server, err := common.Open(ctx, name, nil, run.Streams{Err: i.logs})
	if err != nil {
		return server, err
	}

	// All programs write to one log, so each message has the program's name.
	server.Log = server.Log.With().Str("program", name).Logger()
	i.adminURLs[name] = "http://" + server.Admin.Addr().String()
	return server, nil
}

func (i *devInstance) startProjector(ctx context.Context) error {
	var p runprojector.Program
	server, err := i.openProgram(ctx, "projector", &p, &p.ServerSettings)
	if err != nil {
		return err
	}

	config := runprojector.Config{Server: server, Settings: p.Settings, Stream: p.Stream.Name}
	i.stack.Go(ctx, "projector", func(ctx context.Context) error { return runprojector.Run(ctx, config) })
	return nil
}

func (i *devInstance) startReader(ctx context.Context) error {
	if err := os.MkdirAll(i.dir.path("audio"), 0o755); err != nil {
		return fmt.Errorf("audio: %w", err)
	}

	var p runreadapi.Program
	server, err := i.openProgram(ctx, "reader", &p, &p.ServerSettings)
	if err != nil {
		return err
	}

	config := runreadapi.Config{Server: server, Settings: p.Settings, Peppers: p.Pepper.Peppers, Public: i.public}
	i.stack.Go(ctx, "reader", func(ctx context.Context) error { return runreadapi.Run(ctx, config) })
	return nil
}

// startWebhooks starts a sender that sends to this machine, too, and trusts the certificate of 'callboard webhooks
// listen'.
func (i *devInstance) startWebhooks(ctx context.Context) error {
	// The settings name the certificate's file, so it must exist before the program reads them.
	if _, err := run.LoadCertificate(i.dir.path(listenCertificate), "", time.Now()); err != nil {
		return err
	}

	var p runwebhooks.Program
	server, err := i.openProgram(ctx, "webhooks", &p, &p.ServerSettings)
	if err != nil {
		return err
	}

	config := runwebhooks.Config{Server: server, Settings: p.Settings, Keys: p.Key.Keys}
	i.stack.Go(ctx, "webhooks", func(ctx context.Context) error { return runwebhooks.Run(ctx, config) })
	return nil
}

const (
	// localNetworks are where 'callboard webhooks listen' listens.
	localNetworks = "127.0.0.0/8,::1"

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
	// A person can use the addresses as soon as they are printed, so all programs are ready first.
	for _, url := range i.adminURLs {
		if err := waitUntilReady(ctx, url); err != nil {
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
