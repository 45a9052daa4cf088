// Command webhooks sends webhooks to the endpoints that operators registered.
package main

import (
	"context"
	_ "time/tzdata" // an image has no files but the program

	_ "golang.org/x/crypto/x509roots/fallback" // as above

	"callboard/cmd/program/webhooks"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
)

func main() {
	run.MainServer[program]("webhooks", "Sends webhooks to the endpoints that operators registered.", "127.0.0.1:9092")
}

// program holds the sender's settings.
type program struct {
	NATS     setting.NATS       `embed:""`
	Settings webhooks.Settings  `embed:""`
	Postgres setting.Postgres   `embed:""`
	Key      setting.WebhookKey `embed:""`
	Admin    setting.Admin      `embed:""`
	Log      setting.Log        `embed:""`
}

// Run sends until ctx ends.
func (p *program) Run(ctx context.Context, streams run.Streams) error {
	run.RelaxGC()
	log := run.NewLog(p.Log, streams.Err)
	admin, err := run.Listen(ctx, p.Admin.Listen)
	if err != nil {
		return err
	}
	log.Info().Stringer("admin", admin.Addr()).Stringer("nats", p.NATS.URL).Stringer("postgres", p.Postgres.URL).
		Msg("webhook sender started")
	nats := connection.ConfigureNATS(p.NATS, "callboard-webhooks")
	nats.RetryConnect, nats.Log = true, log
	return webhooks.Run(ctx, webhooks.Config{
		Settings: p.Settings, NATS: nats, Postgres: p.Postgres.URL, Keys: p.Key.Keys, Admin: admin, PProf: p.Admin.PProf, Log: log,
	})
}
