package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/process"
	"callboard/cmd/progress"
	"callboard/cmd/setting"
	"callboard/events"
	"callboard/events/sample"
)

type simulateCommand struct {
	output
	Systems int            `default:"4" help:"How many phone systems."`
	Calls   int            `default:"1000" help:"How many calls they have."`
	Rate    float64        `placeholder:"EVENTS/S" help:"How many events a second; as fast as it goes by default."`
	Seed    uint64         `default:"1" help:"The same seed gives the same events."`
	Days    int            `default:"28" help:"Over how many days the calls are spread."`
	Until   time.Time      `placeholder:"TIME" help:"When these days end, in RFC 3339; the same fixed time for everybody by default."`
	NATS    setting.NATS   `embed:""`
	Stream  setting.Stream `embed:""`
}

// Run publishes the company.
func (c *simulateCommand) Run(ctx context.Context, streams process.Streams) error {
	if c.Systems < 1 || c.Calls < 0 || c.Rate < 0 || c.Days < 1 {
		return &process.UsageError{Detail: "--systems and --days are 1 or more, --calls and --rate not negative"}
	}
	return withStream(c.NATS, func(js jetstream.JetStream) error {
		if _, err := js.Stream(ctx, c.Stream.Name.Get()); err != nil {
			return fmt.Errorf("stream %s: %w", c.Stream.Name.Get(), err)
		}
		began := time.Now()
		done, err := c.publish(ctx, events.NewPublisher(js, "callboard/simulate"), streams.Err)
		if err != nil {
			return fmt.Errorf("%d events published: %w", done.Events, err)
		}
		return c.print(streams.Out, done, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%d events of %d calls published in %s.\n",
				done.Events, done.Calls, time.Since(began).Round(time.Millisecond))
			return err
		})
	})
}

func (c *simulateCommand) publish(ctx context.Context, publisher *events.Publisher, w io.Writer) (sample.Counts, error) {
	company := sample.New(sample.Config{Seed: c.Seed, Systems: c.Systems, Calls: c.Calls, Until: c.Until, Days: c.Days})
	display := progress.New(w)
	defer display.Close()
	task := display.Start("publishing", "calls", int64(c.Calls))
	return sample.Publish(ctx, publisher, company, c.Rate, func(p sample.Counts) { task.Set(int64(p.Calls)) })
}
