// Command projector applies the stream's events to the projection.
package main

import (
	"context"
	_ "time/tzdata" // an image has no files but the program

	"github.com/alecthomas/kong"
	_ "golang.org/x/crypto/x509roots/fallback" // as above

	"callboard/cmd/connection"
	"callboard/cmd/healthcheck"
	"callboard/cmd/process"
	"callboard/cmd/program/projector"
	"callboard/cmd/setting"
	"callboard/cmd/version"
)

func main() {
	process.Main("projector", "Applies the stream's events to the projection, and stores audit entries.", &commands{}, kong.Vars{"admin_listen": "127.0.0.1:9091"})
}

// commands are the program itself, which runs without the name of a command, and what people and engines ask about it.
type commands struct {
	Run         program             `cmd:"" default:"withargs" help:"Apply the stream's events to the projection, and store audit entries. This is the default."`
	Healthcheck healthcheck.Command `cmd:"" help:"Ask the running projector whether it is ready. Exit 1 unless it is; for containers without a shell."`
	Version     version.Command     `cmd:"" help:"Show the version of this build."`
}

// program holds the projector's settings.
type program struct {
	NATS        setting.NATS          `embed:""`
	Stream      setting.Stream        `embed:""`
	Postgres    setting.Postgres      `embed:""`
	Connections setting.Connections   `name:"postgres-connections" setting:"CALLBOARD_POSTGRES_CONNECTIONS" placeholder:"NUMBER" help:"The number of connections to PostgreSQL for batches, beside five for other work. A partition uses one at a time; with fewer, partitions wait for each other. Default: twice the processors, at least 4."`
	Partitions  setting.Partitions    `setting:"CALLBOARD_PARTITIONS" placeholder:"0-7,12" help:"The partitions that this projector may own. Default: all."`
	FeedMemory  setting.Memory        `name:"feed-memory" setting:"CALLBOARD_FEED_MEMORY" default:"64MiB" placeholder:"SIZE" help:"The memory for messages that wait to be committed, of all partitions, beside 16MiB that NATS sends ahead."`
	Clock       setting.ClockInterval `setting:"CALLBOARD_CLOCK" default:"1s" placeholder:"DURATION" help:"How old the newest clock message of the stream may be until the projector publishes another one, 250ms to 60s: while there are no events, watermarks move that often."`
	AuditDays   setting.Days          `name:"audit-days" setting:"CALLBOARD_AUDIT_DAYS" default:"90" help:"For how many days audit entries are stored."`
	AdminListen setting.Address       `setting:"CALLBOARD_ADMIN_LISTEN" default:"${admin_listen}" help:"The address of the console, /livez, /readyz and /metrics. It must not be public."`
	PProf       setting.Switch        `name:"pprof" setting:"CALLBOARD_PPROF" default:"false" help:"Whether to serve profiles of the process on the admin address, below /debug/pprof/: true or false."`
	Log         setting.Log           `embed:""`
}

// Run runs the projector until ctx ends.
func (p *program) Run(ctx context.Context, streams process.Streams) error {
	process.RelaxGC()
	log := process.NewLog(p.Log, streams.Err)
	admin, err := process.Listen(ctx, p.AdminListen.Get())
	if err != nil {
		return err
	}
	log.Info().Stringer("admin", admin.Addr()).Stringer("nats", p.NATS.URL.Get()).Stringer("postgres", p.Postgres.URL.Get()).
		Msg("projector started")
	nats := connection.ConfigureNATS(p.NATS, "callboard-projector")
	nats.RetryConnect, nats.Log = true, log
	return projector.Run(ctx, projector.Config{
		NATS:        nats,
		Stream:      p.Stream.Name.Get(),
		Postgres:    p.Postgres.URL.Get(),
		Connections: p.Connections.Get(),
		Partitions:  p.Partitions.Get(),
		FeedMemory:  p.FeedMemory.Get(),
		Clock:       p.Clock.Get(),
		AuditDays:   p.AuditDays.Get(),
		Admin:       admin,
		PProf:       p.PProf.Get(),
		Log:         log,
	})
}
