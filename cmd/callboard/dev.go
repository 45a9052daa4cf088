//go:build !operator

package main

import (
	"context"

	"callboard/cmd/dev"
	"callboard/internal/run"
	"callboard/internal/run/setting"
)

// commands are those of a build without the tag operator.
type commands struct {
	Dev devCommand `cmd:"" help:"Run everything in one process, with sample calls."`
	operatorCommands
}

// devCommand reads no environment variables, so a second instance can start in a shell that loaded the first one's settings.
type devCommand struct {
	output
	Listen      string      `type:"address" default:"127.0.0.1:8080" help:"The address of the API; :0 selects a free port."`
	NATSListen  string      `type:"address" name:"nats-listen" default:"127.0.0.1:4222" help:"The address of the embedded NATS server."`
	Data        string      `placeholder:"DIR" help:"The data directory. Default: a directory in the user's cache directory."`
	Fresh       bool        `help:"Delete the data of earlier runs."`
	Sample      dev.Sample  `enum:"live,small,none" default:"live" help:"live: weeks of calls, and new calls while dev runs. small: some hundred calls. none: no calls."`
	NATSURL     setting.URL `type:"nats-url" name:"nats-url" placeholder:"URL" help:"Use this NATS server instead of an embedded one."`
	PostgresURL setting.URL `type:"postgres-url" name:"postgres-url" placeholder:"URL" help:"Use this database instead of an embedded server. The user must be allowed to create roles."`
	PostgresBin string      `type:"path" placeholder:"DIR" help:"The directory of PostgreSQL's binaries. Default: installed ones, or else downloaded ones."`
	ReadyFile   string      `placeholder:"FILE" help:"Write addresses, key and settings to this file when everything is ready."`
}

// Run runs everything until ctx ends.
func (c *devCommand) Run(ctx context.Context, streams run.Streams) error {
	return dev.Run(ctx, dev.Config{
		Listen:      c.Listen,
		NATSListen:  c.NATSListen,
		Data:        c.Data,
		Fresh:       c.Fresh,
		Sample:      c.Sample,
		NATSURL:     c.NATSURL,
		PostgresURL: c.PostgresURL,
		PostgresBin: c.PostgresBin,
		ReadyFile:   c.ReadyFile,
		JSON:        c.JSON,
		Out:         streams.Out,
		Err:         streams.Err,
	})
}
