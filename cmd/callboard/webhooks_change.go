package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"callboard/events/webhook"
	"callboard/internal/run"
	"callboard/internal/run/setting"
	"callboard/projector/webhook/registry"
)

// endpointChange holds what commands that change an endpoint have in common.
type endpointChange struct {
	output
	endpointArgument
	operatorName
	Postgres setting.Postgres `embed:""`
}

// changedEndpoint is the JSON of a change.
type changedEndpoint struct {
	ID      uuid.UUID      `json:"id"`
	State   registry.State `json:"state"`
	Skipped *int64         `json:"skipped,omitempty"` // deliveries
}

// printState prints the state of an endpoint after a command.
func (c *endpointChange) printState(streams run.Streams, state registry.State, skipped *int64) error {
	lines := []string{fmt.Sprintf("Endpoint %s is %s.", c.ID, state)}
	if skipped != nil {
		lines = append(lines, fmt.Sprintf("Deliveries skipped: %d.", *skipped))
	}
	return c.print(streams.Out, changedEndpoint{c.ID, state, skipped}, lines...)
}

type webhooksPauseCommand struct{ endpointChange }

// Run pauses an endpoint.
func (c *webhooksPauseCommand) Run(ctx context.Context, streams run.Streams) error {
	return withEndpoints(ctx, c.Postgres, c.operatorName, func(r *registry.Registry) error {
		if err := r.Pause(ctx, c.ID); err != nil {
			return err
		}
		return c.printState(streams, registry.Paused, nil)
	})
}

type webhooksResumeCommand struct {
	endpointChange
	Skip bool `help:"Skip what waits: it is not sent."`
}

// Run resumes an endpoint.
func (c *webhooksResumeCommand) Run(ctx context.Context, streams run.Streams) error {
	return withEndpoints(ctx, c.Postgres, c.operatorName, func(r *registry.Registry) error {
		var skipped *int64
		if c.Skip {
			count, err := c.skip(ctx, r, streams.Err)
			if err != nil {
				return err
			}
			skipped = &count
		}

		// The endpoint sends nothing until here, so it never sends the skipped deliveries.
		if err := r.Resume(ctx, c.ID, skipped); err != nil {
			return err
		}
		return c.printState(streams, registry.Active, skipped)
	})
}

type webhooksRemoveCommand struct{ endpointChange }

// Run removes an endpoint without asking for confirmation: its URL stays in the list.
func (c *webhooksRemoveCommand) Run(ctx context.Context, streams run.Streams) error {
	return withEndpoints(ctx, c.Postgres, c.operatorName, func(r *registry.Registry) error {
		if err := r.Remove(ctx, c.ID); err != nil {
			return err
		}

		skipped, err := c.skip(ctx, r, streams.Err)
		if err != nil {
			return err
		}
		return c.printState(streams, registry.Removed, &skipped)
	})
}

// skip skips what waits for the endpoint, shows the progress, and returns how many deliveries it has skipped.
func (c *endpointChange) skip(ctx context.Context, r *registry.Registry, errs io.Writer) (skipped int64, err error) {
	display := newProgress(errs)
	defer display.Close()

	for more := true; more && err == nil; {
		var count int64
		count, more, err = r.Skip(ctx, c.ID)
		skipped += count
		display.Show("skipping", "deliveries", skipped, 0)
	}

	// An error says how many deliveries were skipped before it.
	switch {
	case err == nil || skipped == 0:
		return skipped, err
	case ctx.Err() != nil:
		err = errInterrupted
	}
	return skipped, fmt.Errorf("%w\nDeliveries skipped before: %d. Run the command again to skip the others", err, skipped)
}

type webhooksRotateCommand struct {
	endpointChange
	Overlap time.Duration      `default:"24h" help:"How long requests are signed with the old secret too, up to 30d. 0s ends it immediately."`
	Key     setting.WebhookKey `embed:""`
}

// rotated is the JSON of a rotation.
type rotated struct {
	ID           uuid.UUID `json:"id"`
	Secret       string    `json:"secret"`
	OldExpiresAt time.Time `json:"oldExpiresAt"`
}

// Run replaces an endpoint's secret.
func (c *webhooksRotateCommand) Run(ctx context.Context, streams run.Streams) error {
	vault, err := webhook.NewVault(c.Key.Keys...)
	if err != nil {
		return err
	}
	return withEndpoints(ctx, c.Postgres, c.operatorName, func(r *registry.Registry) error {
		var secret webhook.Secret
		if secret, err = r.Rotate(ctx, c.ID, c.Overlap, vault); err != nil {
			return err
		}
		done := rotated{c.ID, secret.Reveal(), time.Now().Add(c.Overlap).UTC().Truncate(time.Second)}
		return c.printSecret(streams.Out, done, done.lines(), lostSecret(c.ID))
	})
}

