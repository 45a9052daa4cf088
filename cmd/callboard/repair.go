package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/internal/run"
	"callboard/projector/rebuild"
)

// phoneSystem is a flag: the id of a phone system, or [uuid.Nil] for the rows of no phone system.
type phoneSystem struct {
	id uuid.UUID
}

// UnmarshalText reads a UUID or "global".
func (s *phoneSystem) UnmarshalText(text []byte) error {
	if string(text) == events.Global {
		s.id = uuid.Nil
		return nil
	}
	id, err := uuid.ParseBytes(text)
	if err != nil {
		return fmt.Errorf("%q is neither a UUID nor %q", text, events.Global)
	}
	s.id = id
	return nil
}

// String returns a text that UnmarshalText reads.
func (s phoneSystem) String() string {
	if s.id == uuid.Nil {
		return events.Global
	}
	return s.id.String()
}

type repairCommand struct {
	output
	System phoneSystem `required:"" placeholder:"UUID" help:"The phone system. 'global' stands for rows of no phone system."`
	buildOptions
	projectionServers
}

// Run replaces the rows of a phone system by rows that are built from the stream.
func (c *repairCommand) Run(ctx context.Context, streams run.Streams) error {
	s := session{
		servers: c.projectionServers, options: c.buildOptions, errs: streams.Err, changes: true,
		interrupted: nothingChanged, unconfirmed: "Run the command again: it can be repeated",
	}
	done, err := runSession(ctx, s, func(ctx context.Context, config rebuild.Config) (rebuild.RepairResult, error) {
		return rebuild.Repair(ctx, config, c.System.id)
	})
	if err != nil {
		return err
	}
	if done.Messages == 0 && done.Rows == 0 && unchanged(done.Comparison) {
		return unknownSystem(c.System.id)
	}
	return c.print(streams.Out, done, c.lines(done)...)
}

func (c *repairCommand) lines(done rebuild.RepairResult) []string {
	lines, name := comparisonLines(done.Comparison, rebuildWords()), systemName(c.System.id)
	if done.Rows == 0 {
		return append(lines, fmt.Sprintf("The stream's messages make no rows of %s, so it has none now.", name))
	}
	lines = append(lines, fmt.Sprintf("Rebuilt the %d rows of %s from %d messages; writes paused for %s.",
		done.Rows, name, done.Messages, milliseconds(done.WritePause)))
	return append(lines, changedSystemLines("", done.Comparison)...)
}
