// Command projector applies the stream's events to the projection.
package main

import (
	"context"
	"time"
	_ "time/tzdata" // an image has no files but the program

	"github.com/alecthomas/kong"
	_ "golang.org/x/crypto/x509roots/fallback" // as above

	"callboard/cmd/program/projector"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
)

func main() {
	run.Main("projector", "Applies the stream's events to the projection, and stores audit entries.", &commands{}, kong.Vars{"admin_listen": "127.0.0.1:9091"})
}

// commands are the program itself, which runs without the name of a command, and what people and engines ask about it.
type commands struct {
	Run         program                `cmd:"" default:"withargs" help:"Apply the stream's events to the projection, and store audit entries. This is the default."`
	Healthcheck run.HealthcheckCommand `cmd:"" help:"Ask the running projector whether it is ready. Exit 1 unless it is; for containers without a shell."`
	Version     run.VersionCommand     `cmd:"" help:"Show the version of this build."`
}

// program holds the projector's settings.
type program struct {
	NATS        setting.NATS     `embed:""`
	Stream      setting.Stream   `embed:""`
	Postgres    setting.Postgres `embed:""`
	Connections int              `type:"count" name:"postgres-connections" setting:"" min:"1" max:"1000" placeholder:"NUMBER" example:"8" help:"The number of connections to PostgreSQL for batches, beside five for other work. A partition uses one at a time; with fewer, partitions wait for each other. Default: twice the processors, at least 4."`
	Partitions  []int            `type:"partitions" setting:"" placeholder:"0-7,12" help:"The partitions that this projector may own. Default: all."`
	FeedMemory  int64            `type:"memory" name:"feed-memory" setting:"" default:"64MiB" placeholder:"SIZE" help:"The memory for messages that wait to be committed, of all partitions, beside 16MiB that NATS sends ahead."`
	Clock       time.Duration    `setting:"" min:"250ms" max:"60s" default:"1s" placeholder:"DURATION" help:"How old the newest clock message of the stream may be until the projector publishes another one, 250ms to 60s: while there are no events, watermarks move that often."`
	AuditDays   int              `type:"count" name:"audit-days" setting:"" min:"1" max:"36500" default:"90" help:"For how many days audit entries are stored."`
	Admin       setting.Admin    `embed:""`
	Log         setting.Log      `embed:""`
}

// Run runs the projector until ctx ends.
func (p *program) Run(ctx context.Context, streams run.Streams) error {
	run.RelaxGC()
	log := run.NewLog(p.Log, streams.Err)
	admin, err := run.Listen(ctx, p.Admin.Listen)
	if err != nil {
		return err
	}
	log.Info().Stringer("admin", admin.Addr()).Stringer("nats", p.NATS.URL).Stringer("postgres", p.Postgres.URL).
		Msg("projector started")
	nats := connection.ConfigureNATS(p.NATS, "callboard-projector")
	nats.RetryConnect, nats.Log = true, log
	return projector.Run(ctx, projector.Config{
		NATS:        nats,
		Stream:      p.Stream.Name,
		Postgres:    p.Postgres.URL,
		Connections: p.Connections,
		Partitions:  p.Partitions,
		FeedMemory:  p.FeedMemory,
		Clock:       p.Clock,
		AuditDays:   p.AuditDays,
		Admin:       admin,
		PProf:       p.Admin.PProf,
		Log:         log,
	})
}
