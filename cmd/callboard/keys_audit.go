package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/readapi/access"
)

type keysAuditCommand struct {
	output
	ID       uuid.UUID        `arg:"" help:"The key's id, from 'keys list'."`
	Since    time.Duration    `default:"1h" help:"How far to look back: 90m, 24h, 720h."`
	Limit    int              `default:"1000" help:"How many requests to list, 10000 at most."`
	Postgres setting.Postgres `embed:""`
}

const maxAudit = 10_000

// Run lists what a key asked for. That there is more than was listed is said beside the list, which may be going into a program.
func (c *keysAuditCommand) Run(ctx context.Context, streams process.Streams) error {
	if c.Since <= 0 {
		return &process.UsageError{Detail: "--since is how far to look back, such as 1h"}
	}
	if c.Limit < 1 || c.Limit > maxAudit {
		return &process.UsageError{Detail: fmt.Sprintf("--limit is a number from 1 to %d", maxAudit)}
	}
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		key, err := registry(pool).Show(ctx, c.ID)
		if err != nil {
			return unknown(err, c.ID)
		}
		entries, more, err := registry(pool).Audit(ctx, c.ID, time.Now().Add(-c.Since), c.Limit)
		if err != nil {
			return err
		}
		if more {
			fmt.Fprintf(streams.Err, "These are the newest %d; there are more. --limit lists more, --since fewer.\n", c.Limit)
		}
		return c.print(streams.Out, entries, func(w io.Writer) error { return c.write(w, key.Record, entries) })
	})
}

func (c *keysAuditCommand) write(w io.Writer, key access.Record, entries []access.AuditEntry) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintf(w, "No requests in the last %s. Last used: %s.\n", c.Since, lastUse(key))
		return err
	}
	rows := [][]string{{"TIME", "STATUS", "CODE", "OPERATION", "PHONE SYSTEM", "ADDRESS", "REQUEST ID"}}
	for _, e := range entries {
		rows = append(rows, auditRow(e))
	}
	return table(w, rows)
}

func auditRow(e access.AuditEntry) []string {
	code, system, address := "-", "-", "-"
	if e.Code != nil {
		code = printable(*e.Code)
	}
	if e.System.Valid {
		system = e.System.UUID.String()
	}
	if e.Address != nil {
		address = e.Address.String()
	}
	return []string{
		e.At.UTC().Format("2006-01-02T15:04:05.000Z"), strconv.Itoa(e.Status), code, printable(e.Operation), system, address, printable(e.RequestID),
	}
}
