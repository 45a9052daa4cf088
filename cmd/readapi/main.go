// Command readapi serves the API's read operations from the projection.
package main

import (
	"context"
	"net/netip"
	"time"
	_ "time/tzdata" // an image has no files but the program

	"github.com/alecthomas/kong"
	_ "golang.org/x/crypto/x509roots/fallback" // as above

	"callboard/cmd/program/readapi"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
	"callboard/readapi/audio"
)

func main() {
	run.Main("readapi", "Serves the API's read operations from the projection.", &commands{}, kong.Vars{"admin_listen": "127.0.0.1:9090"})
}

// commands are the program itself, which runs without the name of a command, and what people and engines ask about it.
type commands struct {
	Run         program                `cmd:"" default:"withargs" help:"Serve the API's read operations from the projection. This is the default."`
	Healthcheck run.HealthcheckCommand `cmd:"" help:"Ask the running readapi whether it is ready. Exit 1 unless it is; for containers without a shell."`
	Version     run.VersionCommand     `cmd:"" help:"Show the version of this build."`
}

// program holds the reader's settings.
type program struct {
	NATS            setting.NATS     `embed:""`
	Postgres        setting.Postgres `embed:""`
	Replica         setting.URL      `type:"postgres-url" name:"postgres-read-url" setting:"" secret:"" placeholder:"URL" help:"The PostgreSQL server that the projection is read from, such as a replica. Default: the primary."`
	ReadConnections int              `type:"count" name:"read-connections" setting:"" min:"1" max:"1000" default:"16" help:"The number of connections to the PostgreSQL server that the projection is read from. The reader has 4 more to the primary for credentials, and one to each server for its readiness."`
	DirectoryMemory int64            `type:"memory" name:"directory-memory" setting:"" default:"64MiB" placeholder:"SIZE" help:"The memory for the names and labels that report pages show. Those that were not used for the longest time make room for others."`
	BodyMemory      int64            `type:"memory" name:"body-memory" setting:"" min:"14MiB" default:"192MiB" placeholder:"SIZE" help:"The memory for all responses that are being made or written, 14MiB or more. A key has an eighth of it, at least 14MiB."`
	BaseURL         string           `type:"base-url" name:"base-url" setting:"" missing:"set it to the public URL of the API, such as https://host/v1" placeholder:"URL" help:"The public URL of the API. It ends in /v1."`
	Pepper          setting.Pepper   `embed:""`
	CursorKey       setting.Secret   `type:"cursor-key" setting:"" secret:"" missing:"set it to 32 random bytes in base64, the same for all readers; generate them with 'openssl rand -base64 32'" placeholder:"BASE64" help:"The secret that encrypts cursors and links to audio, the same for all readers. Do not put it on the command line."`
	AudioURL        audio.Location   `type:"audio-url" name:"audio-url" setting:"" missing:"set it to the bucket or directory of the recordings' audio, such as s3://bucket?region=name or file:///directory" placeholder:"URL" help:"The place of the recordings' audio: s3://bucket/prefix?endpoint=https://host&region=name&style=path, or file:///directory, which the reader serves itself."`
	TrustedProxies  []netip.Prefix   `type:"networks" setting:"" placeholder:"CIDR,..." help:"The networks whose X-Forwarded-For headers are trusted."`
	CoverageMaxAge  time.Duration    `name:"coverage-max-age" setting:"" min:"1s" zero:"any age" default:"1h" placeholder:"DURATION" help:"How far the watermark that decides the coverage of a group or an organization may be behind. Keys of one that is further behind are answered 503. 0: no limit. Keys of one phone system are not affected."`
	Listen          string           `type:"address" setting:"" default:":8080" help:"The address of the API."`
	Drain           time.Duration    `setting:"" min:"0s" max:"10m" default:"0s" example:"10s" placeholder:"DURATION" help:"For how long the reader answers requests after it was asked to stop, while /readyz says that it is not ready. The time that a load balancer needs to notice."`
	Admin           setting.Admin    `embed:""`
	Premium         int              `type:"count" name:"premium-per-minute" setting:"" min:"1" max:"2147483647" default:"600" help:"The number of requests per minute of a key of the premium tier."`
	Log             setting.Log      `embed:""`
}

// Run serves requests until ctx ends.
func (p *program) Run(ctx context.Context, streams run.Streams) error {
	log := run.NewLog(p.Log, streams.Err)
	public, err := run.Listen(ctx, p.Listen)
	if err != nil {
		return err
	}
	admin, err := run.Listen(ctx, p.Admin.Listen)
	if err != nil {
		return err
	}
	log.Info().Stringer("public", public.Addr()).Stringer("admin", admin.Addr()).Stringer("nats", p.NATS.URL).
		Stringer("postgres", p.Postgres.URL).Msg("reader started")
	nats := connection.ConfigureNATS(p.NATS, "callboard-reader")
	nats.RetryConnect, nats.Log = true, log
	return readapi.Run(ctx, readapi.Config{
		NATS:            nats,
		Premium:         p.Premium,
		Primary:         p.Postgres.URL,
		Replica:         p.Replica,
		ReadConnections: p.ReadConnections,
		DirectoryMemory: p.DirectoryMemory,
		BodyMemory:      p.BodyMemory,
		BaseURL:         p.BaseURL,
		Peppers:         p.Pepper.Peppers,
		CursorKey:       p.CursorKey,
		Audio:           p.AudioURL,
		TrustedProxies:  p.TrustedProxies,
		CoverageMaxAge:  p.CoverageMaxAge,
		Public:          public,
		Admin:           admin,
		Drain:           p.Drain,
		PProf:           p.Admin.PProf,
		Log:             log,
	})
}
