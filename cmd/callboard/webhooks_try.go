package main

import (
	"context"
	"fmt"
	"slices"

	"callboard/events/webhook"
	"callboard/internal/run"
	"callboard/internal/run/setting"
	"callboard/projector/webhook/registry"
)

type webhooksTestCommand struct {
	output
	endpointArgument
	Kind     string           `placeholder:"KIND" help:"Send an event of this kind with random identifiers. Default: callboard.test, without data."`
	Postgres setting.Postgres `embed:""`
}

// Run has an endpoint tested.
func (c *webhooksTestCommand) Run(ctx context.Context, streams run.Streams) error {
	kind := webhook.Kind(c.Kind)
	switch {
	case c.Kind == "":
		kind = webhook.Test
	case kind != webhook.Test && !slices.Contains(webhook.Kinds(), kind):
		return &run.UsageError{Detail: fmt.Sprintf("--kind: %q is not a kind of event: use one of %s", c.Kind, kindNames(webhook.Kinds()))}
	}
	return withEndpoints(ctx, c.Postgres, operatorName{}, func(r *registry.Registry) error {
		shown := newDelayedProgress(streams.Err)
		defer shown.close()
		trial, err := r.Try(ctx, c.ID, kind, shown.waiting)
		if err != nil {
			return err
		}
		if err := c.print(streams.Out, trial, trialText(trial)); err != nil {
			return err
		}
		if !trial.OK() {
			return run.ErrFailed
		}
		return nil
	})
}

func trialText(t registry.Trial) string {
	text := "no answer"
	if t.Status != nil {
		text = fmt.Sprintf("status %d", *t.Status)
	}
	if t.MS != nil {
		text += fmt.Sprintf(" after %d ms", *t.MS)
	}
	if t.Error != nil {
		text += ": " + printable(*t.Error)
	}
	if t.Answer != nil && *t.Answer != "" {
		text += "\n" + printable(*t.Answer)
	}
	return text
}
