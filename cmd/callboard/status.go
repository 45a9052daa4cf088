package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/projector/status"
	"callboard/schema"
)

type statusCommand struct {
	output
	Watch bool `help:"Repeat until interrupted, and show the rate."`
	projectionServers
}

const watchInterval = 2 * time.Second

// Run prints the status, once or until ctx ends. Without NATS, it prints what PostgreSQL knows; once, it returns an
// error then.
func (c *statusCommand) Run(ctx context.Context, streams run.Streams) error {
	return interrupted(ctx, withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		source := status.Source{Stream: c.Stream.Name, Pool: pool, Definition: schema.Definition()}
		if nats, err := connection.NewNATS(connection.ConfigureNATS(c.NATS, "callboard")); err != nil {
			source.NATSError = err
		} else {
			defer nats.Close()
			source.JetStream = nats.JetStream
		}

		if c.Watch {
			return c.watch(ctx, streams.Out, source)
		}
		report, err := source.Read(ctx)
		if err != nil {
			return err
		}
		if err := c.write(streams.Out, report); err != nil {
			return err
		}
		if report.StreamProblem != "" {
			return errors.New("the report lacks what the stream knows: see its problem")
		}
		return nil
	}))
}

func (c *statusCommand) watch(ctx context.Context, w io.Writer, source status.Source) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	var before *status.Report
	for {
		report, err := source.Read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}

		// The rate is that since the last report.
		if before != nil {
			report.SetRate(*before)
		}
		before = &report
		if run.IsTerminal(w) && !c.JSON {
			fmt.Fprint(w, "\x1b[H\x1b[2J") // home, clear
		}
		if err := c.write(w, report); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (c *statusCommand) write(w io.Writer, r status.Report) error {
	return c.print(w, r, statusLines(r)...)
}

func statusLines(r status.Report) []string {
	lines := append(table(partitionRows(r)), "")
	if r.MessageCounts != nil {
		lines = append(append(lines, table(messageCountRows(r))...), "")
	}
	return slices.Concat(lines, generationLines(r), reasonLines(r), serverLines(r.Server), []string{summaryLine(r)}, problemLines(r))
}

func partitionRows(r status.Report) [][]string {
	rows := [][]string{{"PARTITION", "HEAD", "POSITION", "LAG", "SECONDS", "MESSAGES", "READ", "WATERMARK", "OWNER"}}
	for _, p := range r.Partitions {
		lag, seconds := strconv.FormatUint(p.LagEvents, 10), strconv.FormatFloat(p.LagSeconds, 'f', 1, 64)
		watermark, owner := "-", "-"
		if p.StopReason != "" || r.StreamProblem != "" {
			lag, seconds = "?", "?" // position and stream do not belong together, or the stream was not read
		}
		if p.Watermark != nil {
			watermark = milliInstant(*p.Watermark)
		}
		if p.Owner != nil {
			owner = *p.Owner
		}
		if p.StopReason != "" {
			owner += " " + p.StopReason
		}

		row := []string{
			strconv.Itoa(p.Partition), strconv.FormatUint(p.Head, 10), strconv.FormatUint(p.Position, 10), lag, seconds,
			numberOr(p.Messages, "-"), numberOr(p.Read, "-"), watermark, owner,
		}
		if p.Node != "" {
			row = append(row, p.Node)
		}
		rows = append(rows, row)
	}

	// Where the projection is distributed, a column names the node.
	if slices.ContainsFunc(r.Partitions, func(p status.Partition) bool { return p.Node != "" }) {
		rows[0] = append(rows[0], "NODE")
	}
	return rows
}

func messageCountRows(r status.Report) [][]string {
	rows := [][]string{{"ENTITY", "READ", "APPLIED", "STALE", "CONFLICTING", "IGNORED", "DEAD"}}
	total := status.Total(r.MessageCounts)
	total.Entity = "total"
	for _, c := range append(slices.Clone(r.MessageCounts), total) {
		row := []string{printable(string(c.Entity))}
		for _, n := range []int64{c.Read, c.Applied, c.Stale, c.Conflicting, c.Ignored, c.Dead} {
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
			line += " since " + instant(g.StartedAt)
		case status.Live:
			line += " since " + instantOr(g.SwitchedAt, "-")
		default:
			line += ", last live from " + instantOr(g.SwitchedAt, "-")
		}
		if !g.Current {
			line += ", built by another release"
		}
		lines = append(lines, line)
	}
	return lines
}

// reasonLines are the most frequent reasons of open dead letters.
func reasonLines(r status.Report) []string {
	var lines []string
	for _, reason := range r.DeadLetterReasons {
		lines = append(lines, fmt.Sprintf("dead letters: %d × %s", reason.Count, printable(reason.Reason)))
	}
	return lines
}

// serverLines are about the PostgreSQL server.
func serverLines(s status.Server) []string {
	standbys := "none: after a failover, keys that were revoked in its last moments work for some seconds"
	if s.SynchronousStandbyNames != "" {
		standbys = printable(s.SynchronousStandbyNames)
	}
	return []string{fmt.Sprintf("PostgreSQL: timeline %s; synchronous standbys: %s", numberOr(s.Timeline, "unknown"), standbys)}
}

func summaryLine(r status.Report) string {
	atLeast := ""
	if slices.ContainsFunc(r.Partitions, func(p status.Partition) bool { return p.StopReason != "" }) {
		atLeast = "at least "
	}
	line := fmt.Sprintf("stream %s: %d events, %s%d not applied", r.Stream, r.Messages, atLeast, r.Lag())
	if r.StreamProblem != "" {
		line = fmt.Sprintf("stream %s: not read", r.Stream)
	}

	line += fmt.Sprintf("; open dead letters: %d", r.DeadLetters)
	if r.DeadLettersRetrying > 0 {
		line += fmt.Sprintf(" (%d waiting for a retry)", r.DeadLettersRetrying)
	}
	line += "; live generation: " + numberOr(r.Generation, "none")
	if r.Rate != nil {
		line += fmt.Sprintf("; %.0f events/s", *r.Rate)
	}
	if r.ETASeconds != nil {
		line += "; caught up in " + (time.Duration(math.Ceil(*r.ETASeconds)) * time.Second).String()
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
