package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/internal/run"
	"callboard/projector/rebuild"
)

// buildOptions are the flags that limit the resources of a second writer.
type buildOptions struct {
	Workers    int           `type:"count" min:"0" placeholder:"N" example:"4" help:"The number of transactions, and of indexes that are created, at a time. Default: one per processor."`
	MaxLiveLag time.Duration `min:"0s" default:"10s" help:"Pause while the live projection lags by more than this; 0s never pauses."`
}

type rebuildCommand struct {
	output
	buildOptions
	Keep    bool `help:"Keep the replaced generation for 'callboard rollback'. The one that was kept before is dropped."`
	DryRun  bool `help:"Print what a rebuild would change, and change nothing. It needs disk space for a second projection."`
	Abandon bool `help:"Drop what an unfinished rebuild has built, and do nothing else."`
	projectionServers
}

// Run rebuilds the projection, or does what --dry-run or --abandon say.
func (c *rebuildCommand) Run(ctx context.Context, streams run.Streams) error {
	switch {
	case c.DryRun && c.Keep:
		return &run.UsageError{Detail: "--keep can't be combined with --dry-run, which replaces nothing"}
	case c.Abandon && (c.DryRun || c.Keep):
		return &run.UsageError{Detail: "--abandon can't be combined with --keep or --dry-run"}
	}

	s := session{servers: c.projectionServers, options: c.buildOptions, errs: streams.Err}
	switch {
	case c.Abandon:
		return s.dropGenerations(ctx, c.output, streams.Out, rebuild.Unfinished, "No rebuild is unfinished.")
	case c.DryRun:
		return c.dryRun(ctx, streams, s)
	}

	return c.rebuild(ctx, streams, s)
}

// dryRunResult is the JSON of a dry run.
type dryRunResult struct {
	DryRun bool `json:"dryRun"`
	rebuild.Comparison
}

func (c *rebuildCommand) dryRun(ctx context.Context, streams run.Streams, s session) error {
	found, err := runSession(ctx, s, func(ctx context.Context, config rebuild.Config) (rebuild.Comparison, error) {
		return rebuild.Verify(ctx, config, uuid.NullUUID{})
	})
	if err != nil {
		return err
	}

	line := "Nothing was written. Run 'callboard rebuild' to make these changes."
	if unchanged(found) {
		line = fmt.Sprintf("Nothing would change: %d rows compared.", found.Rows)
	}
	lines := slices.Concat(comparisonLines(found), changedSystemLines(found), []string{line})
	return c.print(streams.Out, dryRunResult{DryRun: true, Comparison: found}, lines...)
}

// unchanged reports whether a rebuild changes nothing.
func unchanged(c rebuild.Comparison) bool { return len(c.Changes)+len(c.MissingColumns) == 0 }

// dropGenerations drops generations that are not live and prints them, or the text none if there are none.
func (s session) dropGenerations(ctx context.Context, o output, out io.Writer, state rebuild.State, none string) error {
	s.changes = true
	dropped := []int64{} // the newest first

	err := withDatabase(ctx, s.servers.Postgres, func(pool *pgxpool.Pool) error {
		generations, err := rebuild.Drop(ctx, rebuild.Config{Database: pool}, state)
		dropped = append(dropped, generations...)
		return s.withAdvice(err)
	})
	if err != nil {
		return err
	}

	lines := []string{none}
	if len(dropped) > 0 {
		lines = []string{fmt.Sprintf("Dropped generations: %s.", strings.Trim(fmt.Sprint(dropped), "[]"))}
	}

	return o.print(out, map[string][]int64{"dropped": dropped}, lines...)
}

// rebuildResult is the JSON of a rebuild.
type rebuildResult struct {
	rebuild.Result
	Seconds           float64 `json:"seconds"`
	MessagesPerSecond float64 `json:"messagesPerSecond"`
}

