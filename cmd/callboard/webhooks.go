package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/internal/run"
	"callboard/internal/run/setting"
	"callboard/projector/webhook/registry"
)

type webhooksCommand struct {
	Add        webhooksAddCommand        `cmd:"" help:"Register an endpoint after one test, and print its secret. It can't be printed again."`
	List       webhooksListCommand       `cmd:"" help:"List all endpoints, the newest first."`
	Show       webhooksShowCommand       `cmd:"" help:"Show an endpoint with its secrets' times and its newest changes."`
	Set        webhooksSetCommand        `cmd:"" help:"Change an endpoint's URL, kinds, concurrency or name."`
	Test       webhooksTestCommand       `cmd:"" help:"Have a sender send one signed test to an endpoint. Exit 1 unless it is answered 2xx."`
	Pause      webhooksPauseCommand      `cmd:"" help:"Stop sending to an endpoint. Its deliveries wait."`
	Resume     webhooksResumeCommand     `cmd:"" help:"Send to a paused or disabled endpoint again, first what waits."`
	Remove     webhooksRemoveCommand     `cmd:"" help:"Remove an endpoint and skip what waits for it. Its deliveries are kept for CALLBOARD_WEBHOOK_DAYS."`
	Rotate     webhooksRotateCommand     `cmd:"" help:"Give an endpoint a new secret and print it. Requests are signed with the old one too, for --overlap."`
	Deliveries webhooksDeliveriesCommand `cmd:"" help:"List an endpoint's deliveries with their attempts, the newest first."`
	Redeliver  webhooksRedeliverCommand  `cmd:"" help:"Send deliveries again, as the same events."`
	Replay     webhooksReplayCommand     `cmd:"" help:"Send again what became fetchable in a range of time, delivered before or not, 50 events a second."`
	Listen     webhooksListenCommand     `cmd:"" help:"Receive webhooks on this machine, verify and print them until interrupted. For tests."`
}

// operatorName holds who makes a change.
type operatorName struct {
	By string `placeholder:"NAME" help:"Who makes the change, for the audit. Default: the user of the operating system."`
}

func (o operatorName) get() string {
	if o.By != "" {
		return o.By
	}
	current, err := user.Current()
	if err != nil { // an image has no list of users
		return "uid " + strconv.Itoa(os.Getuid())
	}
	return current.Username
}

// withEndpoints does work with the registry of endpoints.
func withEndpoints(
	ctx context.Context, s setting.Postgres, by operatorName, work func(*registry.Registry) error,
) error {
	return withDatabase(ctx, s, func(pool *pgxpool.Pool) error {
		return withWebhookAdvice(work(registry.New(pool, by.get())))
	})
}

// withWebhookAdvice makes a usage error of an invalid request, and adds what to do to other errors.
func withWebhookAdvice(err error) error {
	var invalid *registry.InvalidError
	switch {
	case errors.As(err, &invalid):
		return &run.UsageError{Detail: err.Error()}
	case errors.Is(err, registry.ErrUnknownEndpoint):
		return fmt.Errorf("%w\nRun 'callboard webhooks list' to list all endpoints", err)
	case errors.Is(err, registry.ErrUnknownDelivery):
		return fmt.Errorf("%w\nRun 'callboard webhooks deliveries ID' to list an endpoint's deliveries; "+
			"nothing was changed", err)
	}
	return err
}

type webhooksListCommand struct {
	output
	Postgres setting.Postgres `embed:""`
}

// Run lists the endpoints.
func (c *webhooksListCommand) Run(ctx context.Context, streams run.Streams) error {
	return withEndpoints(ctx, c.Postgres, operatorName{}, func(r *registry.Registry) error {
		endpoints, err := r.List(ctx)
		if err != nil {
			return err
		}
		list := map[string][]registry.Endpoint{"endpoints": endpoints}
		return c.print(streams.Out, list, endpointsLines(endpoints)...)
	})
}

// endpointArgument names an endpoint.
type endpointArgument struct {
	ID uuid.UUID `arg:"" help:"The endpoint's id, from 'webhooks list'."`
}

type webhooksShowCommand struct {
	output
	endpointArgument
	Postgres setting.Postgres `embed:""`
}

// Run shows an endpoint.
func (c *webhooksShowCommand) Run(ctx context.Context, streams run.Streams) error {
	return withEndpoints(ctx, c.Postgres, operatorName{}, func(r *registry.Registry) error {
		return c.show(ctx, r, c.ID, streams)
	})
}

// show prints an endpoint as it is after a command.
func (o output) show(ctx context.Context, r *registry.Registry, id uuid.UUID, streams run.Streams) error {
	detail, err := r.Show(ctx, id)
	if err != nil {
		return err
	}
	return o.print(streams.Out, detail, endpointLines(detail)...)
}
