package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/process"
	"callboard/cmd/progress"
	"callboard/cmd/setting"
	"callboard/events"
	"callboard/events/ndjson"
)

type publishCommand struct {
	output
	File   string         `arg:"" help:"Lines of {\"type\", \"data\", \"system\"?, \"id\"?, \"time\"?}; - reads standard input."`
	NATS   setting.NATS   `embed:""`
	Stream setting.Stream `embed:""`
}

// published is how far a publication came.
type published struct {
	Published int `json:"published"`
}

const publishSource = "callboard/publish"

// Run publishes line by line and stops at the first that is no event: those before it are published, and no other.
func (c *publishCommand) Run(ctx context.Context, streams process.Streams) error {
	input, err := c.open(streams)
	if err != nil {
		return err
	}
	defer func() { _ = input.Close() }()
	return withStream(c.NATS, func(js jetstream.JetStream) error {
		if _, err := js.Stream(ctx, c.Stream.Name.Get()); err != nil {
			return fmt.Errorf("stream %s: %w", c.Stream.Name.Get(), err)
		}
		display := progress.New(streams.Err)
		p := publication{publisher: events.NewPublisher(js, publishSource), task: display.Start("publishing", "events", 0)}
		err := p.publish(ctx, input)
		display.Close()
		if err != nil {
			err = fmt.Errorf("%w\nEvents published before: %d", err, p.done)
			if !c.JSON {
				return err
			}
		}
		return errors.Join(err, c.print(streams.Out, published{p.done}, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "Events published: %d.\n", p.done)
			return err
		}))
	})
}

func (c *publishCommand) open(streams process.Streams) (io.ReadCloser, error) {
	if c.File == "-" {
		return io.NopCloser(streams.In), nil
	}
	f, err := os.Open(c.File)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	return f, nil
}

// publication is events on their way from lines to the stream.
type publication struct {
	publisher *events.Publisher
	task      *progress.Task
	done      int
}

// publish takes what lines there are at a time: all of a file's in large batches, those that somebody types one by one.
func (p *publication) publish(ctx context.Context, input io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := ndjson.Read(ctx, input, publishSource)
	for {
		var first ndjson.Line
		select {
		case <-ctx.Done():
			return ctx.Err()
		case line, more := <-lines:
			if !more {
				return nil
			}
			first = line
		}
		batch, bad := gather(first, lines)
		if err := p.send(ctx, batch); err != nil {
			return err
		}
		if bad != nil {
			return bad
		}
	}
}

// maxBatch is how many events are published together.
const maxBatch = 1000

// gather is what has come behind first, up to the first bad line or a full batch.
func gather(first ndjson.Line, lines <-chan ndjson.Line) (batch []events.Event, bad error) {
	for line := first; ; {
		if line.Err != nil {
			return batch, fmt.Errorf("line %d: %w", line.Number, line.Err)
		}
		if batch = append(batch, line.Event); len(batch) == maxBatch {
			return batch, nil
		}
		var more bool
		select {
		case line, more = <-lines:
			if !more {
				return batch, nil
			}
		default:
			return batch, nil
		}
	}
}

func (p *publication) send(ctx context.Context, batch []events.Event) error {
	err := p.publisher.Publish(ctx, batch...)
	var left *events.UnacknowledgedError
	switch {
	case err == nil:
		p.done += len(batch)
	case errors.As(err, &left):
		p.done += len(batch) - len(left.Events)
	}
	p.task.Set(int64(p.done))
	return err
}
