package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"callboard/cmd/process"
	"callboard/projector/rebuild"
	"callboard/projector/store"
)

type rebuildCommand struct {
	output
	effort
	Keep   bool `help:"Keep the generation that is replaced, for 'callboard rollback'."`
	DryRun bool `help:"Fold in memory and say what a rebuild would change; nothing is written."`
	projectionServers
}

// Run builds a generation beside the live one and puts it in that one's place.
func (c *rebuildCommand) Run(ctx context.Context, streams process.Streams) error {
	effort, err := c.complete()
	if err != nil {
		return err
	}
	if c.DryRun && c.Keep {
		return &process.UsageError{Detail: "--dry-run replaces nothing, so there is nothing to --keep"}
	}
	work := rebuilding{servers: c.projectionServers, effort: effort, errs: streams.Err}
	if c.DryRun {
		return c.compare(ctx, streams, work)
	}
	return c.rebuild(ctx, streams, work)
}

// compared is what a rebuild would change.
type compared struct {
	DryRun bool `json:"dryRun"`
	rebuild.Comparison
}

func (c *rebuildCommand) compare(ctx context.Context, streams process.Streams, work rebuilding) error {
	work.outlook, work.paused = wholeStream, "Nothing was written"
	var found rebuild.Comparison
	err := work.run(ctx, func(config rebuild.Config) (err error) {
		found, err = rebuild.Verify(ctx, config)
		return err
	})
	if err != nil {
		return err
	}
	found = wholly(found)
	return c.print(streams.Out, compared{DryRun: true, Comparison: found}, func(w io.Writer) error {
		words := heldAgainst(map[rebuild.Kind]string{
			rebuild.KindMissing: "would be added", rebuild.KindSurplus: "would be removed", rebuild.KindChanged: "would change",
		})
		if err := writeComparison(w, found, words); err != nil {
			return err
		}
		said := "Nothing was written; 'callboard rebuild' changes this."
		if len(found.Changes) == 0 {
			said = fmt.Sprintf("Nothing would change: %d rows of %d tables are as they should be.", found.Rows, len(store.Tables()))
		}
		_, err := fmt.Fprintln(w, said)
		return err
	})
}

// rebuilt is what a rebuild did, and how fast.
type rebuilt struct {
	rebuild.Result
	Seconds           float64 `json:"seconds"`
	MessagesPerSecond float64 `json:"messagesPerSecond"`
}

func (c *rebuildCommand) rebuild(ctx context.Context, streams process.Streams, work rebuilding) error {
	work.outlook, work.paused = partsLeft, "The live generation is as it was. Run it again: it goes on where it was"
	var done rebuilt
	began := time.Now()
	err := work.run(ctx, func(config rebuild.Config) (err error) {
		done.Result, err = rebuild.Run(ctx, config, c.Keep)
		return err
	})
	if err != nil && done.Generation != 0 {
		return fmt.Errorf("generation %d is live, and generation %d was not dropped: the next rebuild does that: %w", done.Generation, done.Replaced, err)
	}
	if err != nil {
		return err
	}
	done.Seconds = time.Since(began).Seconds()
	done.MessagesPerSecond = float64(done.Messages) / done.Seconds
	done.Comparison = wholly(done.Comparison)
	return c.print(streams.Out, done, done.write)
}

func (r rebuilt) write(w io.Writer) error {
	words := comparisonWords{missing: "added", surplus: "removed", value: "was %s, is %s", sums: map[rebuild.Kind]string{
		rebuild.KindMissing: "added", rebuild.KindSurplus: "removed", rebuild.KindChanged: "changed",
	}}
	if err := writeComparison(w, r.Comparison, words); err != nil {
		return err
	}
	var lines []string
	if len(r.Comparison.Changes) == 0 {
		lines = append(lines, fmt.Sprintf("Nothing changed: %d rows are as they were.", r.Comparison.Rows))
	}
	if r.Resumed {
		lines = append(lines, "An earlier run had begun it; what that did was not done again.")
	}
	return writeLines(w, append(lines, r.line()))
}

func (r rebuilt) line() string {
	line := fmt.Sprintf("Generation %d is live: %d messages, %d rows in %.1fs (fold %.1fs, index %.1fs, follow %.1fs, compare %.1fs), %.0f messages/s; "+
		"commits stood still for %s. ", r.Generation, r.Messages, r.Rows, r.Seconds, r.Fold, r.Index, r.Follow, r.Compare, r.MessagesPerSecond,
		milliseconds(r.Standstill))
	if r.Kept {
		return line + fmt.Sprintf("Generation %d is kept: 'callboard rollback' switches back.", r.Replaced)
	}
	return line + fmt.Sprintf("Generation %d was dropped.", r.Replaced)
}

func milliseconds(s rebuild.Seconds) string { return fmt.Sprintf("%.0f ms", float64(s)*1000) }
