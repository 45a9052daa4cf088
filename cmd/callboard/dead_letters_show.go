package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/projector/deadletter"
)

type deadLettersShowCommand struct {
	output
	ID       int64            `arg:"" help:"The dead letter's id, from 'dead-letters list'."`
	Full     bool             `help:"All of the data, however long."`
	Raw      bool             `help:"Nothing but the data, byte by byte as it is."`
	Postgres setting.Postgres `embed:""`
}

// Run shows a dead letter. In JSON the data is in base64, since it may be anything.
func (c *deadLettersShowCommand) Run(ctx context.Context, streams process.Streams) error {
	if c.Raw && (c.JSON || c.Full) {
		return &process.UsageError{Detail: "--raw is the data alone: leave --json and --full out"}
	}
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		letter, err := deadletter.Find(ctx, pool, c.ID)
		switch {
		case err != nil:
			return lettersRefused(err)
		case !c.Raw:
			return c.print(streams.Out, letter, func(w io.Writer) error { return c.write(w, letter) })
		case letter.State == deadletter.Dropped:
			return fmt.Errorf("dead letter %d was dropped: its data is gone", c.ID)
		}
		_, err = streams.Out.Write(letter.Data)
		return err
	})
}

func (c *deadLettersShowCommand) write(w io.Writer, l deadletter.Content) error {
	if err := table(w, letterRows(l)); err != nil {
		return err
	}
	if l.State == deadletter.Dropped {
		return nil
	}
	text, rest := legible(l.Data), 0
	if !c.Full {
		text, rest = head(text, shownData)
	}
	if _, err := fmt.Fprintf(w, "\nData, %d bytes:\n%s\n", len(l.Data), text); err != nil {
		return err
	}
	if rest == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "... and %d bytes more; --full shows all\n", rest)
	return err
}

// shownData is how many bytes of the data are shown unasked.
const shownData = 4 << 10

func letterRows(l deadletter.Content) [][]string {
	rows := [][]string{
		{"id", strconv.FormatInt(l.ID, 10)},
		{"state", letterState(l.Letter)},
		{"reason", printable(l.Reason)},
		{"advice", l.Advice},
		{"stream", printable(l.Stream) + ", created " + instant(l.StreamCreated)},
		{"sequence", strconv.FormatInt(l.Sequence, 10)},
		{"partition", strconv.Itoa(l.Partition)},
		{"subject", printable(l.Subject)},
		{"stored", instant(l.StoredAt)},
		{"recorded", instant(l.RecordedAt)},
	}
	if l.Header == nil && len(l.Wire) > 0 {
		return append(rows, []string{"headers", strconv.QuoteToGraphic(string(l.Wire))})
	}
	for _, name := range slices.Sorted(maps.Keys(l.Header)) {
		for _, value := range l.Header[name] {
			rows = append(rows, []string{"header", printable(name + ": " + value)})
		}
	}
	return rows
}

// letterState is a letter's state and since when.
func letterState(l deadletter.Letter) string {
	switch {
	case l.ResolvedAt != nil:
		return string(l.State) + " since " + instant(*l.ResolvedAt)
	case l.RetryRequestedAt != nil:
		return "waiting for a retry since " + instant(*l.RetryRequestedAt)
	}
	return string(l.State)
}
