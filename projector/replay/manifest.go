package replay

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callboard/events"
)

const (
	namePrefix     = "replay-" // of all files
	manifestName   = namePrefix + "manifest.json"
	manifestFormat = 2 // of all files
)

// manifest is what a spool continues from. What its files have beyond their lengths is cut off.
type manifest struct {
	Format     int
	Plan       string // fingerprint
	Sequence   uint64
	Partitions map[int16]*passed
	Files      map[string]int64 // lengths
	Slots      []dividedPart
}

// dividedPart is a part with more than one slot.
type dividedPart struct {
	PartID
	Slots int
}

// passed says how far a partition was read.
type passed struct {
	Clock         events.Time // with its caps, without its adjustments
	LastMessage   uint64
	LastMessageAt events.Time
	Extended      uint64 // up to which it was read above its target; 0: it was not
}

// write replaces the folder's manifest.
func (m manifest) write(dir string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, manifestName)
	if err := os.WriteFile(path+".new", text, fileMode); err != nil {
		return err
	}
	if err := syncPath(path + ".new"); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncPath(dir)
}

// readManifest reads the folder's manifest; nil: there is none of the plan.
func readManifest(dir, plan string) (*manifest, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestName)) //nolint:gosec // a file of the spool
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil || m.Format != manifestFormat || m.Plan != plan {
		return nil, nil //nolint:nilerr // an unusable manifest is like none
	}
	return &m, nil
}

// cut cuts the folder's files to the lengths in the manifest and deletes all others. A file that is missing or shorter makes the spool
// unusable, unless it is done.
func (m *manifest) cut(dir string, done map[string]bool) (usable bool, err error) {
	for name, length := range m.Files {
		if done[name] {
			delete(m.Files, name)
			continue
		}
		info, err := os.Stat(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && info.Size() < length:
			return false, nil
		case err != nil:
			return false, err
		}
		if err := os.Truncate(filepath.Join(dir, name), length); err != nil {
			return false, err
		}
	}
	return true, empty(dir, func(name string) bool {
		_, kept := m.Files[name]
		return kept || name == manifestName
	})
}

// empty deletes a folder's files, except those to keep and those of others.
func empty(dir string, keep func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), namePrefix) || keep(entry.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
