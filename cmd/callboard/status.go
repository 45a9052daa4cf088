package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/process"
	"callboard/cmd/progress"
	"callboard/cmd/setting"
	"callboard/cmd/status"
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
	return withStream(c.NATS, func(js jetstream.JetStream) error {
		return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
			read := func() (status.Report, error) { return status.Read(ctx, js, pool, c.Stream.Name.Get()) }
			if c.Watch {
				return c.watch(ctx, streams.Out, read)
			}
			report, err := read()
			if err != nil {
				return err
			}
			return c.show(streams.Out, report)
		})
	})
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

func (c *statusCommand) show(w io.Writer, r status.Report) error {
	return c.print(w, r, func(w io.Writer) error { return writeStatus(w, r) })
}

func writeStatus(w io.Writer, r status.Report) error {
	rows := [][]string{{"PARTITION", "HEAD", "POSITION", "LAG", "SECONDS", "WATERMARK", "OWNER"}}
	for _, p := range r.Partitions {
		rows = append(rows, []string{
			strconv.Itoa(p.Partition), strconv.FormatUint(p.Head, 10), strconv.FormatUint(p.Position, 10),
			strconv.FormatUint(p.LagEvents, 10), strconv.FormatFloat(p.LagSeconds, 'f', 1, 64), watermark(p.Watermark), owner(p),
		})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	generation := "none"
	if r.Generation != nil {
		generation = strconv.FormatInt(*r.Generation, 10)
	}
	line := fmt.Sprintf("stream %s: %d events, %d not applied; dead letters: %d; generation: %s",
		r.Stream, r.Messages, r.Lag(), r.DeadLetters, generation)
	if r.Rate != nil {
		line += fmt.Sprintf("; %.0f events/s", *r.Rate)
	}
	_, err := fmt.Fprintln(w, line)
	return err
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
	if p.Fault != "" {
		text += " " + p.Fault
	}
	return text
}
