//go:build !operator

package main

import (
	"context"

	"callboard/internal/run"
)

// commands exist in a build without the tag operator.
type commands struct {
	Dev devCommand `cmd:"" help:"Run everything in one process, with sample calls."`
	operatorCommands
}

type devCommand struct {
	output
	devConfig
}

// Run runs everything until ctx ends.
func (c *devCommand) Run(ctx context.Context, streams run.Streams) error {
	config := c.devConfig
	config.JSON, config.Out, config.Err = c.output.JSON, streams.Out, streams.Err
	return runDev(ctx, config)
}
