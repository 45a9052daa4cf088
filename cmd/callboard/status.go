package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/process"
	"callboard/cmd/progress"
	"callboard/cmd/setting"
	"callboard/projector/status"
	"callboard/schema"
)

type statusCommand struct {
	output
	Watch    bool             `help:"Show it again and again, with the rate."`
	NATS     setting.NATS     `embed:""`
	Stream   setting.Stream   `embed:""`
	Postgres setting.Postgres `embed:""`
}

const watchInterval = 2 * time.Second

// Run shows the status, once or until ctx ends.
func (c *statusCommand) Run(ctx context.Context, streams process.Streams) error {
	return interrupted(ctx, withStream(c.NATS, func(js jetstream.JetStream) error {
		return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
			source := status.Source{JetStream: js, Stream: c.Stream.Name.Get(), Pool: pool, Definition: schema.Definition()}
			read := func() (status.Report, error) { return source.Read(ctx) }
			if c.Watch {
				return c.watch(ctx, streams.Out, read)
			}
			report, err := read()
			if err != nil {
				return err
			}
			return c.show(streams.Out, report)
		})
	}))
}

func (c *statusCommand) watch(ctx context.Context, w io.Writer, read func() (status.Report, error)) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	var before *status.Report
	for {
		report, err := read()
		if ctx.Err() != nil {
			return nil // asked to stop, perhaps in the middle of a reading
		}
		if err != nil {
			return err
		}
		if before != nil {
			report.Rate = rate(*before, report)
			report.ETASeconds = eta(report)
		}
		before = &report
		if progress.IsTerminal(w) && !c.JSON {
			fmt.Fprint(w, "\x1b[H\x1b[2J") // home, clear
		}
		if err := c.show(w, report); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// rate is how many events a second went into the tables between two reports.
func rate(before, after status.Report) *float64 {
	seconds := after.Time.Sub(before.Time).Seconds()
	if seconds <= 0 {
		return nil
	}
	applied := float64(after.Messages) - float64(after.Lag()) - (float64(before.Messages) - float64(before.Lag()))
	perSecond := applied / seconds
	return &perSecond
}

// eta is how many seconds it takes to apply what waits now.
func eta(r status.Report) *float64 {
	if r.Rate == nil || *r.Rate <= 0 || r.Lag() == 0 {
		return nil
	}
	seconds := float64(r.Lag()) / *r.Rate
	return &seconds
}

func (c *statusCommand) show(w io.Writer, r status.Report) error {
	return c.print(w, r, func(w io.Writer) error { return writeStatus(w, r) })
}

// writeStatus ends with what somebody should look at.
func writeStatus(w io.Writer, r status.Report) error {
	if err := table(w, partitionRows(r)); err != nil {
		return err
	}
	if r.MessageCounts != nil {
		fmt.Fprintln(w)
		if err := table(w, coverageRows(r)); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	for _, line := range slices.Concat(generationLines(r), reasonLines(r), []string{totals(r)}, problemLines(r)) {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func partitionRows(r status.Report) [][]string {
	rows := [][]string{{"PARTITION", "HEAD", "POSITION", "LAG", "SECONDS", "MESSAGES", "READ", "WATERMARK", "OWNER"}}
	for _, p := range r.Partitions {
		rows = append(rows, []string{
			strconv.Itoa(p.Partition), strconv.FormatUint(p.Head, 10), strconv.FormatUint(p.Position, 10),
			known(p, strconv.FormatUint(p.LagEvents, 10)), known(p, strconv.FormatFloat(p.LagSeconds, 'f', 1, 64)),
			numberOr(p.Messages, "-"), numberOr(p.Read, "-"), watermark(p.Watermark), owner(p),
		})
	}
	return rows
}

// known is a lag of a partition, which nobody knows where position and stream don't belong together.
func known(p status.Partition, lag string) string {
	if p.StopReason != "" {
		return "?"
	}
	return lag
}

func coverageRows(r status.Report) [][]string {
	rows := [][]string{{"ENTITY", "READ", "APPLIED", "STALE", "IGNORED", "DEAD"}}
	total := status.Total(r.MessageCounts)
	total.Entity = "total"
	for _, line := range append(slices.Clone(r.MessageCounts), total) {
		row := []string{printable(string(line.Entity))}
		for _, n := range []int64{line.Read, line.Applied, line.Stale, line.Ignored, line.Dead} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		rows = append(rows, row)
	}
	return rows
}

func generationLines(r status.Report) []string {
	var lines []string
	for _, g := range r.Generations {
		line := fmt.Sprintf("generation %d: %s", g.ID, g.State)
		switch g.State {
		case status.Building:
			line += fmt.Sprintf(" since %s, %d of %d parts done", instant(g.StartedAt), g.PartsDone, g.Parts)
		case status.Live:
			line += " since " + instantOr(g.SwitchedAt, "-")
		default:
			line += ", live last from " + instantOr(g.SwitchedAt, "-")
		}
		if !g.Current {
			line += ", of another release"
			if g.State == status.Live {
				line += ": run 'callboard rebuild'"
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// reasonLines are the most frequent reasons of open dead letters.
func reasonLines(r status.Report) []string {
	var lines []string
	for _, why := range r.DeadLetterReasons {
		times := "times"
		if why.Count == 1 {
			times = "time"
		}
		lines = append(lines, fmt.Sprintf("dead letters, %d %s: %s", why.Count, times, printable(why.Reason)))
	}
	return lines
}

func totals(r status.Report) string {
	least := ""
	if slices.ContainsFunc(r.Partitions, func(p status.Partition) bool { return p.StopReason != "" }) {
		least = "at least "
	}
	line := fmt.Sprintf("stream %s: %d events, %s%d not applied; dead letters: %d", r.Stream, r.Messages, least, r.Lag(), r.DeadLetters)
	if r.DeadLettersRetrying > 0 {
		line += fmt.Sprintf(", %d of them to be retried", r.DeadLettersRetrying)
	}
	line += "; generation: " + numberOr(r.Generation, "none")
	if r.Rate != nil {
		line += fmt.Sprintf("; %.0f events/s", *r.Rate)
	}
	if r.ETASeconds != nil {
		line += "; what waits takes " + (time.Duration(math.Ceil(*r.ETASeconds)) * time.Second).String()
	}
	return line
}

func problemLines(r status.Report) []string {
	var lines []string
	for _, problem := range r.Problems() {
		lines = append(lines, "PROBLEM: "+printable(problem))
	}
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}

func numberOr(n *int64, none string) string {
	if n == nil {
		return none
	}
	return strconv.FormatInt(*n, 10)
}

func watermark(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// owner is the projector that has the partition, and why it can't go on.
func owner(p status.Partition) string {
	text := "-"
	if p.Owner != nil {
		text = *p.Owner
	}
	if p.StopReason != "" {
		text += " " + p.StopReason
	}
	return text
}
