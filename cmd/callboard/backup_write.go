package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/internal/run"
	"callboard/schema"
)

// backup is a backup in progress.
type backup struct {
	*backupCommand
	backupServers
}

// writtenBackup is a new backup.
type writtenBackup struct {
	Path string `json:"path"`
	backupManifest
	Removed []string `json:"removed"` // names of older backups, the oldest first
}

const (
	nameLayout    = "20060102T150405.000Z"
	partialSuffix = ".partial"
)

// write writes a backup. The tables are copied before the streams, so the stream has every event that a row is
// about. Until it is complete the folder's name ends in .partial.
func (c backup) write(ctx context.Context) (writtenBackup, error) {
	m := backupManifest{
		Format: backupFormat, Release: run.ReadBuild().Version, Created: time.Now().UTC(), Schema: schema.Version(),
	}
	name := m.Created.Format(nameLayout)
	path := filepath.Join(c.Dir, name)
	partial := path + partialSuffix

	if err := errors.Join(os.MkdirAll(c.Dir, 0o700), os.Mkdir(partial, 0o700)); err != nil {
		return writtenBackup{}, err
	}

	// A backup that fails leaves no folder.
	if err := c.fill(ctx, partial, &m); err != nil {
		return writtenBackup{}, errors.Join(err, os.RemoveAll(partial))
	}

	// The rename makes the backup complete. Older backups are removed only now.
	if err := errors.Join(os.Rename(partial, path), syncDir(c.Dir)); err != nil {
		return writtenBackup{}, err
	}

	removed, err := c.removeOlder(name)
	return writtenBackup{Path: path, backupManifest: m, Removed: removed}, err
}

func (c backup) fill(ctx context.Context, dir string, m *backupManifest) error {
	if err := c.copyTables(ctx, dir, m); err != nil {
		return err
	}
	if err := c.copyStreams(ctx, dir, m); err != nil {
		return err
	}
	if err := m.write(dir, c.display); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	folder, err := os.Open(dir) //nolint:gosec // the operator names it
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func (c backup) copyTables(ctx context.Context, dir string, m *backupManifest) error {
	tables, err := schema.NewSnapshot(ctx, c.conn)
	if err != nil {
		return err
	}
	defer tables.Close(context.WithoutCancel(ctx))

	for _, name := range schema.DumpTables() {
		if name == schema.AuditTable && !c.Audit {
			continue
		}
		t := backupTable{Name: name}
		if t.Columns, err = tables.Columns(ctx, name); err != nil {
			return err
		}

		// Its rows go from COPY to the file.
		t.backupFile, err = writeBackupFile(dir, name+".copy", c.display, func(w io.Writer) (err error) {
			t.Rows, err = tables.CopyTo(ctx, name, t.Columns, w)
			return err
		})
		if err != nil {
			return err
		}
		m.Tables = append(m.Tables, t)
	}

	if m.Days = []time.Time{}; c.Audit {
		m.Days, err = tables.AuditDays(ctx)
	}
	return err
}

// copyStreams copies the stream of events, and the other streams that exist. The stream of audit entries has
// entries that are not stored yet.
func (c backup) copyStreams(ctx context.Context, dir string, m *backupManifest) error {
	names := []string{c.Stream.Name, bucketStream}
	if c.Audit {
		names = append(names, events.AuditStream)
	}

	// Only the stream of events has to exist.
	for _, name := range names {
		running, err := c.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) && name != c.Stream.Name {
			continue
		}
		if err != nil {
			return fmt.Errorf("stream %s: %w", name, err)
		}

		s, err := c.copyStream(ctx, dir, running.CachedInfo())
		if err != nil {
			return err
		}
		m.Streams = append(m.Streams, s)
	}

	return nil
}

func (c backup) copyStream(ctx context.Context, dir string, info *jetstream.StreamInfo) (s backupStream, err error) {
	s = backupStream{Name: info.Config.Name, Created: info.Created}

	s.backupFile, err = writeBackupFile(dir, s.Name+".snapshot", c.display, func(w io.Writer) (err error) {
		s.Snapshot, err = events.SaveSnapshot(ctx, c.js.Conn(), s.Name, w)
		return err
	})
	if err != nil {
		return s, err
	}

	// The snapshot itself says which messages it has.
	messages, err := s.Range()
	if err != nil {
		return s, fmt.Errorf("state of stream %s: %w", s.Name, err)
	}
	s.Messages, s.First, s.Last, s.LastAt = messages.Messages, messages.First, messages.Last, messages.LastAt

	return s, nil
}

// backupName matches the names of backups.
var backupName = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}\.[0-9]{3}Z(\.partial)?$`)

// removeOlder removes the oldest backups, and incomplete ones that are older than this one.
func (c backup) removeOlder(name string) (removed []string, err error) {
	removed = []string{}
	if c.Keep == 0 {
		return removed, nil
	}

	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return removed, err
	}

	// Names tell which backups are complete, and their order: the newest are kept.
	var old []string
	complete := 0
	for _, e := range slices.Backward(entries) {
		n := e.Name()
		if !e.IsDir() || !backupName.MatchString(n) || n > name {
			continue
		}

		// The newest complete backups stay. An incomplete backup of an earlier run is of no use.
		if filepath.Ext(n) != partialSuffix {
			complete++
		}
		if filepath.Ext(n) == partialSuffix || complete > c.Keep {
			old = append(old, n)
		}
	}

	// The oldest first, so that an interruption leaves the newest.
	for _, n := range slices.Backward(old) {
		if err := os.RemoveAll(filepath.Join(c.Dir, n)); err != nil {
			return removed, fmt.Errorf("remove an old backup: %w", err)
		}
		removed = append(removed, n)
	}

	return removed, nil
}
