package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"callboard/events/webhook"
	"callboard/internal/run"
	"callboard/internal/run/setting"
	"callboard/projector/webhook/registry"
	"callboard/projector/webhook/vault"
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
		if !c.Skip {
			if err := r.Resume(ctx, c.ID); err != nil {
				return err
			}
			return c.printState(streams, registry.Active, nil)
		}
		shown := newDelayedProgress(streams.Err)
		defer shown.close()
		skipped, err := r.SkipAndResume(ctx, c.ID, shown.skipped)
		if err != nil {
			return withSkipped(ctx, err, skipped)
		}
		shown.close()
		return c.printState(streams, registry.Active, &skipped)
	})
}

type webhooksRemoveCommand struct{ endpointChange }

// Run removes an endpoint without asking for confirmation: its URL stays in the list.
func (c *webhooksRemoveCommand) Run(ctx context.Context, streams run.Streams) error {
	return withEndpoints(ctx, c.Postgres, c.operatorName, func(r *registry.Registry) error {
		shown := newDelayedProgress(streams.Err)
		defer shown.close()
		skipped, err := r.Remove(ctx, c.ID, shown.skipped)
		if err != nil {
			return withSkipped(ctx, err, skipped)
		}
		shown.close()
		return c.printState(streams, registry.Removed, &skipped)
	})
}

// withSkipped adds to an error how many deliveries were skipped before it.
func withSkipped(ctx context.Context, err error, skipped int64) error {
	if skipped == 0 {
		return err
	}
	if ctx.Err() != nil {
		err = errInterrupted
	}
	return fmt.Errorf("%w\nDeliveries skipped before: %d. Run the command again to skip the others", err, skipped)
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
	sealer, err := vault.New(c.Key.Keys...)
	if err != nil {
		return err
	}
	return withEndpoints(ctx, c.Postgres, c.operatorName, func(r *registry.Registry) error {
		var secret webhook.Secret
		if secret, err = r.Rotate(ctx, c.ID, c.Overlap, sealer); err != nil {
			return err
		}
		done := rotated{c.ID, secret.Reveal(), time.Now().Add(c.Overlap).UTC().Truncate(time.Second)}
		return c.printSecret(streams.Out, done, done.lines(), lostSecret(c.ID))
	})
}
