package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/webhook"
	"callboard/internal/run"
	"callboard/internal/run/setting"
	"callboard/projector/ingest"
	"callboard/projector/webhook/egress"
	"callboard/projector/webhook/registry"
)

type webhooksAddCommand struct {
	output
	URL  string `arg:"" help:"The URL to send to: https."`
	Name string `required:"" help:"A name for the endpoint."`
	grantFlags
	Kinds       []webhook.Kind `type:"webhook-kinds" required:"" placeholder:"KIND,..." help:"The kinds of events, or all."`
	Concurrency int            `default:"8" help:"The number of requests at once, from 1 to 64."`
	NoTest      bool           `help:"Register the endpoint without a test."`
	operatorName
	projectionServers
	Key     setting.WebhookKey     `embed:""`
	Targets setting.WebhookTargets `embed:""`
}

// Run registers an endpoint. It receives what becomes fetchable from then on.
func (c *webhooksAddCommand) Run(ctx context.Context, streams run.Streams) error {
	candidate, err := c.candidate()
	if err != nil {
		return withWebhookAdvice(err)
	}
	return withServers(ctx, c.NATS, c.Postgres, func(js jetstream.JetStream, pool *pgxpool.Pool) error {
		return withWebhookAdvice(c.add(ctx, registry.New(pool, c.get()), js, candidate, streams))
	})
}

// add tests and registers an endpoint, and prints its secret.
func (c *webhooksAddCommand) add(
	ctx context.Context, r *registry.Registry, js jetstream.JetStream, candidate registry.Candidate, streams run.Streams,
) error {
	// Nothing is registered without a stream, or after a test that failed.
	if _, err := findOrigin(ctx, js, c.Stream.Name); err != nil {
		return err
	}
	if !c.NoTest {
		if err := try(ctx, r, candidate, streams.Err); err != nil {
			return err
		}
	}

	// The endpoint is stored before the stream is asked for its last message: projectors record all later ones.
	if err := r.Register(ctx, candidate); err != nil {
		return err
	}

	origin, err := findOrigin(ctx, js, c.Stream.Name)
	if err == nil {
		err = r.Activate(ctx, candidate.ID(), origin)
	}
	if err != nil {
		// The cleanup goes on after an interruption, within its own limit of time.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
		defer cancel()
		removeErr := r.Remove(ctx, candidate.ID())
		_, _, skipErr := r.Skip(ctx, candidate.ID())
		return errors.Join(err, removeErr, skipErr)
	}

	// From here on it has a secret, which is printed now or never.
	e, err := r.Show(ctx, candidate.ID())
	if err != nil {
		return fmt.Errorf("%w: %w\n%s", errNotShown, err, lostSecret(candidate.ID()))
	}
	added := addedEndpoint{e.Endpoint, candidate.Secret().Reveal()}
	return c.printSecret(streams.Out, added, added.lines(), lostSecret(e.ID))
}

// findOrigin returns the identity, the last sequence and the number of partitions of the stream of events.
func findOrigin(ctx context.Context, js jetstream.JetStream, name string) (registry.Origin, error) {
	stream, err := ingest.OpenSource(ctx, js, name)
	if err != nil {
		return registry.Origin{}, err
	}
	partitions, err := stream.Partitions()
	return registry.Origin{
		Stream: stream.ID, Sequence: stream.CachedInfo().State.LastSeq, Partitions: partitions,
	}, err
}

func (c *webhooksAddCommand) candidate() (registry.Candidate, error) {
	url, err := checkURL(c.Targets, c.URL)
	if err != nil {
		return registry.Candidate{}, err
	}

	vault, err := webhook.NewVault(c.Key.Keys...)
	if err != nil {
		return registry.Candidate{}, err
	}

	kind, id := c.grant()
	return registry.NewCandidate(c.Name, url, registry.Target{Kind: registry.TargetKind(kind), ID: id}, c.Kinds,
		c.Concurrency, vault)
}

