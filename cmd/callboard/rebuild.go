package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"callboard/cmd/process"
	"callboard/projector/rebuild"
	"callboard/projector/status"
	"callboard/projector/store"
	"callboard/schema"
)

type rebuildCommand struct {
	output
	effort
	Keep    bool `help:"Keep the generation that is replaced, for 'callboard rollback'. One is kept at most: what was kept before is dropped."`
	DryRun  bool `help:"Fold in memory and say what a rebuild would change; nothing is written."`
	Abandon bool `help:"Only drop what a rebuild that came to no end has built."`
	projectionServers
}

// Run builds a generation beside the live one and puts it in that one's place.
func (c *rebuildCommand) Run(ctx context.Context, streams process.Streams) error {
	effort, err := c.complete()
	if err != nil {
		return err
	}
	switch {
	case c.DryRun && c.Keep:
		return &process.UsageError{Detail: "--dry-run replaces nothing, so there is nothing to --keep"}
	case c.Abandon && (c.DryRun || c.Keep):
		return &process.UsageError{Detail: "--abandon builds nothing: say it alone"}
	}
	work := rebuilding{servers: c.projectionServers, effort: effort, errs: streams.Err}
	if c.Abandon {
		return c.abandon(ctx, streams, work)
	}
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
	work.paused = "Nothing was written"
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
		if unchanged(found) {
			said = fmt.Sprintf("Nothing would change: %d rows of %d tables are as they should be.", found.Rows, len(store.Tables()))
		}
		_, err := fmt.Fprintln(w, said)
		return err
	})
}

// unchanged tells whether a projection is as a rebuild makes it.
func unchanged(c rebuild.Comparison) bool { return len(c.Changes)+len(c.MissingColumns) == 0 }

func (c *rebuildCommand) abandon(ctx context.Context, streams process.Streams, work rebuilding) error {
	work.changes = true
	return dropping{streams.Out, c.output, "No rebuild was left without an end."}.run(ctx, c.Postgres, func(config rebuild.Config) ([]int64, error) {
		generations, err := rebuild.Drop(ctx, config, rebuild.Unfinished)
		return generations, work.refused(err)
	})
}

// rebuilt is what a rebuild did, and how fast.
type rebuilt struct {
	rebuild.Result
	Seconds           float64 `json:"seconds"`
	MessagesPerSecond float64 `json:"messagesPerSecond"`
	Parts             int64   `json:"parts"`        // in which the generation was filled
	PartsResumed      int64   `json:"partsResumed"` // of them, those that an earlier run had done
	Dropped           []int64 `json:"dropped"`      // generations, the newest first
}

func (c *rebuildCommand) rebuild(ctx context.Context, streams process.Streams, work rebuilding) error {
	work.paused, work.changes = "The live generation is as it was. Run it again: it goes on where it was", true
	var done rebuilt
	var before, after []status.Generation
	began := time.Now()
	err := work.run(ctx, func(config rebuild.Config) (err error) {
		if before, err = status.Generations(ctx, config.Database, schema.Definition()); err != nil {
			return err
		}
		if done.Result, err = rebuild.Run(ctx, config, c.Keep); err != nil {
			return err
		}
		done.Seconds = time.Since(began).Seconds()
		after, err = status.Generations(ctx, config.Database, schema.Definition())
		return err
	})
	if err != nil && done.Generation != 0 {
		if errors.Is(err, errInterrupted) {
			err = errInterrupted
		}
		return fmt.Errorf("generation %d is live, and older ones may be left: the next rebuild drops them: %w", done.Generation, err)
	}
	if err != nil {
		return err
	}
	done.MessagesPerSecond = float64(done.Messages) / done.Seconds
	done.Comparison = wholly(done.Comparison)
	done.account(before, after)
	return c.print(streams.Out, done, done.write)
}

// account finds what the run did to generations.
func (r *rebuilt) account(before, after []status.Generation) {
	for _, g := range after {
		if g.ID == r.Generation {
			r.Parts = g.Parts
		}
	}
	r.Dropped = []int64{}
	for _, g := range before {
		if g.ID == r.Generation {
			r.PartsResumed = g.PartsDone
		}
		if !slices.ContainsFunc(after, func(left status.Generation) bool { return left.ID == g.ID }) {
			r.Dropped = append(r.Dropped, g.ID)
		}
	}
}

func (r rebuilt) write(w io.Writer) error {
	words := comparisonWords{missing: "added", surplus: "removed", value: "was %s, is %s", lacks: "The replaced projection lacked", sums: map[rebuild.Kind]string{
		rebuild.KindMissing: "added", rebuild.KindSurplus: "removed", rebuild.KindChanged: "changed",
	}}
	if err := writeComparison(w, r.Comparison, words); err != nil {
		return err
	}
	var lines []string
	if unchanged(r.Comparison) {
		lines = append(lines, fmt.Sprintf("Nothing changed: %d rows are as they were.", r.Comparison.Rows))
	}
	if r.Resumed {
		lines = append(lines, fmt.Sprintf("An earlier run had begun it: this one went on behind %d of %d parts.", r.PartsResumed, r.Parts))
	}
	lines = append(lines, r.line())
	if r.PreviousKept {
		lines = append(lines, fmt.Sprintf("Generation %d is kept: 'callboard rollback' switches back.", r.Replaced))
	}
	return writeLines(w, append(lines, droppedLines(r.Dropped)...))
}

func (r rebuilt) line() string {
	took := fmt.Sprintf("%.1fs (fold %.1fs, index %.1fs, follow %.1fs, compare %.1fs)", r.Seconds, r.Fold, r.Index, r.Follow, r.Compare)
	line := fmt.Sprintf("Generation %d is live after %s", r.Generation, took)
	if r.Messages > 0 {
		line = fmt.Sprintf("Generation %d is live: %d messages, %d rows in %s, %.0f messages/s", r.Generation, r.Messages, r.Rows, took, r.MessagesPerSecond)
	}
	if r.Followed > 0 {
		line += fmt.Sprintf("; %d messages followed", r.Followed)
	}
	return line + fmt.Sprintf("; commits stood still for %s and for %s.", milliseconds(r.SnapshotPause), milliseconds(r.WritePause))
}

// droppedLines name the generations that are gone.
func droppedLines(ids []int64) []string {
	if len(ids) == 0 {
		return nil
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = strconv.FormatInt(id, 10)
	}
	if len(names) == 1 {
		return []string{"Generation " + names[0] + " was dropped."}
	}
	last := len(names) - 1
	return []string{"Generations " + strings.Join(names[:last], ", ") + " and " + names[last] + " were dropped."}
}

func milliseconds(s rebuild.Seconds) string { return fmt.Sprintf("%.0f ms", float64(s)*1000) }