type webhooksDeliveriesCommand struct {
	output
	endpointArgument
	State    string           `enum:",waiting,delivered,dead,skipped" default:"" placeholder:"STATE" help:"Only those in this state: waiting, delivered, dead or skipped."`
	Since    time.Time        `type:"instant" placeholder:"TIME" help:"Only those created since then: 2026-03-02T09:30:00Z, or 24h for a day ago."`
	Kind     string           `enum:",${kinds}" default:"" placeholder:"KIND" help:"Only those of this kind of event."`
	CallSid  string           `placeholder:"SID" help:"Only those of this call."`
	Limit    int              `type:"count" min:"1" max:"10000" default:"100" help:"The maximum number to list, up to 10000."`
	Postgres setting.Postgres `embed:""`
}

// Run lists deliveries. The note that the list was cut goes to standard error, since a program may read the list.
func (c *webhooksDeliveriesCommand) Run(ctx context.Context, streams run.Streams) error {
	query := registry.Query{
		Endpoint: c.ID, State: registry.DeliveryState(c.State), Since: c.Since, Kind: webhook.Kind(c.Kind),
		CallSid: c.CallSid, Limit: c.Limit,
	}

	return withEndpoints(ctx, c.Postgres, operatorName{}, func(r *registry.Registry) error {
		deliveries, more, err := r.Deliveries(ctx, query)
		if err != nil {
			return err
		}

		if more {
			fmt.Fprintf(streams.Err, "Only the newest %d are listed. Use --limit to list more.\n", c.Limit)
		}
		return c.print(streams.Out, map[string]any{"deliveries": deliveries, "more": more}, deliveriesLines(deliveries)...)
	})
}

type webhooksRedeliverCommand struct {
	output
	operatorName
	Deliveries []int64          `arg:"" optional:"" name:"delivery" help:"The deliveries, from 'webhooks deliveries'."`
	Endpoint   *uuid.UUID       `placeholder:"UUID" help:"Instead of single deliveries: those of this endpoint in a --state."`
	State      string           `enum:",dead,skipped" default:"" placeholder:"STATE" help:"With --endpoint: dead or skipped."`
	Since      time.Time        `type:"instant" placeholder:"TIME" help:"With --endpoint: only those that ended since then: 2026-03-02T09:30:00Z, or 24h for a day ago."`
	Postgres   setting.Postgres `embed:""`
}

// Run sends deliveries again.
func (c *webhooksRedeliverCommand) Run(ctx context.Context, streams run.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	return withEndpoints(ctx, c.Postgres, c.operatorName, func(r *registry.Registry) error {
		count, err := c.redeliver(ctx, r)
		if err != nil {
			return err
		}
		return c.print(streams.Out, map[string]int{"redelivered": count},
			fmt.Sprintf("Deliveries that are sent again: %d.", count))
	})
}

func (c *webhooksRedeliverCommand) check() error {
	switch {
	case (c.Endpoint != nil) == (len(c.Deliveries) > 0):
		return &run.UsageError{Detail: "name deliveries by their ID, or use --endpoint and --state"}
	case (c.Endpoint != nil) != (c.State != ""):
		return &run.UsageError{Detail: "--endpoint requires --state, and --state requires --endpoint"}
	case c.Endpoint == nil && !c.Since.IsZero():
		return &run.UsageError{Detail: "--since requires --endpoint"}
	}
	return nil
}

func (c *webhooksRedeliverCommand) redeliver(ctx context.Context, r *registry.Registry) (int, error) {
	if c.Endpoint == nil {
		return r.Redeliver(ctx, c.Deliveries)
	}
	return r.RedeliverState(ctx, *c.Endpoint, registry.DeliveryState(c.State), c.Since)
}

type webhooksReplayCommand struct {
	endpointChange
	Since     time.Time                `type:"instant" required:"" placeholder:"TIME" help:"The beginning of the range: 2026-03-02T09:30:00Z, or 24h for a day ago."`
	Until     time.Time                `type:"instant" placeholder:"TIME" help:"The end of the range, exclusive. Default: now."`
	Kinds     []webhook.Kind           `type:"webhook-kinds" placeholder:"KIND,..." help:"Only these kinds of event. Default: all of the endpoint."`
	DryRun    bool                     `help:"Only count."`
	Retention setting.WebhookRetention `embed:""`
}

// replayed is the JSON of a replay.
type replayed struct {
	Events int64 `json:"events"`
	DryRun bool  `json:"dryRun"`
}

// Run sends events again.
func (c *webhooksReplayCommand) Run(ctx context.Context, streams run.Streams) error {
	replay := registry.Replay{Endpoint: c.ID, Since: c.Since, Until: c.Until, Kinds: c.Kinds, Days: c.Retention.Days}
	if c.Until.IsZero() {
		replay.Until = time.Now()
	}

	return withEndpoints(ctx, c.Postgres, c.operatorName, func(r *registry.Registry) error {
		count, err := r.Replay(ctx, replay, c.DryRun)
		if err != nil {
			return err
		}
		done := replayed{count, c.DryRun}
		return c.print(streams.Out, done, done.lines()...)
	})
}
