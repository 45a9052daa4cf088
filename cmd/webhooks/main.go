// Command webhooks sends webhooks to the endpoints that operators registered.
package main

import (
	"context"
	"time"
	_ "time/tzdata" // an image has no files but the program

	"github.com/alecthomas/kong"
	_ "golang.org/x/crypto/x509roots/fallback" // as above

	"callboard/cmd/program/webhooks"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
	"callboard/projector/webhook"
)

func main() {
	run.Main("webhooks", "Sends webhooks to the endpoints that operators registered.", &commands{}, kong.Vars{"admin_listen": "127.0.0.1:9092"})
}

// commands are the program itself, which runs without the name of a command, and what people and engines ask about it.
type commands struct {
	Run         program                `cmd:"" default:"withargs" help:"Send webhooks to the endpoints that operators registered. This is the default."`
	Healthcheck run.HealthcheckCommand `cmd:"" help:"Ask the running sender whether it is ready. Exit 1 unless it is; for containers without a shell."`
	Version     run.VersionCommand     `cmd:"" help:"Show the version of this build."`
}

// program holds the sender's settings.
type program struct {
	NATS      setting.NATS             `embed:""`
	Postgres  setting.Postgres         `embed:""`
	ReadURLs  []setting.URL            `type:"postgres-urls" name:"webhook-read-urls" setting:"" secret:"" placeholder:"URL ..." help:"Every PostgreSQL server that readers use, separated by spaces: every value of CALLBOARD_POSTGRES_READ_URL, with the user callboard_webhooks. A webhook is sent when all of them have the rows. Default: readers use the primary."`
	Key       setting.WebhookKey       `embed:""`
	Targets   setting.WebhookTargets   `embed:""`
	Retries   []time.Duration          `type:"durations" name:"webhook-retries" setting:"" min:"1ms" max:"365d" default:"5s,30s,2m,10m,30m,1h,2h,4h,8h,12h" placeholder:"DURATION,..." help:"The intervals between the attempts of a delivery. The last one repeats."`
	GiveUp    time.Duration            `name:"webhook-give-up" setting:"" min:"1ms" max:"365d" default:"72h" help:"How long after its first attempt a delivery is tried again; then it is dead. An endpoint without a success for so long is disabled."`
	Timeout   time.Duration            `name:"webhook-timeout" setting:"" min:"1ms" max:"5m" default:"15s" help:"The time that a request may take, from connecting to the answer's headers."`
	InFlight  int                      `type:"count" name:"webhook-in-flight" setting:"" min:"1" max:"10000" default:"512" placeholder:"NUMBER" help:"The number of requests at once, to all endpoints."`
	Retention setting.WebhookRetention `embed:""`
	Admin     setting.Admin            `embed:""`
	Log       setting.Log              `embed:""`
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
		NATS:     nats,
		Postgres: p.Postgres.URL,
		ReadURLs: p.ReadURLs,
		Keys:     p.Key.Keys,
		Networks: p.Targets.AllowNetworks,
		Ports:    p.Targets.Ports,
		CA:       p.Targets.CA,
		Schedule: webhook.Schedule{Retries: p.Retries, GiveUp: p.GiveUp},
		Timeout:  p.Timeout,
		InFlight: p.InFlight,
		Days:     p.Retention.Days,
		Admin:    admin,
		PProf:    p.Admin.PProf,
		Log:      log,
	})
}
