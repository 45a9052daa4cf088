package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/cmd/backup"
	"callboard/cmd/progress"
	"callboard/internal/run"
	"callboard/internal/run/setting"
	"callboard/readapi/access"
	"callboard/schema/dump"
)

type backupCommand struct {
	output
	Dir      string `arg:"" type:"path" help:"The folder of all backups. The backup becomes a folder in it, named after the time."`
	Keep     int    `type:"count" min:"0" placeholder:"N" example:"7" help:"Remove the oldest backups in the folder, so that N stay. Default: keep all."`
	KeysOnly bool   `help:"Write only the list of keys, to keys.json in the folder: 'restore --keys' needs a recent one. Run it every minute."`
	Audit    bool   `default:"true" negatable:"" help:"Include the audit: the stored entries and the stream of entries."`
	projectionServers
}

// Run writes a backup.
func (c *backupCommand) Run(ctx context.Context, streams run.Streams) error {
	if c.KeysOnly {
		return c.writeKeys(ctx, streams.Out)
	}
	var written backup.Written
	err := withBothServers(ctx, c.NATS, c.Postgres, streams.Err, func(js jetstream.JetStream, conn *pgx.Conn, display *progress.Display) error {
		var err error
		written, err = backup.Write(ctx, backup.Config{
			Dir: c.Dir, Audit: c.Audit, Keep: c.Keep, Release: run.ReadBuild().Version, Stream: c.Stream.Name,
			Database: conn, NATS: js, Progress: display,
		})
		return err
	})
	if err != nil {
		return err
	}
	return c.print(streams.Out, written, backupLines(written)...)
}

// writtenKeys is the JSON of a list of keys.
type writtenKeys struct {
	Path string `json:"path"`
	Keys int    `json:"keys"`
}

func (c *backupCommand) writeKeys(ctx context.Context, out io.Writer) error {
	var written writtenKeys
	err := withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		keys, err := keyRegistry(pool).List(ctx)
		if err != nil {
			return err
		}
		list, err := json.Marshal(append([]access.Record{}, keys...)) // no null in JSON
		if err != nil {
			return err
		}
		written.Keys = len(keys)
		written.Path, err = backup.WriteKeys(c.Dir, list)
		return err
	})
	if err != nil {
		return err
	}
	return c.print(out, written, fmt.Sprintf("%s: %d keys.", written.Path, written.Keys))
}

func backupLines(b backup.Written) []string {
	lines := []string{
		fmt.Sprintf("Backup %s: %d bytes.", b.Path, b.Bytes()),
		fmt.Sprintf("Keys: %d, audit entries: %d, dead letters: %d, at %s.",
			b.Rows("access.key"), b.Rows(dump.AuditTable), b.Rows("control.dead_letter"), instant(b.Created)),
	}
	for _, s := range b.Streams {
		lines = append(lines, fmt.Sprintf("Stream %s: %d messages up to %d.", s.Name, s.Messages, s.Last))
	}
	for _, name := range b.Removed {
		lines = append(lines, "Removed the older backup "+name+".")
	}
	return append(lines, "The backup contains no secrets. Keep the peppers, the cursor key and the webhook key elsewhere: no API key works without its pepper.")
}

// withBothServers does work on JetStream and on a connection to the database, and shows its progress on errs.
func withBothServers(
	ctx context.Context, nats setting.NATS, postgres setting.Postgres, errs io.Writer,
	work func(jetstream.JetStream, *pgx.Conn, *progress.Display) error,
) error {
	return withServers(ctx, nats, postgres, func(js jetstream.JetStream, pool *pgxpool.Pool) error {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		display := progress.New(errs)
		defer display.Close()
		return work(js, conn.Conn(), display)
	})
}
