package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/sample"
	"callboard/internal/run"
	"callboard/internal/run/setting"
)

type publishCommand struct {
	output
	File   string         `arg:"" help:"A file with lines of {\"type\", \"data\", \"system\"?, \"id\"?, \"time\"?}; - reads standard input."`
	NATS   setting.NATS   `embed:""`
	Stream setting.Stream `embed:""`
}

const publishSource = "callboard/publish"

// Run publishes the lines in order and stops at the first invalid one: the events before it are published.
func (c *publishCommand) Run(ctx context.Context, streams run.Streams) error {
	input, err := c.open(streams)
	if err != nil {
		return err
	}
	defer func() { _ = input.Close() }()

	return withStream(c.NATS, func(js jetstream.JetStream) error {
		if _, err := openStream(ctx, js, c.Stream.Name); err != nil {
			return err
		}

		// What was published before an error is part of the output.
		display := newProgress(streams.Err)
		p := linePublisher{publisher: events.NewPublisher(js, publishSource), display: display}
		err := p.publish(ctx, input)
		display.Close()
		if err != nil {
			err = fmt.Errorf("%w\nEvents published before: %d", err, p.done)
			if !c.JSON {
				return err
			}
		}

		line := fmt.Sprintf("Events published: %d.", p.done)
		return errors.Join(err, c.print(streams.Out, map[string]int{"published": p.done}, line))
	})
}

func (c *publishCommand) open(streams run.Streams) (io.ReadCloser, error) {
	if c.File == "-" {
		return io.NopCloser(streams.In), nil
	}
	f, err := os.Open(c.File)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	return f, nil
}

// linePublisher publishes the events of lines.
type linePublisher struct {
	publisher *events.Publisher
	display   *progress
	done      int
}

// maxBatch is the number of events that are published together.
const maxBatch = 1000

// publish publishes all lines that can be read without waiting as one batch: a file's in large batches, typed lines
// singly. It stops at an invalid line, after the events before it.
func (p *linePublisher) publish(ctx context.Context, input io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := events.ReadLines(ctx, input, publishSource)
	var batch []events.Event

	for {
		var line events.Line
		select {
		case <-ctx.Done():
			return ctx.Err()
		case next, more := <-lines:
			if !more {
				return p.send(ctx, batch)
			}
			line = next
		}

		// Lines that are there already join the batch, so that a file is published in large batches.
		if line.Err == nil {
			batch = append(batch, line.Event)
			if len(lines) > 0 && len(batch) < maxBatch {
				continue
			}
		}

		// The events before an invalid line are published, too.
		if err := p.send(ctx, batch); err != nil {
			return err
		}
		if line.Err != nil {
			return fmt.Errorf("line %d: %w", line.Number, line.Err)
		}
		batch = nil
	}
}

func (p *linePublisher) send(ctx context.Context, batch []events.Event) error {
	err := p.publisher.Publish(ctx, batch...)
	var unacknowledged *events.UnacknowledgedError
	switch {
	case err == nil:
		p.done += len(batch)
	case errors.As(err, &unacknowledged):
		p.done += len(batch) - len(unacknowledged.Events)
	}
	p.display.Show("publishing", "events", int64(p.done), 0)
	return err
}

type simulateCommand struct {
	output
	Systems int            `type:"count" min:"1" default:"4" help:"The number of phone systems."`
	Calls   int            `type:"count" min:"0" default:"1000" help:"The number of their calls."`
	Rate    float64        `placeholder:"EVENTS/S" help:"The number of events per second. Default: unlimited."`
	Seed    uint64         `default:"1" help:"The same seed gives the same events."`
	NATS    setting.NATS   `embed:""`
	Stream  setting.Stream `embed:""`
}

// Run publishes the events.
func (c *simulateCommand) Run(ctx context.Context, streams run.Streams) error {
	if c.Rate < 0 {
		return &run.UsageError{Detail: "--rate must not be negative"}
	}

	return withStream(c.NATS, func(js jetstream.JetStream) error {
		if _, err := openStream(ctx, js, c.Stream.Name); err != nil {
			return err
		}

		started := time.Now()
		done, err := c.publish(ctx, events.NewPublisher(js, "callboard/simulate"), streams.Err)
		if err != nil {
			return fmt.Errorf("%w\nEvents published before: %d", err, done.Events)
		}

		return c.print(streams.Out, done, fmt.Sprintf("Published %d events of %d calls in %s.",
			done.Events, done.Calls, time.Since(started).Round(time.Millisecond)))
	})
}

func (c *simulateCommand) publish(
	ctx context.Context, publisher *events.Publisher, w io.Writer,
) (sample.Counts, error) {
	company := sample.New(sample.Config{Seed: c.Seed, Systems: c.Systems, Calls: c.Calls})
	display := newProgress(w)
	defer display.Close()
	return sample.Publish(ctx, publisher, company, c.Rate, func(p sample.Counts) {
		display.Show("publishing", "calls", int64(p.Calls), int64(c.Calls))
	})
}
