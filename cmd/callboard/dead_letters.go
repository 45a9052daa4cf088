package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/internal/run"
	"callboard/internal/run/setting"
	"callboard/projector/deadletter"
	"callboard/projector/status"
)

type deadLettersCommand struct {
	List  deadLettersListCommand  `cmd:"" help:"List the open dead letters, the oldest first."`
	Show  deadLettersShowCommand  `cmd:"" help:"Show one dead letter with its data and advice."`
	Retry deadLettersRetryCommand `cmd:"" help:"Publish dead letters again and wait for the results. Exit 1 if any was not applied or still waits."`
	Drop  deadLettersDropCommand  `cmd:"" help:"Resolve dead letters and delete their data. They still count as dead."`
	Skip  deadLettersSkipCommand  `cmd:"" help:"Make the next message of a stopped partition a dead letter, so that the partition goes on behind it."`
}

// withDeadLetterAdvice adds what to do to an error that selected dead letters caused.
func withDeadLetterAdvice(err error) error {
	var unknown *deadletter.UnknownError
	var notRetryable *deadletter.NotRetryableError

	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%w\nRun 'callboard dead-letters list --all' to list all dead letters", err)

	case errors.As(err, &notRetryable):
		return fmt.Errorf("%w\nRun 'callboard dead-letters show %[2]d' to see its data, "+
			"or 'callboard dead-letters drop %[2]d' to resolve it",
			err, notRetryable.ID)
	}

	return withPublishAdvice(err)
}

// withPublishAdvice adds what to do to an error that publishing caused.
func withPublishAdvice(err error) error {
	var refusal *jetstream.APIError

	switch {
	case errors.Is(err, nats.ErrPermissionViolation):
		return fmt.Errorf("%w\nThe user of CALLBOARD_NATS_URL must be allowed to publish to phones.*.*, "+
			"as in deploy/nats.conf", err)

	case errors.As(err, &refusal):
		return fmt.Errorf("%w\nThe stream refused the message. If it is full or read-only, change that first; "+
			"see 'callboard stream check'", err)

	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w\nNATS did not acknowledge the message. Run the command again: "+
			"a retry that the stream has already does no harm", err)
	}

	return err
}

type deadLettersListCommand struct {
	output
	All      bool             `help:"List resolved dead letters too: applied, stale, ignored and dropped ones."`
	Limit    int              `type:"count" min:"1" max:"10000" default:"100" help:"The maximum number to list, up to 10000."`
	Postgres setting.Postgres `embed:""`
}

// Run lists dead letters. The note that the list was cut goes to standard error, since a program may read the list.
func (c *deadLettersListCommand) Run(ctx context.Context, streams run.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		page, err := deadletter.List(ctx, pool, deadletter.Query{Resolved: c.All, Limit: c.Limit})
		if err != nil {
			return err
		}
		if page.More {
			fmt.Fprintf(streams.Err, "Only the oldest %d are listed. Use --limit to list more.\n", len(page.DeadLetters))
		}
		return c.print(streams.Out, page, c.lines(page)...)
	})
}

type deadLettersShowCommand struct {
	output
	ID       int64            `arg:"" help:"The ID, from 'dead-letters list'."`
	Postgres setting.Postgres `embed:""`
}

// Run shows a dead letter. In JSON the data is in base64, since it can hold any bytes.
func (c *deadLettersShowCommand) Run(ctx context.Context, streams run.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		detail, err := deadletter.Find(ctx, pool, c.ID)
		if err != nil {
			return withDeadLetterAdvice(err)
		}
		return c.print(streams.Out, detail, deadLetterLines(detail)...)
	})
}

type deadLettersDropCommand struct {
	output
	IDs      []int64          `arg:"" name:"id" help:"The IDs, from 'dead-letters list'."`
	Postgres setting.Postgres `embed:""`
}

// Run drops dead letters without asking for confirmation.
func (c *deadLettersDropCommand) Run(ctx context.Context, streams run.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		results, err := deadletter.Drop(ctx, pool, deadletter.Selection{IDs: c.IDs})
		if err != nil {
			return withDeadLetterAdvice(err)
		}
		return c.print(streams.Out, map[string][]deadletter.Result{"results": results}, resultLines(results, nil)...)
	})
}

