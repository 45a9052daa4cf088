package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/schema"
)

// restoreConfig configures a restore.
type restoreConfig struct {
	Path string // the folder of the backup

	// Keys is a newer list of all keys. Restore ends the keys again that the list shows as revoked, or as ended
	// earlier. Nil: it ends none.
	Keys []schema.KeyState

	Replicas    int  // of restored streams; 0: as in the backup
	StreamsOnly bool // the database is left as it is
	Database    *pgx.Conn
	NATS        jetstream.JetStream
	Progress    *progressDisplay
}

// restoredBackup is what a restore did.
type restoredBackup struct {
	Manifest backupManifest   `json:"-"`
	Streams  []restoredStream `json:"streams"`
	Tables   []restoredTable  `json:"tables"`

	KeysEnded   []schema.KeyState `json:"keysEnded"`   // again, by the list or by the stream KEYS
	KeysMissing []schema.KeyState `json:"keysMissing"` // issued after the backup: they do not work
}

// restoredStream is a stream of the backup.
type restoredStream struct {
	Name     string `json:"name"`
	Restored bool   `json:"restored"` // false: it exists and was left as it is
	Last     uint64 `json:"lastSequence"`
}

// restoredTable is a table of the backup.
type restoredTable struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// restoreBackup restores a backup into a migrated, empty database, and the streams that do not exist or have never had
// a message. It changes nothing before it has checked everything. The tables are filled in one transaction after the
// streams: after an interruption the same restore can run again.
func restoreBackup(ctx context.Context, c restoreConfig) (restoredBackup, error) {
	done := restoredBackup{Streams: []restoredStream{}, Tables: []restoredTable{}, KeysEnded: []schema.KeyState{}, KeysMissing: []schema.KeyState{}}
	var err error
	if done.Manifest, err = readManifest(c.Path); err != nil {
		return done, err
	}
	targets, err := c.check(ctx, done.Manifest)
	if err != nil {
		return done, err
	}

	// The streams first: until the database is filled, the same restore can run again.
	for i := range targets {
		if err := c.restoreStream(ctx, &targets[i]); err != nil {
			return done, err
		}
		done.Streams = append(done.Streams, restoredStream{targets[i].Name, !targets[i].exists, targets[i].last})
	}
	if c.StreamsOnly {
		return done, nil
	}
	return done, c.load(ctx, &done)
}