func (c *rebuildCommand) rebuild(ctx context.Context, streams run.Streams, s session) error {
	s.changes = true
	started := time.Now()
	done, err := runSession(ctx, s, func(ctx context.Context, config rebuild.Config) (done rebuildResult, err error) {
		done.Result, err = rebuild.Run(ctx, config, c.Keep)
		done.Seconds = time.Since(started).Seconds()
		return done, err
	})

	// An error behind the switch says that the new generation is live.
	if err != nil && done.Generation != 0 {
		if errors.Is(err, errInterrupted) {
			err = errInterrupted // without the note about the earlier rows
		}

		last := append([]string{"The next rebuild drops them"}, withoutNoticesLines(done.WithoutNotices)...)
		return fmt.Errorf("generation %d is live, but older ones were not dropped: %w\n%s",
			done.Generation, err, strings.Join(last, "\n"))
	}
	if err != nil {
		return err
	}

	done.MessagesPerSecond = float64(done.Messages) / done.Seconds
	return c.print(streams.Out, done, done.lines()...)
}

func (r rebuildResult) lines() []string {
	lines := comparisonLines(r.Comparison)
	switch {
	case !unchanged(r.Comparison):
		lines = slices.Insert(lines, 0, fmt.Sprintf("Generation %d, which is replaced, beside the new one:", r.Replaced))
	case !r.NewHistory:
		lines = append(lines, fmt.Sprintf("No rows changed: %d rows compared.", r.Comparison.Rows))
	}

	if r.Resumed {
		lines = append(lines, "Resumed an unfinished rebuild.")
	}
	lines = append(lines, r.line())
	lines = append(lines, changedSystemLines(r.Comparison)...)

	if r.NewHistory {
		lines = append(lines, "It was built from another stream than the one before, so every row has a new updatedAt, "+
			"and nothing was compared: clients that walk by updatedAt read all rows once more.")
	}
	if r.PreviousKept {
		lines = append(lines, fmt.Sprintf("Generation %d is kept for 'callboard rollback'.", r.Replaced))
	}
	return append(lines, withoutNoticesLines(r.WithoutNotices)...)
}

func (r rebuildResult) line() string {
	return fmt.Sprintf("Generation %d is live: %d messages in %.1fs (load %.1fs, index %.1fs, compare %.1fs), "+
		"%.0f messages/s; writes paused for %s (snapshot) and %s (switch).",
		r.Generation, r.Messages, r.Seconds, r.Load, r.Index, r.Compare, r.MessagesPerSecond,
		milliseconds(r.SnapshotPause), milliseconds(r.WritePause))
}

// withoutNoticesLines say of how many partitions webhooks do not announce some messages.
func withoutNoticesLines(partitions int) []string {
	if partitions == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Partitions of which only this generation has applied some messages: %d. "+
		"No webhook announces these messages; receivers find their changes in report windows.", partitions)}
}

func milliseconds(s rebuild.Seconds) string { return fmt.Sprintf("%.0f ms", float64(s)*1000) }

type rollbackCommand struct {
	output
	Forget bool `help:"Do not switch. Drop the previous generation, to free its disk space."`
	projectionServers
}

// Run switches to the previous generation, or drops it.
func (c *rollbackCommand) Run(ctx context.Context, streams run.Streams) error {
	s := session{servers: c.projectionServers, errs: streams.Err, changes: true}
	if c.Forget {
		return s.dropGenerations(ctx, c.output, streams.Out, rebuild.Previous, "There is no previous generation.")
	}

	// An interruption can come after the switch: its error says which generation is live.
	done, err := runSession(ctx, s, rebuild.Rollback)
	if errors.Is(err, errInterrupted) && done.Generation != 0 {
		return fmt.Errorf("generation %d is live: %w", done.Generation, errInterrupted)
	}
	if err != nil {
		return err
	}

	line := fmt.Sprintf("Generation %d is live again; writes paused for %s. "+
		"Generation %d is the previous one now: run 'callboard rollback' to switch back to it.",
		done.Generation, milliseconds(done.WritePause), done.Replaced)
	unreadable := unreadableLines(done.Comparison.Unreadable)
	lines := slices.Concat(unreadable, []string{line}, withoutNoticesLines(done.WithoutNotices))
	return c.print(streams.Out, done, lines...)
}
