package main

import (
	"context"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/projector/deadletter"
)

type deadLettersDropCommand struct {
	output
	chosenLetters
	Postgres setting.Postgres `embed:""`
}

type dropped struct {
	Results []deadletter.Result `json:"results"`
}

// Run drops dead letters. Nobody is asked whether they are sure, but all of them at once is more than anybody means.
func (c *deadLettersDropCommand) Run(ctx context.Context, streams process.Streams) error {
	choice, err := c.choice()
	if err != nil {
		return err
	}
	if c.All && c.Reason == "" {
		return &process.UsageError{Detail: "--all drops dead letters of one kind: --reason says which"}
	}
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		results, err := deadletter.Drop(ctx, pool, choice)
		if err != nil {
			return lettersRefused(err)
		}
		done := dropped{append([]deadletter.Result{}, results...)}
		return c.print(streams.Out, done, func(w io.Writer) error { return c.write(w, done) })
	})
}

func (c *deadLettersDropCommand) write(w io.Writer, done dropped) error {
	lines := untouchedLines(done.Results)
	var ids []int64
	for _, r := range done.Results {
		if !r.Untouched {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) > 0 {
		lines = append(lines, fmt.Sprintf("Dropped %s: %s.", counted(len(ids)), someIDs(ids)))
	}
	if len(lines) == 0 {
		lines = []string{c.none()}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// untouchedLines name the letters that were settled before.
func untouchedLines(results []deadletter.Result) (lines []string) {
	for _, r := range results {
		if r.Untouched {
			lines = append(lines, fmt.Sprintf("Dead letter %d is settled already: %s.", r.ID, r.State))
		}
	}
	return lines
}
