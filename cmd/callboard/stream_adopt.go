package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/events"
	"callboard/projector/rebuild"
	"callboard/projector/store"
)

type streamMirrorCommand struct {
	output
	Name     string         `arg:"" placeholder:"NAME" help:"The mirror."`
	Replicas int            `default:"1" help:"The number of servers that hold a copy: 3 in production."`
	Cluster  string         `placeholder:"NAME" help:"The NATS cluster that holds the mirror. Default: the server's own."`
	NATS     setting.NATS   `embed:""`
	Stream   setting.Stream `embed:""`
}

// createdMirror tells what 'stream mirror' created.
type createdMirror struct {
	Stream  string `json:"stream"`
	Mirror  string `json:"mirror"`
	Created bool   `json:"created"` // false: it existed
}

// Run creates a mirror unless a stream with its name exists.
func (c *streamMirrorCommand) Run(ctx context.Context, streams process.Streams) error {
	if c.Replicas < 1 {
		return &process.UsageError{Detail: "--replicas must be 1 or more"}
	}
	return withStream(c.NATS, func(js jetstream.JetStream) error {
		done := createdMirror{Stream: c.Stream.Name.Get(), Mirror: c.Name}
		if _, err := openStream(ctx, js, done.Stream); err != nil {
			return err
		}
		var err error
		if done.Created, err = events.EnsureStream(ctx, js, events.MirrorConfig(c.Name, done.Stream, c.Replicas, c.Cluster)); err != nil {
			return err
		}
		return c.print(streams.Out, done, func(w io.Writer) error {
			return writeLines(w, fmt.Sprintf("Mirror %s of %s: %s.", done.Mirror, done.Stream, createdOrExists(done.Created)))
		})
	})
}

type streamAdoptCommand struct {
	output
	foldOptions
	Name  string `arg:"" placeholder:"NAME" help:"The mirror."`
	Quick bool   `help:"Compare only the last message of each partition, not the served rows with the mirror."`
	projectionServers
}

// Run makes a mirror take the place of the stream that is read.
func (c *streamAdoptCommand) Run(ctx context.Context, streams process.Streams) error {
	options, err := c.complete()
	if err != nil {
		return err
	}
	s := session{
		servers: c.projectionServers, options: options, errs: streams.Err, changes: true,
		interrupted: "Run the command again: it continues",
	}
	var done rebuild.Adoption
	err = s.run(ctx, func(config rebuild.Config) (err error) {
		done, err = rebuild.Adopt(ctx, config, c.Name, !c.Quick)
		return err
	})
	if errors.Is(err, rebuild.ErrDiffers) {
		*done.Comparison = withoutNulls(*done.Comparison)
		if err := c.print(streams.Out, done, func(w io.Writer) error { return writeComparison(w, *done.Comparison, verifyWords()) }); err != nil {
			return err
		}
		return fmt.Errorf("%w\nRun 'callboard verify' to see whether they differ from the stream that is read, too", err)
	}
	if err != nil {
		return err
	}
	if done.Comparison != nil {
		*done.Comparison = withoutNulls(*done.Comparison)
	}
	return c.print(streams.Out, done, func(w io.Writer) error { return writeLines(w, adoptionLines(done)...) })
}

func adoptionLines(a rebuild.Adoption) []string {
	if !a.Adopted {
		return []string{"Stream " + a.Stream + " is read already."}
	}
	var lines []string
	if a.Comparison != nil {
		line := fmt.Sprintf("No differences: %d rows in %d tables compared.", a.Comparison.Rows, len(store.Tables()))
		if a.Comparison.OtherDefinition {
			line = "The rows were not compared in all columns, because another release built the projection."
		}
		lines = append(lines, line)
	}
	if a.Replaced == "" {
		return append(lines, fmt.Sprintf("Stream %s is read from now on. It has every message that was applied.", a.Stream))
	}
	return append(lines,
		fmt.Sprintf("Stream %s is read in place of %s from now on, from message %d. No event could be published for %s.",
			a.Stream, a.Replaced, a.Last+1, milliseconds(a.Pause)),
		fmt.Sprintf("Set CALLBOARD_STREAM to %[1]s. Until then, programs that have the database find it by themselves. %[2]s is not needed any more.", a.Stream, a.Replaced))
}
