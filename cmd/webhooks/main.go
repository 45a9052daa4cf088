// Command webhooks sends webhooks to the endpoints that operators registered.
package main

import (
	"context"
	_ "time/tzdata" // an image has no files but the program

	"github.com/alecthomas/kong"
	_ "golang.org/x/crypto/x509roots/fallback" // as above

	"callboard/cmd/connection"
	"callboard/cmd/healthcheck"
	"callboard/cmd/process"
	"callboard/cmd/program/webhooks"
	"callboard/cmd/setting"
	"callboard/cmd/version"
	"callboard/projector/webhook/lane"
)

func main() {
	process.Main("webhooks", "Sends webhooks to the endpoints that operators registered.", &commands{}, kong.Vars{"admin_listen": "127.0.0.1:9092"})
}

// commands are the program itself, which runs without the name of a command, and what people and engines ask about it.
type commands struct {
	Run         program             `cmd:"" default:"withargs" help:"Send webhooks to the endpoints that operators registered. This is the default."`
	Healthcheck healthcheck.Command `cmd:"" help:"Ask the running sender whether it is ready. Exit 1 unless it is; for containers without a shell."`
	Version     version.Command     `cmd:"" help:"Show the version of this build."`
}

// program holds the sender's settings.
type program struct {
	NATS        setting.NATS           `embed:""`
	Postgres    setting.Postgres       `embed:""`
	ReadURLs    setting.PostgresURLs   `name:"webhook-read-urls" setting:"CALLBOARD_WEBHOOK_READ_URLS" secret:"" placeholder:"URL ..." help:"Every PostgreSQL server that readers use, separated by spaces: every value of CALLBOARD_POSTGRES_READ_URL, with the user callboard_webhooks. A webhook is sent when all of them have the rows. Default: readers use the primary."`
	Key         setting.WebhookKey     `embed:""`
	Targets     setting.WebhookTargets `embed:""`
	Retries     setting.Retries        `name:"webhook-retries" setting:"CALLBOARD_WEBHOOK_RETRIES" default:"5s,30s,2m,10m,30m,1h,2h,4h,8h,12h" placeholder:"DURATION,..." help:"The intervals between the attempts of a delivery. The last one repeats."`
	GiveUp      setting.GiveUp         `name:"webhook-give-up" setting:"CALLBOARD_WEBHOOK_GIVE_UP" default:"72h" help:"How long after its first attempt a delivery is tried again; then it is dead. An endpoint without a success for so long is disabled."`
	Timeout     setting.Timeout        `name:"webhook-timeout" setting:"CALLBOARD_WEBHOOK_TIMEOUT" default:"15s" help:"The time that a request may take, from connecting to the answer's headers."`
	InFlight    setting.InFlight       `name:"webhook-in-flight" setting:"CALLBOARD_WEBHOOK_IN_FLIGHT" default:"512" placeholder:"NUMBER" help:"The number of requests at once, to all endpoints."`
	Days        setting.Days           `name:"webhook-days" setting:"CALLBOARD_WEBHOOK_DAYS" default:"30" help:"For how many days notices, deliveries and attempts are stored."`
	AdminListen setting.Address        `setting:"CALLBOARD_ADMIN_LISTEN" default:"${admin_listen}" help:"The address of /livez, /readyz and /metrics. It must not be public."`
	PProf       setting.Switch         `name:"pprof" setting:"CALLBOARD_PPROF" default:"false" help:"Whether to serve profiles of the process on the admin address, below /debug/pprof/: true or false."`
	Log         setting.Log            `embed:""`
}

// Run sends until ctx ends.
func (p *program) Run(ctx context.Context, streams process.Streams) error {
	process.RelaxGC()
	log := process.NewLog(p.Log, streams.Err)
	admin, err := process.Listen(ctx, p.AdminListen.Get())
	if err != nil {
		return err
	}
	log.Info().Stringer("admin", admin.Addr()).Stringer("nats", p.NATS.URL.Get()).Stringer("postgres", p.Postgres.URL.Get()).
		Msg("webhook sender started")
	nats := connection.ConfigureNATS(p.NATS, "callboard-webhooks")
	nats.RetryConnect, nats.Log = true, log
	return webhooks.Run(ctx, webhooks.Config{
		NATS:     nats,
		Postgres: p.Postgres.URL.Get(),
		ReadURLs: p.ReadURLs.Get(),
		Keys:     p.Key.Keys.Get(),
		Networks: p.Targets.AllowNetworks.Get(),
		Ports:    p.Targets.Ports.Get(),
		CA:       p.Targets.CA.Get(),
		Schedule: lane.Schedule{Retries: p.Retries.Get(), GiveUp: p.GiveUp.Get()},
		Timeout:  p.Timeout.Get(),
		InFlight: p.InFlight.Get(),
		Days:     p.Days.Get(),
		Admin:    admin,
		PProf:    p.PProf.Get(),
		Log:      log,
	})
}
