package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/internal/run"
	"callboard/internal/run/setting"
	"callboard/readapi/access"
	"callboard/schema"
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
		return c.writeKeys(ctx, streams)
	}

	var written writtenBackup
	err := withBothServers(ctx, c.NATS, c.Postgres, streams.Err, func(s backupServers) (err error) {
		written, err = backup{c, s}.write(ctx)
		return err
	})
	if err != nil {
		return err
	}

	return c.print(streams.Out, written, backupLines(written)...)
}

// writeKeys replaces the list of keys in the folder of all backups. It is the old or the new one at every moment.
func (c *backupCommand) writeKeys(ctx context.Context, streams run.Streams) error {
	display := newProgress(streams.Err)
	defer display.Close()
	path, count := filepath.Join(c.Dir, "keys.json"), 0

	err := withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		keys, err := keyRegistry(pool).List(ctx)
		if err != nil {
			return err
		}

		count = len(keys)
		if err := os.MkdirAll(c.Dir, 0o700); err != nil {
			return err
		}

		// Each run has a partial file of its own: it may be started every minute.
		partial := fmt.Sprintf("keys.json.%d%s", os.Getpid(), partialSuffix)
		defer os.Remove(filepath.Join(c.Dir, partial)) // there is none after success
		_, err = writeBackupFile(c.Dir, partial, display, func(w io.Writer) error {
			return json.NewEncoder(w).Encode(append([]access.Record{}, keys...)) // no null in JSON
		})
		if err != nil {
			return err
		}

		// The rename replaces the old list in one step. The sync makes the new name durable.
		return errors.Join(os.Rename(filepath.Join(c.Dir, partial), path), syncDir(c.Dir))
	})
	if err != nil {
		return err
	}

	return c.print(streams.Out, map[string]any{"path": path, "keys": count}, fmt.Sprintf("%s: %d keys.", path, count))
}

func backupLines(b writtenBackup) []string {
	lines := append([]string{"Backup " + b.Path + ".", ""}, list(b.Tables, "No tables.", "name", "rows", "bytes")...)
	lines = append(append(lines, ""), list(b.Streams, "No streams.", "name", "messages", "lastSequence", "bytes")...)

	lines = append(lines, "")
	for _, name := range b.Removed {
		lines = append(lines, "Removed the older backup "+name+".")
	}
	return append(lines, "The backup contains no secrets. Keep the peppers, "+
		"the cursor key and the webhook key elsewhere: no API key works without its pepper.")
}

// backupServers are the servers of a backup or a restore, and where its progress is shown.
type backupServers struct {
	js      jetstream.JetStream
	conn    *pgx.Conn
	display *progress
}

// withBothServers does work on JetStream and on a connection to the database, and shows its progress on errs.
func withBothServers(
	ctx context.Context, nats setting.NATS, postgres setting.Postgres, errs io.Writer, work func(backupServers) error,
) error {
	return withServers(ctx, nats, postgres, func(js jetstream.JetStream, pool *pgxpool.Pool) error {
		// A backup's snapshot, like a restore's load, is one transaction on one connection.
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()

		display := newProgress(errs)
		defer display.Close()
		return work(backupServers{js, conn.Conn(), display})
	})
}

type restoreCommand struct {
	output
	Path          string           `arg:"" name:"dir" type:"path" help:"The folder of one backup."`
	Keys          string           `xor:"keys" type:"path" placeholder:"FILE" help:"The newest list of keys, from 'callboard backup DIR --keys-only' or 'callboard keys list --json'. Keys that it shows as revoked, or as ending earlier than in the backup, are ended again."`
	AcceptRevoked bool             `xor:"keys" help:"Restore the keys as they were: keys revoked after the backup work again, except for those that the stream KEYS has."`
	Replicas      int              `type:"count" min:"0" placeholder:"N" example:"3" help:"The number of servers that hold a copy of the restored streams. Default: as in the backup."`
	StreamsOnly   bool             `help:"Restore missing streams only, and leave the database as it is."`
	NATS          setting.NATS     `embed:""`
	Postgres      setting.Postgres `embed:""`
}

// Run restores a backup.
func (c *restoreCommand) Run(ctx context.Context, streams run.Streams) error {
	if c.Keys == "" && !c.AcceptRevoked && !c.StreamsOnly {
		return &run.UsageError{Detail: "--keys or --accept-revoked is missing: without a newer list of keys, " +
			"keys revoked after the backup work again"}
	}

	// The list of keys is read before anything is connected to.
	keys, err := c.readKeys()
	if err != nil {
		return err
	}

	var done restoredBackup
	err = withBothServers(ctx, c.NATS, c.Postgres, streams.Err, func(s backupServers) (err error) {
		done, err = restore{c, s, keys}.run(ctx)
		return withRestoreAdvice(err)
	})
	if err != nil {
		return err
	}

	return c.print(streams.Out, done, c.lines(done)...)
}

// readKeys reads the output of 'keys list --json'. Without a file the list is nil.
func (c *restoreCommand) readKeys() ([]schema.KeyState, error) {
	if c.Keys == "" {
		return nil, nil
	}

	text, err := os.ReadFile(c.Keys)
	if err != nil {
		return nil, err
	}

	// An empty list is not nil: nil stands for no list at all.
	var keys []schema.KeyState
	err = json.Unmarshal(text, &keys)
	if err == nil && keys == nil {
		err = errors.New("null is no list")
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a list of keys, as 'callboard backup DIR --keys-only' writes it: %w", c.Keys, err)
	}
	return keys, nil
}

// withRestoreAdvice adds what to do to an error.
func withRestoreAdvice(err error) error {
	switch {
	case schema.HasCode(err, pgerrcode.InsufficientPrivilege):
		return withOwnerAdvice(err)

	case errors.Is(err, schema.ErrNotEmpty):
		return fmt.Errorf("%w\nCreate a new database, run 'callboard migrate' on it, and restore into that one. "+
			"Nothing was changed", err)

	case errors.Is(err, schema.ErrOldKeys):
		return fmt.Errorf("%w\nUse a list that is newer than the backup, or --accept-revoked. "+
			"The database was not changed", err)

	case errors.Is(err, errOtherStream):
		return fmt.Errorf("%w\nStop the programs and publishers. If the stream's messages are not needed, "+
			"delete it with 'nats stream rm', and restore again. Nothing was changed", err)
	}

	return err
}

func (c *restoreCommand) lines(r restoredBackup) []string {
	lines := []string{"Backup of " + instant(r.Manifest.Created) + " by callboard " + r.Manifest.Release + ".", ""}
	lines = append(lines, list(r.Streams, "No streams.", "name", "restored", "lastSequence")...)
	if c.StreamsOnly {
		return append(lines, "", "The database was left as it is. Next: "+
			"run 'callboard rebuild' where 'callboard status' shows a stopped partition.")
	}
	lines = append(append(lines, ""), list(r.Tables, "No tables.", "name", "rows")...)

	// Keys that ended, or were issued, after the backup.
	lines = append(lines, "", "Keys that are ended again:")
	lines = append(lines, list(r.KeysEnded, "None.", "id", "name", "revokedAt", "expiresAt")...)

	lines = append(lines, "", "Keys that were issued after the backup. They do not work: issue others.")
	lines = append(lines, list(r.KeysMissing, "None.", "id", "name")...)

	if c.AcceptRevoked {
		lines = append(lines, fmt.Sprintf("Keys that were revoked after %s work again, except for those above: "+
			"revoke them before you start a reader.",
			instant(r.Manifest.Created)))
	}

	return append(lines, "", "The projection is empty. Next: run 'callboard rebuild', then start projectors and readers.")
}
