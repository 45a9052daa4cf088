package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/events/webhook"
	"callboard/projector/webhook/registry"
)

type webhooksTestCommand struct {
	output
	endpointArgument
	Kind     string           `placeholder:"KIND" help:"Send an event of this kind with random identifiers. Default: callboard.test, without data."`
	Postgres setting.Postgres `embed:""`
}

// Run has an endpoint tested.
func (c *webhooksTestCommand) Run(ctx context.Context, streams process.Streams) error {
	kind := webhook.Kind(c.Kind)
	switch {
	case c.Kind == "":
		kind = webhook.Test
	case kind != webhook.Test && !slices.Contains(webhook.Kinds(), kind):
		return &process.UsageError{Detail: fmt.Sprintf("--kind: %q is not a kind of event: use one of %s", c.Kind, kindNames(webhook.Kinds()))}
	}
	return withEndpoints(ctx, c.Postgres, operatorName{}, func(r *registry.Registry) error {
		shown := trialProgress{out: streams.Err, started: time.Now()}
		trial, err := r.Try(ctx, c.ID, kind, shown.waiting)
		if err != nil {
			return err
		}
		if err := c.print(streams.Out, trial, func(w io.Writer) error { return writeLines(w, []string{trialText(trial)}) }); err != nil {
			return err
		}
		if !trial.OK() {
			return process.ErrFailed
		}
		return nil
	})
}

// trialProgress says once, after progressDelay, that a command waits.
type trialProgress struct {
	out     io.Writer
	started time.Time
	said    bool
}

func (p *trialProgress) waiting() {
	if !p.said && time.Since(p.started) > progressDelay {
		p.said = true
		fmt.Fprintln(p.out, "waiting for a sender to send the test")
	}
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