// checkURL returns the canonical form of an endpoint's URL.
func checkURL(targets setting.WebhookTargets, text string) (string, error) {
	client := egress.New(egress.Config{Networks: targets.AllowNetworks, Ports: targets.Ports})
	url, err := client.CheckURL(text)
	if err != nil {
		return "", &run.UsageError{Detail: err.Error()}
	}
	return url, nil
}

// try has a sender send one test.
func try(ctx context.Context, r *registry.Registry, candidate registry.Candidate, errs io.Writer) error {
	defer sayWaiting(errs).Stop()
	trial, err := r.TryCandidate(ctx, candidate)
	switch {
	case errors.Is(err, registry.ErrNoSender):
		return fmt.Errorf("%w, or use --no-test; nothing was registered", err)
	case err != nil:
		return fmt.Errorf("%w; nothing was registered", err)
	case !trial.OK():
		return fmt.Errorf("the test failed: %s\nNothing was registered", trialText(trial))
	}
	return nil
}

// sayWaiting says that a command waits for a sender, unless the command stops it soon.
func sayWaiting(w io.Writer) *time.Timer {
	return time.AfterFunc(2*time.Second, func() { fmt.Fprintln(w, "waiting for a sender to send the test") })
}

// addedEndpoint is the JSON of a new endpoint.
type addedEndpoint struct {
	registry.Endpoint
	Secret string `json:"secret"`
}

func (a addedEndpoint) lines() []string {
	return []string{
		a.Secret,
		"",
		"This is the secret with which the receiver verifies requests. It can't be shown again; " +
			"'webhooks rotate' makes another.",
		fmt.Sprintf("Endpoint %s is %s. It receives what becomes fetchable from now on.", a.ID, a.State),
	}
}

type webhooksSetCommand struct {
	endpointChange
	URL         *string                `placeholder:"URL" help:"The URL to send to. What waits is sent there, too."`
	Kinds       []webhook.Kind         `type:"webhook-kinds" placeholder:"KIND,..." help:"The kinds of events, or all. What waits is sent whatever its kind is."`
	Concurrency *int                   `help:"The number of requests at once, from 1 to 64."`
	Name        *string                `help:"The name."`
	Targets     setting.WebhookTargets `embed:""`
}

// Run changes an endpoint.
func (c *webhooksSetCommand) Run(ctx context.Context, streams run.Streams) error {
	changes, err := c.changes()
	if err != nil {
		return err
	}
	return withEndpoints(ctx, c.Postgres, c.operatorName, func(r *registry.Registry) error {
		if err := r.Set(ctx, c.ID, changes); err != nil {
			return err
		}
		return c.show(ctx, r, c.ID, streams)
	})
}

func (c *webhooksSetCommand) changes() (changes registry.Changes, err error) {
	if c.URL == nil && c.Kinds == nil && c.Concurrency == nil && c.Name == nil {
		return changes, &run.UsageError{Detail: "nothing to change: use --url, --kinds, --concurrency or --name"}
	}

	changes.Name, changes.Concurrency, changes.Kinds = c.Name, c.Concurrency, c.Kinds
	if c.URL != nil {
		url, err := checkURL(c.Targets, *c.URL)
		if err != nil {
			return changes, err
		}
		changes.URL = &url
	}

	return changes, nil
}

type webhooksTestCommand struct {
	output
	endpointArgument
	Kind     string           `enum:"callboard.test,${kinds}" default:"callboard.test" placeholder:"KIND" help:"Send an event of this kind with random identifiers. Default: callboard.test, without data."`
	Postgres setting.Postgres `embed:""`
}

// Run has an endpoint tested.
func (c *webhooksTestCommand) Run(ctx context.Context, streams run.Streams) error {
	// A test that is not answered 2xx is printed, and fails the command.
	return withEndpoints(ctx, c.Postgres, operatorName{}, func(r *registry.Registry) error {
		defer sayWaiting(streams.Err).Stop()

		trial, err := r.Try(ctx, c.ID, webhook.Kind(c.Kind))
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
