package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/process"
	"callboard/projector/deadletter"
	"callboard/projector/status"
)

type deadLettersRetryCommand struct {
	output
	chosenLetters
	Timeout time.Duration `default:"30s" help:"How long to wait for the projectors. What they haven't tried by then, they try later."`
	NoWait  bool          `help:"Ask the projectors and don't wait."`
	projectionServers
}

// retried is what became of a request.
type retried struct {
	Results []deadletter.Result         `json:"results"`
	Left    map[deadletter.Obstacle]int `json:"left"` // of all open ones, those that nobody can retry
}

// Run has dead letters tried again.
func (c *deadLettersRetryCommand) Run(ctx context.Context, streams process.Streams) error {
	choice, err := c.choice()
	if err != nil {
		return err
	}
	if c.Timeout <= 0 {
		return &process.UsageError{Detail: "--timeout is how long to wait, such as 30s"}
	}
	return interrupted(ctx, withStream(c.NATS, func(js jetstream.JetStream) error {
		return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
			return c.retry(ctx, streams, status.Source{JetStream: js, Stream: c.Stream.Name.Get(), Pool: pool}, choice)
		})
	}))
}

func (c *deadLettersRetryCommand) retry(ctx context.Context, streams process.Streams, source status.Source, choice deadletter.Choice) error {
	request, err := deadletter.Retry(ctx, source.Pool, choice)
	if err != nil {
		return lettersRefused(err)
	}
	results, err := c.await(ctx, streams.Err, source, request.Asked)
	if err != nil {
		return stillAsked(ctx, err)
	}
	done := retried{Results: append([]deadletter.Result{}, slices.Concat(request.Settled, results)...), Left: request.Left}
	if err := c.print(streams.Out, done, func(w io.Writer) error { return c.write(w, done) }); err != nil {
		return err
	}
	return c.verdict(results)
}

func (c *deadLettersRetryCommand) await(ctx context.Context, errs io.Writer, source status.Source, ids []int64) ([]deadletter.Result, error) {
	if c.NoWait {
		results := make([]deadletter.Result, len(ids))
		for i, id := range ids {
			results[i] = deadletter.Result{ID: id, State: deadletter.Waiting}
		}
		return results, nil
	}
	shown := retryProgress{out: errs, began: time.Now(), total: len(ids)}
	defer shown.close()
	return deadletter.Await(ctx, source.Pool, ids, deadletter.Patience{Limit: c.Timeout, Faults: source.StopReasons, Heard: shown.set})
}

// stillAsked adds to the error that ended a wait that the wait alone has ended.
func stillAsked(ctx context.Context, err error) error {
	const asked = "The dead letters stay asked for: projectors try them all the same"
	if ctx.Err() != nil {
		return fmt.Errorf("%w while waiting\n%s", errInterrupted, asked)
	}
	return fmt.Errorf("%w\n%s", err, asked)
}

// verdict is an error where a letter that was tried, or was to be, still is one.
func (c *deadLettersRetryCommand) verdict(results []deadletter.Result) error {
	if c.NoWait {
		return nil
	}
	if slices.ContainsFunc(results, func(r deadletter.Result) bool { return !r.State.Settled() }) {
		return process.ErrFailed
	}
	return nil
}
