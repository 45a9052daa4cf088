package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/schema"
)

// restore is a restore in progress.
type restore struct {
	*restoreCommand
	backupServers

	// keys is a newer list of all keys. The keys are ended again that the list shows as revoked, or as ended earlier.
	// Nil: it ends none.
	keys []schema.KeyState
}

// restoredBackup is what a restore did.
type restoredBackup struct {
	Manifest backupManifest   `json:"-"`
	Streams  []restoredStream `json:"streams"`
	Tables   []backupTable    `json:"tables"` // empty: the database was left as it is

	KeysEnded   []schema.KeyState `json:"keysEnded"`   // again, by the list or by the stream KEYS
	KeysMissing []schema.KeyState `json:"keysMissing"` // issued after the backup: they do not work
}

// restoredStream is a stream of the backup.
type restoredStream struct {
	Name     string `json:"name"`
	Restored bool   `json:"restored"` // false: it exists and was left as it is
	Last     uint64 `json:"lastSequence"`
}

// run restores a backup into a migrated, empty database, and the streams that do not exist or have never had a
// message. It changes nothing before it has checked everything. The tables are filled in one transaction after the
// streams: after an interruption the same restore can run again.
func (c restore) run(ctx context.Context) (restoredBackup, error) {
	done := restoredBackup{Tables: []backupTable{}, KeysEnded: []schema.KeyState{}, KeysMissing: []schema.KeyState{}}
	var err error
	if done.Manifest, err = readManifest(c.Path); err != nil {
		return done, err
	}
	if done.Streams, err = c.check(ctx, done.Manifest); err != nil {
		return done, err
	}

	// A stream that has the backup's messages stays as it is.
	for i, s := range done.Manifest.Streams {
		if !done.Streams[i].Restored {
			continue
		}
		if done.Streams[i].Last, err = c.restoreStream(ctx, s); err != nil {
			return done, err
		}
	}

	if c.StreamsOnly {
		return done, nil
	}

	return done, c.load(ctx, &done)
}

// check checks the files, the database and the streams, and returns which streams are to be restored.
func (c restore) check(ctx context.Context, m backupManifest) ([]restoredStream, error) {
	if !c.StreamsOnly {
		if m.Schema != schema.Version() {
			return nil, fmt.Errorf("the backup has schema version %d, this release has %d\n"+
				"Restore it with callboard %s and a database that this release has migrated. Then upgrade",
				m.Schema, schema.Version(), m.Release)
		}

		// A load that is closed at once changes nothing. It checks that the database is migrated and empty.
		load, err := schema.NewLoad(ctx, c.conn)
		if err != nil {
			return nil, err
		}
		load.Close(ctx)
	}

	// A damaged file, or a stream with other messages, is an error before anything changes.
	if err := m.check(ctx, c.Path, c.display); err != nil {
		return nil, err
	}

	streams := make([]restoredStream, len(m.Streams))
	for i, s := range m.Streams {
		var err error
		if streams[i], err = c.checkStream(ctx, s); err != nil {
			return nil, err
		}
	}

	return streams, nil
}

// errOtherStream is a stream that does not have the backup's messages.
var errOtherStream = errors.New("the stream exists without the backup's messages")

// checkStream tells whether a stream is to be restored, or exists with the backup's messages. Any other stream is an
// error.
func (c restore) checkStream(ctx context.Context, s backupStream) (restoredStream, error) {
	missing := restoredStream{Name: s.Name, Restored: true}
	running, err := c.js.Stream(ctx, s.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return missing, nil
	}
	if err != nil {
		return missing, fmt.Errorf("stream %s: %w", s.Name, err)
	}

	// An empty stream, or a part that an interrupted restore has left, is replaced.
	info := running.CachedInfo()
	if info.State.LastSeq == 0 || events.UnfinishedRestore(info.Config) {
		return missing, nil // it is replaced
	}

	// Audit entries come and go, so any messages of their stream will do.
	found := restoredStream{Name: s.Name, Last: info.State.LastSeq}
	if s.Name == events.AuditStream || info.Created.Equal(s.Created) && found.Last >= s.Last {
		return found, nil
	}

	// The message at the backup's last sequence tells whether the stream has the same history.
	m, err := running.GetMsg(ctx, s.Last)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && !m.Time.Equal(s.LastAt):
		return found, fmt.Errorf("%w: %s ends at %d and has another message %d, or none",
			errOtherStream, s.Name, found.Last, s.Last)
	case err != nil:
		return found, fmt.Errorf("stream %s: message %d: %w", s.Name, s.Last, err)
	}

	return found, nil
}

