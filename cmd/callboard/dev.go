package main

import (
	"context"

	"callboard/cmd/dev"
	"callboard/cmd/process"
	"callboard/cmd/setting"
)

// devCommand takes nothing from the environment: in a shell that talks to one instance, another can still be started.
type devCommand struct {
	output
	Listen      setting.Address     `default:"127.0.0.1:8080" help:"Where the API is served; :0 picks a port."`
	NATSListen  setting.Address     `name:"nats-listen" default:"127.0.0.1:4222" help:"Where the embedded NATS listens."`
	Data        string              `placeholder:"DIR" help:"Where everything is kept; a folder in your cache by default."`
	Fresh       bool                `help:"Forget what is kept."`
	Sample      dev.Sample          `enum:"live,small,none" default:"live" help:"live: weeks of calls, and more that keep arriving. small: some hundred. none: nothing."`
	NATSURL     setting.NATSURL     `name:"nats-url" placeholder:"URL" help:"Use this NATS instead of an embedded one."`
	PostgresURL setting.PostgresURL `name:"postgres-url" placeholder:"URL" help:"Use this database instead of an embedded server's, as a user who may create roles."`
	PostgresBin string              `placeholder:"DIR" help:"Where PostgreSQL's programs are; looked for by default, and fetched where there are none."`
	ReadyFile   string              `placeholder:"FILE" help:"Write addresses, key and settings here once everything serves."`
}

// Run runs everything until ctx ends.
func (c *devCommand) Run(ctx context.Context, streams process.Streams) error {
	return dev.Run(ctx, dev.Config{
		Listen:      c.Listen.Get(),
		NATSListen:  c.NATSListen.Get(),
		Data:        c.Data,
		Fresh:       c.Fresh,
		Sample:      c.Sample,
		NATSURL:     c.NATSURL.Get(),
		PostgresURL: c.PostgresURL.Get(),
		PostgresBin: c.PostgresBin,
		ReadyFile:   c.ReadyFile,
		JSON:        c.JSON,
		Out:         streams.Out,
		Err:         streams.Err,
	})
}
