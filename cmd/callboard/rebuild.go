package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/projector/rebuild"
	"callboard/projector/status"
	"callboard/schema"
)

// foldOptions are the flags that limit the resources of folding.
type foldOptions struct {
	Batch      int              `default:"2000" help:"The number of messages that are folded at a time."`
	Memory     setting.Size     `default:"2GiB" help:"The approximate memory for folded rows. Larger phone systems are folded in pieces."`
	Spool      string           `placeholder:"DIR" help:"The folder for messages that are to be folded, with room for 1.3 times the stream. Default: TMPDIR, or /tmp."`
	Workers    int              `placeholder:"N" help:"The number of phone systems, or pieces of a large one, that are folded in parallel. Default: one per processor."`
	MaxLiveLag setting.Duration `default:"10s" help:"Pause while the live projection lags by more than this; 0s never pauses."`
}

// complete checks the flags and fills in the default of the workers.
func (o foldOptions) complete() (foldOptions, error) {
	if o.Batch < 1 || o.Workers < 0 || o.MaxLiveLag < 0 {
		return o, &process.UsageError{Detail: "--batch must be 1 or more, --workers and --max-live-lag must not be negative"}
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return o, nil
}

// onePartition are the options of commands that fold a single partition.
func onePartition() foldOptions { return foldOptions{Batch: 2000, Workers: 1} }

type rebuildCommand struct {
	output
	foldOptions
	Keep    bool `help:"Keep the replaced generation for 'callboard rollback'. The one that was kept before is dropped."`
	DryRun  bool `help:"Print what a rebuild would change, and change nothing. It needs the same room in --spool."`
	Abandon bool `help:"Drop what an unfinished rebuild has built, and do nothing else."`

	Distrust bool `help:"Read the stream once more before, and correct times that are ahead: a message that was stored more than a minute later than one with a higher sequence counts as stored at the time of that one. For streams whose NATS server had a clock that was ahead."`
	correctionFlags
	projectionServers
}

// Run rebuilds the projection, or does what --dry-run or --abandon say.
func (c *rebuildCommand) Run(ctx context.Context, streams process.Streams) error {
	options, err := c.complete()
	if err != nil {
		return err
	}
	switch {
	case c.DryRun && c.Keep:
		return &process.UsageError{Detail: "--keep can't be combined with --dry-run, which replaces nothing"}
	case c.Distrust && (c.DryRun || c.Abandon || c.Keep):
		return &process.UsageError{Detail: "--distrust can't be combined with --dry-run or --abandon, nor with --keep: the replaced generation has the wrong times"}
	case c.Abandon && (c.DryRun || c.Keep):
		return &process.UsageError{Detail: "--abandon can't be combined with --keep or --dry-run"}
	}
	s := session{servers: c.projectionServers, options: options, errs: streams.Err, noAnnounce: c.NoAnnounce, distrust: c.Distrust}
	switch {
	case c.Abandon:
		return c.abandon(ctx, streams, s)
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

func (c *rebuildCommand) dryRun(ctx context.Context, streams process.Streams, s session) error {
	s.interrupted = "Nothing was written"
	var found rebuild.Comparison
	err := s.run(ctx, func(config rebuild.Config) (err error) {
		found, err = rebuild.Verify(ctx, config)
		return err
	})
	if err != nil {
		return err
	}
	found = withoutNulls(found)
	return c.print(streams.Out, dryRunResult{DryRun: true, Comparison: found}, func(w io.Writer) error {
		if err := writeComparison(w, found, dryRunWords()); err != nil {
			return err
		}
		line := "Nothing was written. Run 'callboard rebuild' to make these changes."
		if unchanged(found) {
			line = fmt.Sprintf("Nothing would change: %d rows compared.", found.Rows)
		}
		return writeLines(w, append(c.changedCallLines("would ", found), line)...)
	})
}

// unchanged reports whether a rebuild changes nothing.
func unchanged(c rebuild.Comparison) bool { return len(c.Changes)+len(c.MissingColumns) == 0 }

func (c *rebuildCommand) abandon(ctx context.Context, streams process.Streams, s session) error {
	return s.dropGenerations(ctx, c.output, streams.Out, rebuild.Unfinished, "No rebuild is unfinished.")
}

// dropGenerations drops generations that are not live and prints them, or the text none if there are none.
func (s session) dropGenerations(ctx context.Context, o output, out io.Writer, state rebuild.State, none string) error {
	s.changes = true
	dropped := []int64{} // the newest first
	err := withDatabase(ctx, s.servers.Postgres, func(pool *pgxpool.Pool) error {
		generations, err := rebuild.Drop(ctx, rebuild.Config{Database: pool, Spool: s.options.Spool}, state)
		dropped = append(dropped, generations...)
		return s.withAdvice(err)
	})
	if err != nil {
		return err
	}
	return o.print(out, map[string][]int64{"dropped": dropped}, func(w io.Writer) error {
		if len(dropped) == 0 {
			return writeLines(w, none)
		}
		return writeLines(w, droppedLines(dropped)...)
	})
}

// rebuildResult is the JSON of a rebuild.
type rebuildResult struct {
	rebuild.Result
	Seconds           float64 `json:"seconds"`
	MessagesPerSecond float64 `json:"messagesPerSecond"`
	Parts             int64   `json:"parts"`        // of the generation
	PartsResumed      int64   `json:"partsResumed"` // parts that an earlier run had finished
	Dropped           []int64 `json:"dropped"`      // generations, the newest first

	correction correctionFlags
}

func (c *rebuildCommand) rebuild(ctx context.Context, streams process.Streams, s session) error {
	s.interrupted, s.unconfirmed, s.changes = "The live generation is unchanged. Run the command again to resume", seeWhichIsLive, true
	var done rebuildResult
	var before, after []status.Generation
	started := time.Now()
	err := s.run(ctx, func(config rebuild.Config) (err error) {
		if before, err = status.Generations(ctx, config.Database, schema.Definition()); err != nil {
			return err
		}
		if done.Result, err = rebuild.Run(ctx, config, c.Keep); err != nil {
			return err
		}
		done.Seconds = time.Since(started).Seconds()
		after, err = status.Generations(ctx, config.Database, schema.Definition())
		return err
	})
	if err != nil && done.Generation != 0 {
		if errors.Is(err, errInterrupted) {
			err = errInterrupted // without the note that the live generation is unchanged
		}
		last := strings.Join(append([]string{"The next rebuild drops them"}, withoutNoticesLines(done.WithoutNotices)...), "\n")
		return fmt.Errorf("generation %d is live, but older ones were not dropped: %w\n%s", done.Generation, err, last)
	}
	if err != nil {
		return err
	}
	done.MessagesPerSecond, done.correction = float64(done.Messages)/done.Seconds, c.correctionFlags
	done.Comparison = withoutNulls(done.Comparison)
	done.compareGenerations(before, after)
	return c.print(streams.Out, done, done.write)
}

// compareGenerations finds the parts of the new generation and the generations that the run dropped.
func (r *rebuildResult) compareGenerations(before, after []status.Generation) {
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

func (r rebuildResult) write(w io.Writer) error {
	if err := writeComparison(w, r.Comparison, rebuildWords()); err != nil {
		return err
	}
	var lines []string
	if unchanged(r.Comparison) {
		lines = append(lines, fmt.Sprintf("No rows changed: %d rows compared.", r.Comparison.Rows))
	}
	if r.Resumed {
		lines = append(lines, fmt.Sprintf("Resumed an unfinished rebuild: %d of %d parts were done.", r.PartsResumed, r.Parts))
	}
	lines = append(lines, r.line())
	lines = append(lines, r.correction.changedCallLines("", r.Comparison)...)
	if r.Distrusted > 0 {
		lines = append(lines, fmt.Sprintf("The clock of the stream was ahead: up to %d messages count as stored earlier now. "+
			"No watermark is later than the beginning of this rebuild.", r.Distrusted))
	}
	if r.NewHistory {
		lines = append(lines, "It was built from another stream than the one before, so every row has a new updatedAt: "+
			"clients that walk by updatedAt read all rows once more.")
	}
	if r.PreviousKept {
		lines = append(lines, fmt.Sprintf("Generation %d is kept for 'callboard rollback'.", r.Replaced))
	}
	return writeLines(w, slices.Concat(lines, droppedLines(r.Dropped), withoutNoticesLines(r.WithoutNotices))...)
}

func (r rebuildResult) line() string {
	duration := fmt.Sprintf("%.1fs (fold %.1fs, index %.1fs, follow %.1fs, compare %.1fs)", r.Seconds, r.Fold, r.Index, r.Follow, r.Compare)
	line := fmt.Sprintf("Generation %d is live after %s", r.Generation, duration)
	if r.Messages > 0 {
		line = fmt.Sprintf("Generation %d is live: %d messages, %d rows in %s, %.0f messages/s", r.Generation, r.Messages, r.Rows, duration, r.MessagesPerSecond)
	}
	if r.Followed > 0 {
		line += fmt.Sprintf("; %d messages followed", r.Followed)
	}
	if r.SnapshotPauses > 1 {
		return line + fmt.Sprintf("; writes paused %d times for snapshots, for %s at most, and for %s to switch.", r.SnapshotPauses, milliseconds(r.SnapshotPause), milliseconds(r.WritePause))
	}
	return line + fmt.Sprintf("; writes paused for %s (snapshot) and %s (switch).", milliseconds(r.SnapshotPause), milliseconds(r.WritePause))
}

func droppedLines(ids []int64) []string {
	switch len(ids) {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("Dropped generation %d.", ids[0])}
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = strconv.FormatInt(id, 10)
	}
	last := len(names) - 1
	return []string{"Dropped generations " + strings.Join(names[:last], ", ") + " and " + names[last] + "."}
}

// withoutNoticesLines say how many messages webhooks do not announce.
func withoutNoticesLines(messages int64) []string {
	if messages == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Messages that only this generation has applied: %d. No webhook announces them; receivers find their changes in report windows.", messages)}
}

func milliseconds(s rebuild.Seconds) string { return fmt.Sprintf("%.0f ms", float64(s)*1000) }
