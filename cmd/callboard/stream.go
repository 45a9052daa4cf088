package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/cmd/stream"
	"callboard/events"
	"callboard/events/audit"
)

type streamCommand struct {
	Create streamCreateCommand `cmd:"" help:"Make the stream, the transcripts' bucket, the audit's stream and those of the budgets, with safe settings."`
	Check  streamCheckCommand  `cmd:"" help:"Say what in the running streams' settings is unsafe."`
}

type streamCreateCommand struct {
	output
	Partitions int             `default:"16" help:"The number of partitions, fixed for the stream's life."`
	Replicas   int             `default:"1" help:"The number of servers that hold a copy: 3 in production."`
	NATS       setting.NATS    `embed:""`
	Stream     setting.Stream  `embed:""`
	Premium    setting.Premium `embed:""`
}

// Run makes what is not there.
func (c *streamCreateCommand) Run(ctx context.Context, streams process.Streams) error {
	if c.Partitions < 1 || c.Replicas < 1 {
		return &process.UsageError{Detail: "--partitions and --replicas are 1 or more"}
	}
	return withStream(c.NATS, func(js jetstream.JetStream) error {
		made, err := stream.Create(ctx, js, stream.Wanted{
			Name: c.Stream.Name.Get(), Partitions: c.Partitions, Replicas: c.Replicas, Premium: c.Premium.PerMinute.Get(),
		})
		if err != nil {
			return err
		}
		return c.print(streams.Out, made, func(w io.Writer) error { return c.write(w, made) })
	})
}

func (c *streamCreateCommand) write(w io.Writer, made stream.Made) error {
	_, err := fmt.Fprintf(w, "Stream %s, %d partitions, %d replicas: %s.\nBucket %s: %s.\nStream %s: %s.\n",
		c.Stream.Name.Get(), c.Partitions, c.Replicas, outcome(made.Stream), events.TranscriptBucket, outcome(made.Bucket),
		audit.StreamName, outcome(made.Audit))
	for _, name := range slices.Sorted(maps.Keys(made.Limits)) {
		if err == nil {
			_, err = fmt.Fprintf(w, "Stream %s: %s.\n", name, outcome(made.Limits[name]))
		}
	}
	return err
}

func outcome(made bool) string {
	if made {
		return "made"
	}
	return "was there"
}

type streamCheckCommand struct {
	output
	NATS    setting.NATS    `embed:""`
	Stream  setting.Stream  `embed:""`
	Premium setting.Premium `embed:""`
}

// checked is what a check found.
type checked struct {
	Stream string   `json:"stream"`
	Unsafe []string `json:"unsafe"`
}

// Run prints what is unsafe, and fails if anything is.
func (c *streamCheckCommand) Run(ctx context.Context, streams process.Streams) error {
	return withStream(c.NATS, func(js jetstream.JetStream) error {
		found := checked{Stream: c.Stream.Name.Get(), Unsafe: []string{}}
		faults, err := stream.Check(ctx, js, found.Stream, c.Premium.PerMinute.Get())
		if err != nil {
			return err
		}
		found.Unsafe = append(found.Unsafe, faults...)
		if err := c.print(streams.Out, found, found.write); err != nil {
			return err
		}
		if len(faults) > 0 {
			return process.ErrFailed
		}
		return nil
	})
}

func (c checked) write(w io.Writer) error {
	if len(c.Unsafe) == 0 {
		_, err := fmt.Fprintf(w, "Stream %s is safe.\n", c.Stream)
		return err
	}
	for _, fault := range c.Unsafe {
		if _, err := fmt.Fprintln(w, fault); err != nil {
			return err
		}
	}
	return nil
}
