package main

import (
	"context"
	"fmt"
	"io"

	"callboard/cmd/process"
	"callboard/projector/rebuild"
)

type rollbackCommand struct {
	output
	Forget bool `help:"Don't switch: drop the generation that is kept, for the room that it takes."`
	projectionServers
}

// rolledBack is what a rollback did.
type rolledBack struct {
	Generation int64           `json:"generation"` // that is live now
	Replaced   int64           `json:"replaced"`   // and kept
	Follow     rebuild.Seconds `json:"followSeconds"`
	WritePause rebuild.Seconds `json:"writePauseSeconds"`

	Unreadable []rebuild.UnreadableMessage `json:"unreadable"`
}

// Run puts the kept generation in the live one's place.
func (c *rollbackCommand) Run(ctx context.Context, streams process.Streams) error {
	work := rebuilding{servers: c.projectionServers, effort: modest(), errs: streams.Err, paused: "Nothing was switched", changes: true}
	if c.Forget {
		return c.forget(ctx, streams, work)
	}
	var done rebuild.Result
	err := work.run(ctx, func(config rebuild.Config) (err error) {
		done, err = rebuild.Rollback(ctx, config)
		return err
	})
	if err != nil {
		return err
	}
	shown := rolledBack{Generation: done.Generation, Replaced: done.Replaced, Follow: done.Follow, WritePause: done.WritePause, Unreadable: append([]rebuild.UnreadableMessage{}, done.Comparison.Unreadable...)}
	return c.print(streams.Out, shown, func(w io.Writer) error {
		line := fmt.Sprintf("Generation %d is live again; commits stood still for %s. Generation %d is kept: 'callboard rollback' switches back to it.",
			shown.Generation, milliseconds(shown.WritePause), shown.Replaced)
		return writeLines(w, append(letterLines(done.Comparison), line))
	})
}

func (c *rollbackCommand) forget(ctx context.Context, streams process.Streams, work rebuilding) error {
	return dropping{streams.Out, c.output, "No generation is kept."}.run(ctx, c.Postgres, func(config rebuild.Config) ([]int64, error) {
		generations, err := rebuild.Drop(ctx, config, rebuild.Previous)
		return generations, work.refused(err)
	})
}
