// Command readapi serves the API's read operations from the projection.
package main

import (
	"context"
	_ "time/tzdata" // an image has no files but the program

	"github.com/alecthomas/kong"
	_ "golang.org/x/crypto/x509roots/fallback" // as above

	"callboard/cmd/connection"
	"callboard/cmd/healthcheck"
	"callboard/cmd/process"
	"callboard/cmd/program/readapi"
	"callboard/cmd/setting"
	"callboard/cmd/version"
)

func main() {
	process.Main("readapi", "Serves the API's read operations from the projection.", &commands{}, kong.Vars{"admin_listen": "127.0.0.1:9090"})
}

// commands are the program itself, which runs without the name of a command, and what people and engines ask about it.
type commands struct {
	Run         program             `cmd:"" default:"withargs" help:"Serve the API's read operations from the projection. This is the default."`
	Healthcheck healthcheck.Command `cmd:"" help:"Ask the running readapi whether it is ready. Exit 1 unless it is; for containers without a shell."`
	Version     version.Command     `cmd:"" help:"Show the version of this build."`
}

// program holds the reader's settings.
type program struct {
	NATS            setting.NATS        `embed:""`
	Postgres        setting.Postgres    `embed:""`
	Replica         setting.Replica     `embed:""`
	ReadConnections setting.Connections `name:"read-connections" setting:"CALLBOARD_READ_CONNECTIONS" default:"16" help:"The number of connections to the PostgreSQL server that the projection is read from. The reader has 4 more to the primary for credentials, and one to each server for its readiness."`
	DirectoryMemory setting.Memory      `name:"directory-memory" setting:"CALLBOARD_DIRECTORY_MEMORY" default:"64MiB" placeholder:"SIZE" help:"The memory for the names and labels that report pages show. Those that were not used for the longest time make room for others."`
	BodyMemory      setting.BodyMemory  `name:"body-memory" setting:"CALLBOARD_BODY_MEMORY" default:"192MiB" placeholder:"SIZE" help:"The memory for all responses that are being made or written, 14MiB or more. A key has an eighth of it, at least 14MiB."`
	BaseURL         setting.BaseURL     `name:"base-url" setting:"CALLBOARD_BASE_URL" missing:"set it to the public URL of the API, such as https://host/v1" placeholder:"URL" help:"The public URL of the API. It ends in /v1."`
	Pepper          setting.Pepper      `embed:""`
	CursorKey       setting.CursorKey   `setting:"CALLBOARD_CURSOR_KEY" secret:"" missing:"set it to 32 random bytes in base64, the same for all readers; generate them with 'openssl rand -base64 32'" placeholder:"BASE64" help:"The secret that encrypts cursors and links to audio, the same for all readers. Do not put it on the command line."`
	AudioURL        setting.AudioURL    `name:"audio-url" setting:"CALLBOARD_AUDIO_URL" missing:"set it to the bucket or directory of the recordings' audio, such as s3://bucket?region=name or file:///directory" placeholder:"URL" help:"The place of the recordings' audio: s3://bucket/prefix?endpoint=https://host&region=name&style=path, or file:///directory, which the reader serves itself."`
	TrustedProxies  setting.Networks    `setting:"CALLBOARD_TRUSTED_PROXIES" placeholder:"CIDR,..." help:"The networks whose X-Forwarded-For headers are trusted."`
	CoverageMaxAge  setting.MaxAge      `name:"coverage-max-age" setting:"CALLBOARD_COVERAGE_MAX_AGE" default:"1h" placeholder:"DURATION" help:"How far the watermark that decides the coverage of a group or an organization may be behind. Keys of one that is further behind are answered 503. 0: no limit. Keys of one phone system are not affected."`
	Listen          setting.Address     `setting:"CALLBOARD_LISTEN" default:":8080" help:"The address of the API."`
	AdminListen     setting.Address     `setting:"CALLBOARD_ADMIN_LISTEN" default:"${admin_listen}" help:"The address of /livez, /readyz and /metrics. It must not be public."`
	Drain           setting.Drain       `setting:"CALLBOARD_DRAIN" default:"0s" placeholder:"DURATION" help:"For how long the reader answers requests after it was asked to stop, while /readyz says that it is not ready. The time that a load balancer needs to notice."`
	PProf           setting.Switch      `name:"pprof" setting:"CALLBOARD_PPROF" default:"false" help:"Whether to serve profiles of the process on the admin address, below /debug/pprof/: true or false."`
	Premium         setting.Premium     `embed:""`
	Log             setting.Log         `embed:""`
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
	nats := connection.ConfigureNATS(p.NATS, "callboard-reader")
	nats.RetryConnect, nats.Log = true, log
	return readapi.Run(ctx, readapi.Config{
		NATS:            nats,
		Premium:         p.Premium.PerMinute.Get(),
		Primary:         p.Postgres.URL.Get(),
		Replica:         p.Replica.URL.Get(),
		ReadConnections: p.ReadConnections.Get(),
		DirectoryMemory: p.DirectoryMemory.Get(),
		BodyMemory:      p.BodyMemory.Get(),
		BaseURL:         p.BaseURL.Get(),
		Peppers:         p.Pepper.Peppers.Get(),
		CursorKey:       p.CursorKey.Get(),
		Audio:           p.AudioURL.Get(),
		TrustedProxies:  p.TrustedProxies.Get(),
		CoverageMaxAge:  p.CoverageMaxAge.Get(),
		Public:          public,
		Admin:           admin,
		Drain:           p.Drain.Get(),
		PProf:           p.PProf.Get(),
		Log:             log,
	})
}
