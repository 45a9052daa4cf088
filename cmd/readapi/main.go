// Command readapi answers the API's read operations from the projection.
package main

import (
	"context"

	"callboard/cmd/connection"
	"callboard/cmd/process"
	"callboard/cmd/program/readapi"
	"callboard/cmd/setting"
)

func main() {
	process.Main("readapi", "Answers the API's read operations from the projection.", &program{})
}

// program is the reader with its settings.
type program struct {
	NATS           setting.NATS      `embed:""`
	Postgres       setting.Postgres  `embed:""`
	Replica        setting.Replica   `embed:""`
	BaseURL        setting.BaseURL   `name:"base-url" setting:"CALLBOARD_BASE_URL" missing:"set it to where customers reach the API, https://host/v1" placeholder:"URL" help:"Where customers reach the API; ends in /v1."`
	Pepper         setting.Pepper    `embed:""`
	CursorKey      setting.CursorKey `setting:"CALLBOARD_CURSOR_KEY" secret:"" missing:"set it to 32 random bytes in base64, the same for all readers; make them with 'openssl rand -base64 32'" placeholder:"BASE64" help:"What cursors and links to audio are sealed with, the same for all readers. Better not on the command line."`
	AudioURL       setting.AudioURL  `name:"audio-url" setting:"CALLBOARD_AUDIO_URL" missing:"set it to the bucket or the folder that the recordings' audio is in, s3://bucket?region=name or file:///folder" placeholder:"URL" help:"Where the recordings' audio is: s3://bucket/prefix?endpoint=https://host&region=name&style=path, or file:///folder, which the reader serves itself."`
	TrustedProxies setting.Networks  `setting:"CALLBOARD_TRUSTED_PROXIES" placeholder:"CIDR,..." help:"The networks whose X-Forwarded-For is believed."`
	Listen         setting.Address   `setting:"CALLBOARD_LISTEN" default:":8080" help:"Where the API is served."`
	AdminListen    setting.Address   `setting:"CALLBOARD_ADMIN_LISTEN" default:"127.0.0.1:9090" help:"Where /livez, /readyz, /metrics and /debug/pprof are. Never public."`
	Premium        setting.Premium   `embed:""`
	Log            setting.Log       `embed:""`
}

// Run answers requests until ctx ends.
func (p *program) Run(ctx context.Context, streams process.Streams) error {
	log := process.NewLog(p.Log, streams.Err)
	public, err := process.Listen(ctx, p.Listen.Get())
	if err != nil {
		return err
	}
	admin, err := process.Listen(ctx, p.AdminListen.Get())
	if err != nil {
		return err
	}
	log.Info().Stringer("public", public.Addr()).Stringer("admin", admin.Addr()).Stringer("nats", p.NATS.URL.Get()).
		Stringer("postgres", p.Postgres.URL.Get()).Msg("reader starts")
	return readapi.Run(ctx, readapi.Config{
		NATS: connection.NATSConfig{
			URL: p.NATS.URL.Get(), Creds: p.NATS.Creds.Get(), Name: "callboard-reader", RetryConnect: true, Log: log,
		},
		Premium:        p.Premium.PerMinute.Get(),
		Primary:        p.Postgres.URL.Get(),
		Replica:        p.Replica.URL.Get(),
		BaseURL:        p.BaseURL.Get(),
		Peppers:        p.Pepper.Peppers.Get(),
		CursorKey:      p.CursorKey.Get(),
		Audio:          p.AudioURL.Get(),
		TrustedProxies: p.TrustedProxies.Get(),
		Public:         public,
		Admin:          admin,
		Log:            log,
	})
}
