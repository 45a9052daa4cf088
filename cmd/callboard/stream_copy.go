package main

import (
	"context"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/process"
	"callboard/cmd/progress"
	"callboard/cmd/setting"
	"callboard/events/transfer"
)

type streamCopyCommand struct {
	output
	Name       string         `arg:"" placeholder:"NAME" help:"The new stream. One that an interrupted copy has begun is continued."`
	Partitions int            `required:"" placeholder:"N" help:"The number of partitions of the new stream."`
	Replicas   int            `default:"1" help:"The number of servers that hold a copy: 3 in production."`
	NATS       setting.NATS   `embed:""`
	Stream     setting.Stream `embed:""`
}

// copiedStream is the result of a copy.
type copiedStream struct {
	Stream     string `json:"stream"`
	Replaced   string `json:"replaced"`
	Partitions int    `json:"partitions"`
	Messages   uint64 `json:"messages"` // of the new stream
}

// Run copies the stream of events to a new one, which takes the events from then on.
func (c *streamCopyCommand) Run(ctx context.Context, streams process.Streams) error {
	if c.Partitions < 1 || c.Replicas < 1 {
		return &process.UsageError{Detail: "--partitions and --replicas must be 1 or more"}
	}
	done := copiedStream{Stream: c.Name, Replaced: c.Stream.Name.Get(), Partitions: c.Partitions}
	err := withStream(c.NATS, func(js jetstream.JetStream) (err error) {
		display := progress.New(streams.Err)
		defer display.Close()
		task := display.Start("copying", "messages", 0)
		copying := transfer.Copy{
			JetStream: js, From: done.Replaced, To: c.Name, Partitions: c.Partitions, Replicas: c.Replicas,
			Progress: func(copied, total uint64) {
				task.SetTotal(int64(total))
				task.Set(int64(copied))
			},
		}
		done.Messages, err = copying.Run(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w\nRun the command again: it continues after the last message that was copied", interrupted(ctx, err))
	}
	return c.print(streams.Out, done, func(w io.Writer) error {
		return writeLines(w,
			fmt.Sprintf("Stream %s (partitions: %d) has the messages of %s and takes the events from now on: %d messages.",
				c.Name, c.Partitions, done.Replaced, done.Messages),
			fmt.Sprintf("Run 'callboard rebuild --stream %[1]s', then start all programs with CALLBOARD_STREAM=%[1]s.", c.Name),
		)
	})
}
