// Command readapi serves the API's read operations from the projection.
package main

import (
	"context"

	"callboard/cmd/connection"
	"callboard/cmd/process"
	"callboard/cmd/program/readapi"
	"callboard/cmd/setting"
)

func main() {
	process.Main("readapi", "Serves the API's read operations from the projection.", &program{})
}

// program holds the reader's settings.
type program struct {
	NATS           setting.NATS      `embed:""`
	Postgres       setting.Postgres  `embed:""`
	Replica        setting.Replica   `embed:""`
	BaseURL        setting.BaseURL   `name:"base-url" setting:"CALLBOARD_BASE_URL" missing:"set it to the public URL of the API, such as https://host/v1" placeholder:"URL" help:"The public URL of the API. It ends in /v1."`
	Pepper         setting.Pepper    `embed:""`
	CursorKey      setting.CursorKey `setting:"CALLBOARD_CURSOR_KEY" secret:"" missing:"set it to 32 random bytes in base64, the same for all readers; generate them with 'openssl rand -base64 32'" placeholder:"BASE64" help:"The secret that encrypts cursors and links to audio, the same for all readers. Do not put it on the command line."`
	AudioURL       setting.AudioURL  `name:"audio-url" setting:"CALLBOARD_AUDIO_URL" missing:"set it to the bucket or directory of the recordings' audio, such as s3://bucket?region=name or file:///directory" placeholder:"URL" help:"The place of the recordings' audio: s3://bucket/prefix?endpoint=https://host&region=name&style=path, or file:///directory, which the reader serves itself."`
	TrustedProxies setting.Networks  `setting:"CALLBOARD_TRUSTED_PROXIES" placeholder:"CIDR,..." help:"The networks whose X-Forwarded-For headers are trusted."`
	Listen         setting.Address   `setting:"CALLBOARD_LISTEN" default:":8080" help:"The address of the API."`
	AdminListen    setting.Address   `setting:"CALLBOARD_ADMIN_LISTEN" default:"127.0.0.1:9090" help:"The address of /livez, /readyz, /metrics and /debug/pprof. It must not be public."`
	Premium        setting.Premium   `embed:""`
	Log            setting.Log       `embed:""`
}

// Run serves requests until ctx ends.
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
		Stringer("postgres", p.Postgres.URL.Get()).Msg("reader started")
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
