package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/internal/run"
	"callboard/projector/rebuild"
)

type verifyCommand struct {
	output
	buildOptions
	System *phoneSystem `placeholder:"UUID" help:"Compare only this phone system. 'global' stands for rows of no phone system."`
	projectionServers
}

var errOtherRelease = errors.New("another release built the projection, so differences are expected\n" +
	"Run 'callboard rebuild --dry-run' to see what a rebuild would change, or 'callboard rebuild' to change it")

// Run prints the differences, and fails if there are any.
func (c *verifyCommand) Run(ctx context.Context, streams run.Streams) error {
	var system uuid.NullUUID
	if c.System != nil {
		system = uuid.NullUUID{UUID: c.System.id, Valid: true}
	}

	s := session{servers: c.projectionServers, options: c.buildOptions, errs: streams.Err}
	found, err := runSession(ctx, s, func(ctx context.Context, config rebuild.Config) (rebuild.Comparison, error) {
		return rebuild.Verify(ctx, config, system)
	})
	if err != nil {
		return err
	}

	// A person is told that another release built the projection. A program gets the differences, too.
	if c.JSON || !found.OtherDefinition {
		if err := c.print(streams.Out, found, c.lines(found)...); err != nil {
			return err
		}
	}

	switch {
	case found.OtherDefinition:
		return errOtherRelease
	case c.unknown(found):
		return unknownSystem(system.UUID)
	case found.Differs():
		return run.ErrFailed
	}

	return nil
}

// unknown reports whether the requested phone system has neither rows nor events that make rows.
func (c *verifyCommand) unknown(found rebuild.Comparison) bool {
	return c.System != nil && found.Rows == 0 && !found.Differs()
}

func unknownSystem(system uuid.UUID) error {
	return fmt.Errorf("no messages and no rows found of %s\nCheck the phone system's id", systemName(system))
}

func (c *verifyCommand) lines(found rebuild.Comparison) []string {
	if c.unknown(found) {
		return nil
	}
	line := fmt.Sprintf("No differences: %d rows compared.", found.Rows)
	if found.Differs() {
		line = correction(found)
	}
	return append(comparisonLines(found), line)
}

// correction says what corrects the differences. A repair rebuilds the rows of one phone system, and neither tables nor
// the message accounting.
func correction(found rebuild.Comparison) string {
	ofAccounting := func(d rebuild.Difference) bool { return d.Table == messageCountTable }
	switch {
	case len(found.Unreadable) > 0:
		return "Make these messages readable again, for example by restoring the object of a transcript, " +
			"and run 'callboard verify' again."
	case len(found.MissingColumns) > 0 || slices.ContainsFunc(found.Samples, ofAccounting):
		return "Run 'callboard rebuild' to correct this."
	}
	return "Run 'callboard repair --system ID' for each of these phone systems, or 'callboard rebuild', to correct this."
}

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

type repairCommand struct {
	output
	System phoneSystem `required:"" placeholder:"UUID" help:"The phone system. 'global' stands for rows of no phone system."`
	buildOptions
	projectionServers
}

// Run replaces the rows of a phone system by rows that are built from the stream.
func (c *repairCommand) Run(ctx context.Context, streams run.Streams) error {
	s := session{servers: c.projectionServers, options: c.buildOptions, errs: streams.Err, changes: true}
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
	lines, name := comparisonLines(done.Comparison), systemName(c.System.id)
	if !unchanged(done.Comparison) {
		lines = slices.Insert(lines, 0, "The rows that are replaced, beside the new ones:")
	}
	if done.Rows == 0 {
		return append(lines, fmt.Sprintf("The stream's messages make no rows of %s, so it has none now.", name))
	}
	lines = append(lines, fmt.Sprintf("Rebuilt the %d rows of %s from %d messages; writes paused for %s.",
		done.Rows, name, done.Messages, milliseconds(done.WritePause)))
	return append(lines, changedSystemLines(done.Comparison)...)
}
