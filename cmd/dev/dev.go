package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"callboard/cmd/connection"
	"callboard/cmd/process"
	"callboard/cmd/program/projector"
	"callboard/cmd/program/readapi"
	"callboard/cmd/progress"
	"callboard/cmd/setting"
	"callboard/events"
	"callboard/events/audit"
	"callboard/events/sample"
)

// Config is how an instance is started.
type Config struct {
	Listen      string
	NATSListen  string
	Data        string // the folder; empty: callboard/dev in the user's cache folder
	Fresh       bool   // forget what the folder holds
	Sample      Sample
	NATSURL     setting.URL // zero: an embedded server
	PostgresURL setting.URL // zero: an embedded cluster
	PostgresBin string      // where its programs are; empty: looked for, else fetched
	ReadyFile   string      // empty: none
	JSON        bool        // say what the ready file says
	Out, Err    io.Writer
}

// instance is what runs.
type instance struct {
	Config
	home      *home
	log       zerolog.Logger
	display   *progress.Display
	stack     *process.Stack
	public    net.Listener
	admins    admins
	broker    setting.URL // NATS
	database  *database
	publisher *connection.NATS
	company   *sample.Company // nil without a sample
}

// admins are the admin listeners.
type admins struct{ reader, projector net.Listener }

// Run starts everything, says so, and stops it all in the reverse order once ctx ends.
//
//	NATS ──────┬── publisher ── sample, live calls
//	           │
//	           ├── projector ──┐
//	PostgreSQL ┤               tables
//	           └── reader ─────┘
func Run(ctx context.Context, c Config) (err error) {
	i := &instance{Config: c}
	if i.home, err = openHome(c.Data, c.Fresh); err != nil {
		return err
	}
	defer i.home.close()
	if err := i.forgetReady(); err != nil {
		return err
	}
	if i.log, err = i.home.openLog(c.Err); err != nil {
		return err
	}
	defer i.closeListeners()
	if err := i.listen(ctx); err != nil {
		return err
	}
	stack, running := process.NewStack(ctx)
	i.stack = stack
	err = i.start(running)
	if err == nil {
		<-running.Done()
	}
	if ctx.Err() != nil {
		// Asked to stop; what was cut short on the way has nothing to say.
		err = nil
		fmt.Fprintln(c.Err, "stopping")
	}
	if stopped := stack.Stop(); stopped != nil {
		err = stopped
	}
	return err
}

// start starts the actors from below and returns once everything serves.
func (i *instance) start(ctx context.Context) error {
	i.display = progress.New(i.Err)
	defer i.display.Close()
	for _, step := range []func(context.Context) error{
		i.startNATS, i.startPostgres, i.startPublisher, i.startProjector, i.startReader, i.load, i.open,
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

// listen takes the addresses first, so that one that is taken is known before anything is started.
func (i *instance) listen(ctx context.Context) (err error) {
	for _, l := range []struct {
		to      *net.Listener
		address string
		advice  string
	}{
		{&i.public, i.Listen, "--listen :0 picks a free port"},
		{&i.admins.reader, "127.0.0.1:0", ""},
		{&i.admins.projector, "127.0.0.1:0", ""},
	} {
		if *l.to, err = process.Listen(ctx, l.address); err != nil {
			return fmt.Errorf("%w; %s", err, l.advice)
		}
	}
	return nil
}

// closeListeners is for the ways out before anybody serves on them; whoever serves has closed them.
func (i *instance) closeListeners() {
	for _, listener := range []net.Listener{i.public, i.admins.reader, i.admins.projector} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}

func (i *instance) startNATS(ctx context.Context) error {
	if i.NATSURL.Reveal() != "" {
		i.broker = i.NATSURL
		return nil
	}
	server, err := newBroker(i.NATSListen, i.home.path("nats"), i.log)
	if err != nil {
		return err
	}
	i.stack.Go(ctx, "nats", server.hold)
	i.broker, err = setting.NewNATSURL(server.url())
	return err
}

func (i *instance) startPostgres(ctx context.Context) (err error) {
	i.database, err = newDatabase(ctx, databaseConfig{
		url: i.PostgresURL, programs: i.PostgresBin, dir: i.home.path("postgres"), say: i.display.Println,
	})
	if err != nil {
		return err
	}
	i.stack.Go(ctx, "postgres", i.database.hold)
	return i.database.prepare(ctx, i.display.Println)
}

func (i *instance) startPublisher(ctx context.Context) (err error) {
	i.publisher, err = connection.NewNATS(connection.NATSConfig{URL: i.broker, Name: "callboard-dev", Log: i.log})
	if err != nil {
		return err
	}
	i.stack.Go(ctx, "publisher", i.publisher.Hold)
	return i.createStreams(ctx)
}

// createStreams creates the streams and the bucket that publishers and the reader need. The reader creates those of budgets.
func (i *instance) createStreams(ctx context.Context) error {
	js := i.publisher.JetStream
	_, err := events.EnsureBucket(ctx, js, 1)
	for _, config := range []jetstream.StreamConfig{
		events.StreamConfig(events.StreamName, events.DefaultPartitions, 1), audit.StreamConfig(1),
	} {
		if err == nil {
			_, err = events.EnsureStream(ctx, js, config)
		}
	}
	if err != nil {
		return fmt.Errorf("streams: %w", err)
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
		NATS:     connection.NATSConfig{URL: i.broker, Name: "callboard-projector", Log: log},
		Stream:   events.StreamName,
		Postgres: url,
		Session:  session,
		Admin:    i.admins.projector,
		Log:      log,
	}
	i.stack.Go(ctx, "projector", func(ctx context.Context) error { return projector.Run(ctx, config) })
	return nil
}

// premiumPerMinute is the premium tier's default.
const premiumPerMinute = 600

func (i *instance) startReader(ctx context.Context) error {
	url, session, err := i.database.role("callboard_reader")
	if err != nil {
		return err
	}
	sounds, err := i.home.audio()
	if err != nil {
		return err
	}
	log := i.log.With().Str("program", "reader").Logger()
	config := readapi.Config{
		NATS:      connection.NATSConfig{URL: i.broker, Name: "callboard-reader", Log: log},
		Premium:   premiumPerMinute,
		Primary:   url,
		Session:   session,
		BaseURL:   i.baseURL(),
		Peppers:   i.home.peppers(),
		CursorKey: i.home.cursorKey(),
		Audio:     sounds,
		Public:    i.public,
		Admin:     i.admins.reader,
		Log:       log,
	}
	i.stack.Go(ctx, "reader", func(ctx context.Context) error { return readapi.Run(ctx, config) })
	return nil
}

// baseURL is where this machine reaches the reader.
func (i *instance) baseURL() string {
	host, port, err := net.SplitHostPort(i.public.Addr().String())
	if ip := net.ParseIP(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/v1"
}

// open shows the instance to those who wait for it and sets the calls going.
func (i *instance) open(ctx context.Context) error {
	if err := errors.Join(i.awaitReady(ctx, i.admins.reader), i.awaitReady(ctx, i.admins.projector)); err != nil {
		return err
	}
	ready, err := i.describe(ctx)
	if err != nil {
		return err
	}
	if err := i.announce(ready); err != nil {
		return err
	}
	if i.Sample == Live {
		i.stack.Go(ctx, "live calls", i.live)
	}
	return nil
}
