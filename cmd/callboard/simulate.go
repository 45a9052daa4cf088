package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/progress"
	"callboard/events"
	"callboard/events/sample"
	"callboard/internal/run"
	"callboard/internal/run/setting"
)

type simulateCommand struct {
	output
	Systems int            `type:"count" min:"1" default:"4" help:"The number of phone systems."`
	Calls   int            `type:"count" min:"0" default:"1000" help:"The number of their calls."`
	Rate    float64        `placeholder:"EVENTS/S" help:"The number of events per second. Default: unlimited."`
	Seed    uint64         `default:"1" help:"The same seed gives the same events."`
	Days    int            `type:"count" min:"1" default:"28" help:"The number of days over which the calls are spread."`
	Until   time.Time      `placeholder:"TIME" help:"The end of these days in RFC 3339. Default: a fixed time, so that runs are equal."`
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

func (c *simulateCommand) publish(ctx context.Context, publisher *events.Publisher, w io.Writer) (sample.Counts, error) {
	company := sample.New(sample.Config{Seed: c.Seed, Systems: c.Systems, Calls: c.Calls, Until: c.Until, Days: c.Days})
	display := progress.New(w)
	defer display.Close()
	task := display.Start("publishing", "calls", int64(c.Calls))
	return sample.Publish(ctx, publisher, company, c.Rate, func(p sample.Counts) { task.Set(int64(p.Calls)) })
}