// restoreStream restores a stream, and returns its last sequence. It replaces a stream that has never had a
// message, and a part of one.
func (c restore) restoreStream(ctx context.Context, s backupStream) (last uint64, err error) {
	if err := c.js.DeleteStream(ctx, s.Name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, fmt.Errorf("delete the empty or unfinished stream %s: %w", s.Name, err)
	}

	// The configuration is the backup's, perhaps with other replicas.
	stream := s.Snapshot
	if c.Replicas > 0 {
		if stream, err = stream.WithReplicas(c.Replicas); err != nil {
			return 0, fmt.Errorf("stream %s: %w", s.Name, err)
		}
	}

	err = readBackupFile(ctx, c.Path, s.backupFile, "restoring", c.display, func(r io.Reader) error {
		return events.RestoreSnapshot(ctx, c.js.Conn(), s.Name, stream, r)
	})
	if err != nil {
		return 0, err
	}

	// What the server has now must be what the backup says. Audit entries become too old.
	restored, err := c.js.Stream(ctx, s.Name)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", s.Name, err)
	}

	now := restored.CachedInfo().State
	if now.LastSeq != s.Last || now.Msgs != s.Messages && s.Name != events.AuditStream {
		return 0, fmt.Errorf("stream %s: %d messages up to %d were restored, want %d up to %d",
			s.Name, now.Msgs, now.LastSeq, s.Messages, s.Last)
	}

	return now.LastSeq, nil
}

// load fills the database. Keys are ended in the same transaction: no reader ever sees them alive.
func (c restore) load(ctx context.Context, done *restoredBackup) error {
	load, err := schema.NewLoad(ctx, c.conn)
	if err != nil {
		return err
	}
	defer load.Close(ctx)

	// The audit's table has a part for each day, which must exist before its rows.
	if err := load.OpenAuditDays(ctx, done.Manifest.Days); err != nil {
		return err
	}

	for _, t := range done.Manifest.Tables {
		if err := c.copyTable(ctx, load, t); err != nil {
			return err
		}
		done.Tables = append(done.Tables, t)
	}

	// The list names the keys that ended after the backup, and the keys that the backup does not have.
	if c.keys != nil {
		ended, missing, err := load.EndListedKeys(ctx, c.keys)
		if err != nil {
			return err
		}
		done.KeysEnded, done.KeysMissing = append(done.KeysEnded, ended...), append(done.KeysMissing, missing...)
	}

	// The stream of key ends can have newer entries than the list.
	ended, err := c.endKeysOfJournal(ctx, load)
	if err != nil {
		return err
	}
	done.KeysEnded = append(done.KeysEnded, ended...)

	return load.Commit(ctx)
}

// endKeysOfJournal ends the keys that the stream of key revocations and expiries shows as ended. A stream that is
// missing shows none: the list is for that.
func (c restore) endKeysOfJournal(ctx context.Context, load *schema.Load) (ended []schema.KeyState, err error) {
	var reader events.KeyEndReader
	_, err = reader.Read(ctx, c.js, func(entries []events.KeyEnd) error {
		states := make([]schema.KeyState, len(entries))
		for i, e := range entries {
			states[i] = schema.KeyState{ID: e.ID, RevokedAt: e.RevokedAt, ExpiresAt: e.ExpiresAt}
		}

		part, err := load.EndGivenKeys(ctx, states)
		ended = append(ended, part...)
		return err
	})
	if err != nil && !errors.Is(err, events.ErrNoKeyStream) {
		return nil, err
	}

	return ended, nil
}

func (c restore) copyTable(ctx context.Context, load *schema.Load, t backupTable) error {
	return readBackupFile(ctx, c.Path, t.backupFile, "loading", c.display, func(r io.Reader) error {
		rows, err := load.CopyFrom(ctx, t.Name, t.Columns, r)
		if err == nil && rows != t.Rows {
			err = fmt.Errorf("table %s: rows = %d, want the manifest's %d", t.Name, rows, t.Rows)
		}
		return err
	})
}
