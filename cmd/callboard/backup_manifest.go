package main

// A backup has what no rebuild can make again. From the database these are keys, audit and decisions. From NATS
// they are the stream of events, the bucket of transcripts and the stream of audit entries. The projection is not
// in it, and neither is any secret setting.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"callboard/events"
)

const (
	backupFormat = 1 // of the manifest and the files
	manifestName = "manifest.json"
)

// backupManifest describes a backup. A folder without one is not a complete backup.
type backupManifest struct {
	Format  int            `json:"format"`
	Release string         `json:"release"` // of the callboard that wrote it
	Created time.Time      `json:"created"` // the instant of the tables; the streams follow
	Schema  int64          `json:"schema"`  // the last migration
	Tables  []backupTable  `json:"tables"`
	Days    []time.Time    `json:"auditDays"` // of which the audit has rows
	Streams []backupStream `json:"streams"`
}

// backupFile is a file of a backup.
type backupFile struct {
	Name   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// backupTable is a table's rows in COPY's text format.
type backupTable struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Rows    int64    `json:"rows"`
	backupFile
}

// backupStream is a stream's snapshot.
type backupStream struct {
	Name     string    `json:"name"`
	Created  time.Time `json:"created"`
	Messages uint64    `json:"messages"`
	First    uint64    `json:"firstSequence"`
	Last     uint64    `json:"lastSequence"`
	LastAt   time.Time `json:"lastTime"` // of the message at Last
	backupFile
	events.Snapshot
}

// files returns all files.
func (m backupManifest) files() []backupFile {
	var list []backupFile
	for _, t := range m.Tables {
		list = append(list, t.backupFile)
	}
	for _, s := range m.Streams {
		list = append(list, s.backupFile)
	}
	return list
}

func (m backupManifest) write(dir string, display *progress) error {
	_, err := writeBackupFile(dir, manifestName, display, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(m)
	})
	return err
}

// readManifest reads the manifest of a backup.
func readManifest(dir string) (m backupManifest, err error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestName)) //nolint:gosec // the operator names the folder
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%s has no %s, so it is not a complete backup\nName the folder of one backup", dir, manifestName)
	}
	if err != nil {
		return m, err
	}

	// The format decides whether this release understands the rest.
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%s: %w", manifestName, err)
	}
	if m.Format != backupFormat {
		return m, fmt.Errorf("the backup has format %d, this release reads %d\n"+
			"Use callboard %s, which wrote it", m.Format, backupFormat, m.Release)
	}

	// A manifest must not name files outside of the backup's folder.
	for _, f := range m.files() {
		if f.Name != filepath.Base(f.Name) || strings.HasPrefix(f.Name, ".") {
			return m, fmt.Errorf("%s: file %q is not in the backup's folder", manifestName, f.Name)
		}
	}

	return m, nil
}
