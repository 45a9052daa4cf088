package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"callboard/internal/run"
	"callboard/projector/rebuild"
)

type rollbackCommand struct {
	output
	Forget bool `help:"Do not switch. Drop the previous generation, to free its disk space."`
	projectionServers
}

// rollbackResult is the JSON of a rollback.
type rollbackResult struct {
	Generation int64                       `json:"generation"` // the live one
	Replaced   int64                       `json:"replaced"`   // the previous one now
	WritePause rebuild.Seconds             `json:"writePauseSeconds"`
	Unreadable []rebuild.UnreadableMessage `json:"unreadable"` // messages that were applied before and can't be read now

	MessagesWithoutNotices int64 `json:"messagesWithoutNotices"` // that webhooks do not announce, because no projector has applied them
}

// Run switches to the previous generation, or drops it.
func (c *rollbackCommand) Run(ctx context.Context, streams run.Streams) error {
	s := session{
		servers: c.projectionServers, options: buildOptions{Batch: 2000}, errs: streams.Err, changes: true,
		interrupted: "The live generation is unchanged", unconfirmed: seeWhichIsLive,
	}
	if c.Forget {
		return s.dropGenerations(ctx, c.output, streams.Out, rebuild.Previous, "There is no previous generation.")
	}
	done, err := runSession(ctx, s, rebuild.Rollback)
	if errors.Is(err, errInterrupted) && done.Generation != 0 {
		return fmt.Errorf("generation %d is live: %w", done.Generation, errInterrupted)
	}
	if err != nil {
		return err
	}
	result := rollbackResult{
		Generation: done.Generation, Replaced: done.Replaced, WritePause: done.WritePause,
		Unreadable: append([]rebuild.UnreadableMessage{}, done.Comparison.Unreadable...), MessagesWithoutNotices: done.WithoutNotices,
	}
	line := fmt.Sprintf("Generation %d is live again; writes paused for %s. "+
		"Generation %d is the previous one now: run 'callboard rollback' to switch back to it.",
		result.Generation, milliseconds(result.WritePause), result.Replaced)
	lines := slices.Concat(unreadableLines(result.Unreadable), []string{line}, withoutNoticesLines(result.MessagesWithoutNotices))
	return c.print(streams.Out, result, lines...)
}