// check checks the files, the database and the streams.
func (c restoreConfig) check(ctx context.Context, m backupManifest) ([]restoreTarget, error) {
	if !c.StreamsOnly {
		if m.Schema != schema.Version() {
			return nil, fmt.Errorf("the backup has schema version %d, this release has %d\n"+
				"Restore it with callboard %s and a database that this release has migrated. Then upgrade", m.Schema, schema.Version(), m.Release)
		}
		load, err := schema.NewLoad(ctx, c.Database)
		if err != nil {
			return nil, err
		}
		load.Close(ctx)
	}

	// The files, and the streams that exist.
	if err := m.check(ctx, c.Path, c.Progress); err != nil {
		return nil, err
	}
	targets := make([]restoreTarget, len(m.Streams))
	for i, s := range m.Streams {
		var err error
		if targets[i], err = c.findTarget(ctx, s); err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// restoreTarget is a stream of the backup, and what the server has in its place.
type restoreTarget struct {
	backupStream
	running *jetstream.StreamInfo // nil: none
	exists  bool                  // with the backup's messages, or with audit entries
	last    uint64
}

// errOtherStream is a stream that does not have the backup's messages.
var errOtherStream = errors.New("the stream exists without the backup's messages")

func (c restoreConfig) findTarget(ctx context.Context, s backupStream) (restoreTarget, error) {
	t := restoreTarget{backupStream: s}
	running, err := c.NATS.Stream(ctx, s.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("stream %s: %w", s.Name, err)
	}
	t.running = running.CachedInfo()
	t.last = t.running.State.LastSeq
	if t.last == 0 || events.UnfinishedRestore(t.running.Config) {
		return t, nil // it is replaced
	}

	// The stream has messages: they must be the backup's messages, as the last one shows.
	t.exists = true
	if s.Name == events.AuditStream {
		return t, nil // its messages come and go
	}
	if t.running.Created.Equal(s.Created) && t.last >= s.Last {
		return t, nil
	}
	m, err := running.GetMsg(ctx, s.Last)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && !m.Time.Equal(s.LastAt):
		return t, fmt.Errorf("%w: %s ends at %d and has another message %d, or none", errOtherStream, s.Name, t.last, s.Last)
	case err != nil:
		return t, fmt.Errorf("stream %s: message %d: %w", s.Name, s.Last, err)
	}
	return t, nil
}

// restoreStream restores a stream unless it exists. One that has never had a message, or a part of one, is replaced.
func (c restoreConfig) restoreStream(ctx context.Context, t *restoreTarget) error {
	if t.exists {
		return nil
	}
	if t.running != nil {
		if err := c.NATS.DeleteStream(ctx, t.Name); err != nil {
			return fmt.Errorf("delete the empty or unfinished stream %s: %w", t.Name, err)
		}
	}

	// The configuration is the backup's, perhaps with other replicas.
	stream := t.Snapshot
	if c.Replicas > 0 {
		var err error
		if stream, err = stream.WithReplicas(c.Replicas); err != nil {
			return fmt.Errorf("stream %s: %w", t.Name, err)
		}
	}
	err := readBackupFile(ctx, c.Path, t.backupFile, "restoring stream "+t.Name, c.Progress, func(r io.Reader) error {
		return events.RestoreSnapshot(ctx, c.NATS.Conn(), t.Name, stream, r)
	})
	if err != nil {
		return err
	}

	// What the server has now must be what the backup says.
	restored, err := c.NATS.Stream(ctx, t.Name)
	if err != nil {
		return fmt.Errorf("stream %s: %w", t.Name, err)
	}
	t.running = restored.CachedInfo()
	t.last = t.running.State.LastSeq
	if t.last != t.Last || t.running.State.Msgs != t.Messages && t.Name != events.AuditStream { // audit entries become too old
		return fmt.Errorf("stream %s: %d messages up to %d were restored, want %d up to %d", t.Name, t.running.State.Msgs, t.last, t.Messages, t.Last)
	}
	return nil
}

// load fills the database. Keys are ended in the same transaction: no reader ever sees them alive.
func (c restoreConfig) load(ctx context.Context, done *restoredBackup) error {
	load, err := schema.NewLoad(ctx, c.Database)
	if err != nil {
		return err
	}
	defer load.Close(ctx)
	if err := load.OpenAuditDays(ctx, done.Manifest.Days); err != nil {
		return err
	}
	for _, t := range done.Manifest.Tables {
		if err := c.copyTable(ctx, load, t); err != nil {
			return err
		}
		done.Tables = append(done.Tables, restoredTable{t.Name, t.Rows})
	}

	// Keys that ended later than the backup, by the list and by the stream of key ends.
	if c.Keys != nil {
		ended, missing, err := load.EndKeys(ctx, c.Keys)
		if err != nil {
			return err
		}
		done.KeysEnded, done.KeysMissing = append(done.KeysEnded, ended...), append(done.KeysMissing, missing...)
	}
	ended, err := c.endKeysOfJournal(ctx, load)
	if err != nil {
		return err
	}
	done.KeysEnded = append(done.KeysEnded, ended...)
	return load.Commit(ctx)
}

// endKeysOfJournal ends the keys that the stream of key revocations and expiries shows as ended. A stream that is
// missing shows none: the list is for that.
func (c restoreConfig) endKeysOfJournal(ctx context.Context, load *schema.Load) (ended []schema.KeyState, err error) {
	var reader events.KeyEndReader
	_, err = reader.Read(ctx, c.NATS, func(entries []events.KeyEnd) error {
		states := make([]schema.KeyState, len(entries))
		for i, e := range entries {
			states[i] = schema.KeyState{ID: e.ID, RevokedAt: e.RevokedAt, ExpiresAt: e.ExpiresAt}
		}
		part, err := load.EndKeysOf(ctx, states)
		ended = append(ended, part...)
		return err
	})
	if err != nil && !errors.Is(err, events.ErrNoKeyStream) {
		return nil, err
	}
	return ended, nil
}

func (c restoreConfig) copyTable(ctx context.Context, load *schema.Load, t backupTable) error {
	return readBackupFile(ctx, c.Path, t.backupFile, "loading "+t.Name, c.Progress, func(r io.Reader) error {
		rows, err := load.CopyFrom(ctx, t.Name, t.Columns, r)
		if err == nil && rows != t.Rows {
			err = fmt.Errorf("table %s: rows = %d, want the manifest's %d", t.Name, rows, t.Rows)
		}
		return err
	})
}
