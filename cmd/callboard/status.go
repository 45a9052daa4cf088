package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
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
		if nats, err := connection.NewNATS(connection.NATSConfig{NATS: c.NATS, Name: "callboard"}); err != nil {
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

		// A program that runs the command must notice that the report is incomplete.
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
	// How far the partitions are behind is not known where the stream was not read.
	columns := []string{"partition", "position", "messages", "read", "watermark", "owner", "node", "stopReason"}
	if r.StreamProblem == "" {
		columns = slices.Insert(columns, 1, "head", "lagEvents", "lagSeconds")
	}
	lines := append(list(r.Partitions, "No partitions.", columns...), "")

	if r.MessageCounts != nil {
		total := status.Total(r.MessageCounts)
		total.Entity = "total"
		counts := append(slices.Clone(r.MessageCounts), total)
		lines = append(lines, list(counts, "", "entity", "read", "applied", "stale", "conflicting", "ignored", "dead")...)
		lines = append(lines, "")
	}
	lines = append(lines, list(r.Generations, "No generations.", "id", "state", "startedAt", "switchedAt", "current")...)

	// The most frequent reasons of open dead letters.
	for _, reason := range r.DeadLetterReasons {
		lines = append(lines, fmt.Sprintf("dead letters: %d × %s", reason.Count, printable(reason.Reason)))
	}
	lines = append(lines, "", serverLine(r.Server), summaryLine(r))
	return append(lines, problemLines(r)...)
}

// serverLine is about the PostgreSQL server.
func serverLine(s status.Server) string {
	standbys := "none: after a failover, keys that were revoked in its last moments work for some seconds"
	if s.SynchronousStandbyNames != "" {
		standbys = printable(s.SynchronousStandbyNames)
	}
	return fmt.Sprintf("PostgreSQL: timeline %s; synchronous standbys: %s", numberOr(s.Timeline, "unknown"), standbys)
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
