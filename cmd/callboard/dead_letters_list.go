package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/projector/deadletter"
)

type deadLettersListCommand struct {
	output
	All      bool             `help:"Those too that are settled: applied, stale, ignored or dropped."`
	Limit    int              `default:"100" help:"How many to list, 10000 at most."`
	Reason   string           `placeholder:"TEXT" help:"Only those whose reason holds this text."`
	Postgres setting.Postgres `embed:""`
}

const maxListed = 10_000

// Run lists dead letters. That there are more than was listed is said beside the list, which may be going into a program.
func (c *deadLettersListCommand) Run(ctx context.Context, streams process.Streams) error {
	if c.Limit < 1 || c.Limit > maxListed {
		return &process.UsageError{Detail: fmt.Sprintf("--limit is a number from 1 to %d", maxListed)}
	}
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		page, err := deadletter.List(ctx, pool, deadletter.Query{Settled: c.All, Reason: c.Reason, Limit: c.Limit})
		if err != nil {
			return err
		}
		if page.More {
			fmt.Fprintf(streams.Err, "These are the oldest %d; there are more. --limit lists more, --reason fewer.\n", len(page.Letters))
		}
		return c.print(streams.Out, page, func(w io.Writer) error { return c.write(w, page) })
	})
}

func (c *deadLettersListCommand) write(w io.Writer, page deadletter.Page) error {
	if len(page.Letters) == 0 {
		none := chosenLetters{Reason: c.Reason}.none()
		if c.All {
			none = "No dead letters."
		}
		_, err := fmt.Fprintln(w, none)
		return err
	}
	rows := [][]string{{"ID", "STORED", "SUBJECT", "SEQUENCE", "STATE", "REASON"}}
	for _, l := range page.Letters {
		rows = append(rows, []string{
			strconv.FormatInt(l.ID, 10), instant(l.StoredAt), printable(l.Subject), strconv.FormatInt(l.Sequence, 10), string(l.State),
			printable(cut(l.Reason, listedReason)),
		})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	return writeKinds(w, page)
}

const (
	listedReason = 100 // characters of a reason
	fewLetters   = 10  // whose reasons can be seen at a glance
	listedKinds  = 10
)

// writeKinds ends a list with how many are open, and of many with what they have in common.
func writeKinds(w io.Writer, page deadletter.Page) error {
	line := fmt.Sprintf("\n%d open", page.Open)
	if page.Waiting > 0 {
		line += fmt.Sprintf(", %d of them waiting for a retry", page.Waiting)
	}
	if page.Open <= fewLetters {
		_, err := fmt.Fprintln(w, line+".")
		return err
	}
	var rows [][]string
	for i, k := range page.Kinds {
		if i == listedKinds {
			rows = append(rows, []string{"", fmt.Sprintf("and %d kinds more", len(page.Kinds)-i)})
			break
		}
		rows = append(rows, []string{fmt.Sprintf("%d ×", k.Count), printable(cut(k.Reason, listedReason))})
	}
	if _, err := fmt.Fprintln(w, line+":"); err != nil {
		return err
	}
	return table(w, rows)
}
