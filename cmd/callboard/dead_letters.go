package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/process"
	"callboard/cmd/progress"
	"callboard/cmd/setting"
	"callboard/projector/deadletter"
	"callboard/projector/status"
)

type deadLettersCommand struct {
	List  deadLettersListCommand  `cmd:"" help:"List the open dead letters, the oldest first."`
	Show  deadLettersShowCommand  `cmd:"" help:"Show one dead letter with its data and advice."`
	Retry deadLettersRetryCommand `cmd:"" help:"Request a retry of dead letters and wait for the results. Exit 1 if any was not applied or still waits."`
	Drop  deadLettersDropCommand  `cmd:"" help:"Resolve dead letters and delete their data. They still count as dead."`
}

// selection holds the arguments by which retry and drop select dead letters.
type selection struct {
	IDs    []int64 `arg:"" optional:"" name:"id" help:"The IDs, from 'dead-letters list'."`
	All    bool    `help:"Select all open dead letters. 'drop' requires --reason with it."`
	Reason string  `placeholder:"TEXT" help:"With --all: only those whose reason contains this text."`
}

func (s selection) parse() (deadletter.Selection, error) {
	switch {
	case s.All == (len(s.IDs) > 0):
		return deadletter.Selection{}, &process.UsageError{Detail: "name the dead letters by ID, or use --all"}
	case !s.All && s.Reason != "":
		return deadletter.Selection{}, &process.UsageError{Detail: "--reason requires --all"}
	}
	return deadletter.Selection{IDs: s.IDs, Reason: s.Reason}, nil
}

// withDeadLetterAdvice adds what to do to an error that selected dead letters caused.
func withDeadLetterAdvice(err error) error {
	var unknown *deadletter.UnknownError
	var notRetryable *deadletter.NotRetryableError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%w\nRun 'callboard dead-letters list --all' to list all dead letters", err)
	case errors.As(err, &notRetryable):
		return fmt.Errorf("%w\nNo retry was requested. Run 'callboard dead-letters show %[2]d' to see its data, or 'callboard dead-letters drop %[2]d' to resolve it",
			err, notRetryable.ID)
	}
	return err
}

type deadLettersListCommand struct {
	output
	All      bool             `help:"List resolved dead letters too: applied, stale, ignored and dropped ones."`
	Limit    int              `default:"100" help:"The maximum number to list, up to 10000."`
	Reason   string           `placeholder:"TEXT" help:"Only those whose reason contains this text."`
	Postgres setting.Postgres `embed:""`
}

const maxListed = 10_000

// Run lists dead letters. The note that the list was cut goes to standard error, since a program may read the list.
func (c *deadLettersListCommand) Run(ctx context.Context, streams process.Streams) error {
	if c.Limit < 1 || c.Limit > maxListed {
		return &process.UsageError{Detail: fmt.Sprintf("--limit must be between 1 and %d", maxListed)}
	}
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		page, err := deadletter.List(ctx, pool, deadletter.Query{Resolved: c.All, Reason: c.Reason, Limit: c.Limit})
		if err != nil {
			return err
		}
		if page.More {
			fmt.Fprintf(streams.Err, "Only the oldest %d are listed. Use --limit to list more, or --reason to filter.\n", len(page.DeadLetters))
		}
		return c.print(streams.Out, page, func(w io.Writer) error { return c.write(w, page) })
	})
}

type deadLettersShowCommand struct {
	output
	ID       int64            `arg:"" help:"The ID, from 'dead-letters list'."`
	Full     bool             `help:"Show all of the data, whatever its size."`
	Raw      bool             `help:"Print nothing but the unchanged data."`
	Postgres setting.Postgres `embed:""`
}

// Run shows a dead letter. In JSON the data is in base64, since it can hold any bytes.
func (c *deadLettersShowCommand) Run(ctx context.Context, streams process.Streams) error {
	if c.Raw && (c.JSON || c.Full) {
		return &process.UsageError{Detail: "--raw can't be combined with --json or --full"}
	}
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		detail, err := deadletter.Find(ctx, pool, c.ID)
		switch {
		case err != nil:
			return withDeadLetterAdvice(err)
		case !c.Raw:
			return c.print(streams.Out, detail, func(w io.Writer) error { return c.write(w, detail) })
		case detail.State == deadletter.Dropped:
			return fmt.Errorf("dead letter %d was dropped: its data is deleted", c.ID)
		}
		_, err = streams.Out.Write(detail.Data)
		return err
	})
}

