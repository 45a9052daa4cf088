package main

import (
	"context"
	"fmt"
	"io"

	"callboard/cmd/process"
	"callboard/projector/rebuild"
)

type repairCommand struct {
	output
	System phoneSystem `required:"" placeholder:"UUID" help:"The phone system; 'global' is what belongs to no single one."`
	projectionServers
}

// Run puts what the stream says in the place of a phone system's rows.
func (c *repairCommand) Run(ctx context.Context, streams process.Streams) error {
	work := rebuilding{servers: c.projectionServers, effort: modest(), errs: streams.Err, paused: "Nothing was changed", changes: true}
	var done rebuild.RepairResult
	err := work.run(ctx, func(config rebuild.Config) (err error) {
		if err := repairable(ctx, config, c.System.id); err != nil {
			return err
		}
		done, err = rebuild.Repair(ctx, config, c.System.id)
		return err
	})
	if err != nil {
		return err
	}
	return c.print(streams.Out, done, func(w io.Writer) error { return c.write(w, done) })
}

func (c *repairCommand) write(w io.Writer, done rebuild.RepairResult) error {
	name := systemName(c.System.id)
	if done.Rows == 0 {
		_, err := fmt.Fprintf(w, "No message of the stream makes a row of %s: it has none now.\n", name)
		return err
	}
	_, err := fmt.Fprintf(w, "The %d rows of %s are made anew from its %d messages; commits stood still for %s.\n"+
		"'callboard verify --system %s' looks at them again.\n", done.Rows, name, done.Messages, milliseconds(done.WritePause), c.System)
	return err
}
