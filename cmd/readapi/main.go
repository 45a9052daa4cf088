// Command readapi serves the API's read operations from the projection.
package main

import (
	"context"
	_ "time/tzdata" // an image has no files but the program

	_ "golang.org/x/crypto/x509roots/fallback" // as above

	"callboard/cmd/program/readapi"
	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
)

func main() {
	run.MainServer[program]("readapi", "Serves the API's read operations from the projection.", "127.0.0.1:9090")
}

// program holds the reader's settings.
type program struct {
	NATS     setting.NATS     `embed:""`
	Settings readapi.Settings `embed:""`
	Postgres setting.Postgres `embed:""`
	Pepper   setting.Pepper   `embed:""`
	Listen   string           `type:"address" setting:"" default:":8080" help:"The address of the API."`
	Admin    setting.Admin    `embed:""`
	Log      setting.Log      `embed:""`
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
		Settings: p.Settings, NATS: nats, Primary: p.Postgres.URL, Peppers: p.Pepper.Peppers, Public: public, Admin: admin,
		PProf: p.Admin.PProf, Log: log,
	})
}