type deadLettersDropCommand struct {
	output
	selection
	Postgres setting.Postgres `embed:""`
}

// dropResults is the JSON of a drop.
type dropResults struct {
	Results []deadletter.Result `json:"results"`
}

// Run drops dead letters without asking for confirmation, which is why --all requires a reason.
func (c *deadLettersDropCommand) Run(ctx context.Context, streams process.Streams) error {
	selected, err := c.parse()
	if err != nil {
		return err
	}
	if c.All && c.Reason == "" {
		return &process.UsageError{Detail: "drop --all requires --reason"}
	}
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		results, err := deadletter.Drop(ctx, pool, selected)
		if err != nil {
			return withDeadLetterAdvice(err)
		}
		done := dropResults{append([]deadletter.Result{}, results...)}
		return c.print(streams.Out, done, func(w io.Writer) error { return writeLines(w, c.lines(results)) })
	})
}

type deadLettersRetryCommand struct {
	output
	selection
	Timeout setting.Duration `default:"30s" help:"How long to wait for the projectors. They execute the remaining retries later."`
	NoWait  bool             `help:"Request the retries and do not wait."`
	projectionServers
}

// retryResults is the JSON of a retry.
type retryResults struct {
	Results      []deadletter.Result                   `json:"results"`
	NotRetryable map[deadletter.NotRetryableReason]int `json:"notRetryable"` // open dead letters that --all left out
}

// Run requests retries and waits for their results.
func (c *deadLettersRetryCommand) Run(ctx context.Context, streams process.Streams) error {
	selected, err := c.parse()
	if err != nil {
		return err
	}
	if c.Timeout <= 0 {
		return &process.UsageError{Detail: "--timeout must be positive, such as 30s"}
	}
	return interrupted(ctx, withStream(c.NATS, func(js jetstream.JetStream) error {
		return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
			return c.retry(ctx, streams, status.Source{JetStream: js, Stream: c.Stream.Name.Get(), Pool: pool}, selected)
		})
	}))
}

func (c *deadLettersRetryCommand) retry(ctx context.Context, streams process.Streams, source status.Source, selected deadletter.Selection) error {
	request, err := deadletter.Retry(ctx, source.Pool, selected)
	if err != nil {
		return withDeadLetterAdvice(err)
	}
	results, err := c.wait(ctx, streams.Err, source, request.Requested)
	if err != nil {
		const advice = "The retries stay requested: projectors execute them"
		if ctx.Err() != nil {
			return fmt.Errorf("%w while waiting\n%s", errInterrupted, advice)
		}
		return fmt.Errorf("%w\n%s", err, advice)
	}
	all := append([]deadletter.Result{}, slices.Concat(request.AlreadyResolved, results)...)
	done := retryResults{Results: all, NotRetryable: request.NotRetryable}
	if err := c.print(streams.Out, done, func(w io.Writer) error { return writeLines(w, c.lines(done)) }); err != nil {
		return err
	}
	if !c.NoWait && slices.ContainsFunc(results, func(r deadletter.Result) bool { return !r.State.Resolved() }) {
		return process.ErrFailed
	}
	return nil
}

func (c *deadLettersRetryCommand) wait(ctx context.Context, errs io.Writer, source status.Source, ids []int64) ([]deadletter.Result, error) {
	if c.NoWait {
		results := make([]deadletter.Result, len(ids))
		for i, id := range ids {
			results[i] = deadletter.Result{ID: id, State: deadletter.Waiting}
		}
		return results, nil
	}
	shown := retryProgress{out: errs, started: time.Now(), total: len(ids)}
	defer shown.close()
	return deadletter.Wait(ctx, source.Pool, ids, deadletter.WaitOptions{
		Timeout: time.Duration(c.Timeout), StopReasons: source.StopReasons, OnProgress: shown.set,
	})
}

// retryProgress shows the progress of a retry that takes longer than progressDelay.
type retryProgress struct {
	out     io.Writer
	started time.Time
	total   int
	display *progress.Display // nil before progressDelay
	task    *progress.Task
}

const progressDelay = 2 * time.Second

func (p *retryProgress) set(done int) {
	if p.display == nil {
		if time.Since(p.started) < progressDelay {
			return
		}
		p.display = progress.New(p.out)
		p.display.Println("waiting for the projectors")
		p.task = p.display.StartWithoutRate("retrying", "dead letters", int64(p.total))
	}
	p.task.Set(int64(done))
}

func (p *retryProgress) close() {
	if p.display != nil {
		p.display.Close()
	}
}