type deadLettersRetryCommand struct {
	output
	IDs     []int64       `arg:"" optional:"" name:"id" help:"The IDs, from 'dead-letters list'."`
	All     bool          `help:"Select all open dead letters."`
	Timeout time.Duration `min:"1ms" default:"30s" help:"How long to wait for the projectors. They apply the remaining retries later."`
	projectionServers
}

// retryResults is the JSON of a retry.
type retryResults struct {
	Results      []deadletter.Result                   `json:"results"`
	NotRetryable map[deadletter.NotRetryableReason]int `json:"notRetryable"` // open dead letters that --all left out
}

// Run publishes dead letters again and waits for the results.
func (c *deadLettersRetryCommand) Run(ctx context.Context, streams run.Streams) error {
	if c.All == (len(c.IDs) > 0) {
		return &run.UsageError{Detail: "name the dead letters by ID, or use --all"}
	}
	return interrupted(ctx, withServers(ctx, c.NATS, c.Postgres, func(js jetstream.JetStream, pool *pgxpool.Pool) error {
		return c.publishAndWait(ctx, streams, status.Source{JetStream: js, Stream: c.Stream.Name, Pool: pool})
	}))
}

func (c *deadLettersRetryCommand) publishAndWait(
	ctx context.Context, streams run.Streams, source status.Source,
) error {
	display := newProgress(streams.Err)
	defer display.Close()
	retrier := deadletter.Retrier{
		Pool: source.Pool, JetStream: source.JetStream, Stream: source.Stream,
		OnPublished: func(done, total int) { display.Show("publishing", "dead letters", int64(done), int64(total)) },
	}

	// Publish the dead letters again. An error says how many of them were published before it.
	retries, err := retrier.Retry(ctx, deadletter.Selection{IDs: c.IDs})
	if err != nil {
		return withPublished(ctx, withDeadLetterAdvice(err), len(retries.Published))
	}

	// Wait until projectors have decided them.
	waiting := func(done int) {
		display.Show("waiting for the projectors", "dead letters", int64(done), int64(len(retries.Published)))
	}
	waiting(0)
	results, err := deadletter.Wait(ctx, source.Pool, retries.Published, c.Timeout, waiting)
	if err != nil {
		return withPublished(ctx, err, len(retries.Published))
	}
	display.Close()

	// Dead letters that needed no retry, or that were too large for it, have results, too.
	all := append([]deadletter.Result{}, slices.Concat(retries.AlreadyResolved, retries.TooLarge, results)...)
	done := retryResults{Results: all, NotRetryable: retries.NotRetryable}
	if err := c.print(streams.Out, done, resultLines(all, done.NotRetryable)...); err != nil {
		return err
	}

	// The exit code is 1 where a dead letter is still open.
	open := slices.ContainsFunc(results, func(r deadletter.Result) bool { return !r.State.Resolved() })
	if open || len(retries.TooLarge) > 0 {
		return run.ErrFailed
	}
	return nil
}

// withPublished adds to an error how many dead letters were published before it.
func withPublished(ctx context.Context, err error, published int) error {
	if ctx.Err() != nil {
		err = errInterrupted
	}
	if published == 0 {
		return err
	}
	return fmt.Errorf("%w\nPublished again before: %d dead letters. Projectors apply them", err, published)
}

type deadLettersSkipCommand struct {
	output
	Partition int `arg:"" help:"The partition that stops at its next message, from 'callboard status'."`
	projectionServers
}

// Run skips a message without asking for confirmation: a retry applies it.
func (c *deadLettersSkipCommand) Run(ctx context.Context, streams run.Streams) error {
	return interrupted(ctx, withServers(ctx, c.NATS, c.Postgres, func(js jetstream.JetStream, pool *pgxpool.Pool) error {
		skipped, err := deadletter.Skip(ctx, pool, js, c.Stream.Name, c.Partition)
		if errors.As(err, new(*deadletter.NotSkippedError)) {
			return fmt.Errorf("%w\nRun 'callboard status' to see the partitions that are behind", err)
		}
		if err != nil {
			return err
		}
		return c.print(streams.Out, skipped, c.lines(skipped)...)
	}))
}
