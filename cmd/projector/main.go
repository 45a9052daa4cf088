// Command projector applies the stream's events to the projection.
package main

import (
	"context"
	_ "time/tzdata" // an image has no files but the program

	_ "golang.org/x/crypto/x509roots/fallback" // as above

	"callboard/cmd/program/projector"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
)

func main() {
	run.MainServer[program]("projector", "Applies the stream's events to the projection, and stores audit entries.", "127.0.0.1:9091")
}

// program holds the projector's settings.
type program struct {
	NATS     setting.NATS       `embed:""`
	Stream   setting.Stream     `embed:""`
	Settings projector.Settings `embed:""`
	Postgres setting.Postgres   `embed:""`
	Admin    setting.Admin      `embed:""`
	Log      setting.Log        `embed:""`
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
		Settings: p.Settings, NATS: nats, Stream: p.Stream.Name, Postgres: p.Postgres.URL, Admin: admin, PProf: p.Admin.PProf, Log: log,
	})
}
