//go:build !operator

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"callboard/internal/run"
	"callboard/schema/cluster"
)

// devDirectory is the locked data directory of an instance.
type devDirectory struct {
	root    string
	unlock  func() error      // nil until the directory is locked
	secrets map[string]string // by the name of the file
	log     *os.File
}

// devSecrets are the names of the files with secrets.
func devSecrets() []string {
	return []string{"key-pepper", "cursor-key", "webhook-key", "postgres-password"}
}

// openDevDirectory creates the directory if it is missing, locks it, and with fresh deletes the data of earlier runs.
func openDevDirectory(root string, fresh bool) (*devDirectory, error) {
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("data directory: %w\nChoose one with --data", err)
		}
		root = filepath.Join(cache, "callboard", "dev")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}

	// Other users may enter, because under root PostgreSQL runs as another user. Secret files are readable by their
	// owner only.
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}

	// Nothing is read or deleted before the directory is locked.
	d := &devDirectory{root: root, secrets: make(map[string]string)}
	if d.unlock, err = cluster.Lock(root); errors.Is(err, cluster.ErrInUse) {
		return nil, fmt.Errorf("another 'callboard dev' uses %s: stop it, or choose another directory with --data", root)
	}

	if err == nil && fresh {
		err = d.clear()
	}
	if err == nil {
		err = d.readSecrets()
	}
	if err != nil {
		d.close()
		return nil, fmt.Errorf("data directory %s: %w", root, err)
	}

	return d, nil
}

func (d *devDirectory) path(name string) string { return filepath.Join(d.root, name) }

// clear deletes what instances have written, and no other files.
func (d *devDirectory) clear() error {
	var paths []string
	names := []string{"nats", "nats.log", "audio", "sample-live", "sample-small", listenCertificate, keyFile, "env", "log"}
	for _, name := range append(names, devSecrets()...) {
		paths = append(paths, d.path(name))
	}

	errs := []error{cluster.Remove(d.path("postgres"))}
	for _, path := range paths {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// readSecrets reads the secrets, and makes the missing ones: 32 random bytes in base64 each.
func (d *devDirectory) readSecrets() error {
	for _, name := range devSecrets() {
		text, err := os.ReadFile(d.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			text = []byte(randomKey())
			err = replaceFile(d.path(name), text)
		}
		if err != nil {
			return err
		}
		d.secrets[name] = string(text)
	}
	return nil
}

// audioURL returns the URL of the directory with the recordings' audio.
func (d *devDirectory) audioURL() string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(d.path("audio"))}).String()
}

// openLog returns a writer of messages to the log file, and of warnings also to w.
func (d *devDirectory) openLog(w io.Writer) (io.Writer, error) {
	var err error
	d.log, err = os.OpenFile(d.path("log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}

	warnings := &zerolog.FilteredLevelWriter{
		Writer: zerolog.LevelWriterAdapter{Writer: run.Console(w)},
		Level:  zerolog.WarnLevel,
	}

	return zerolog.MultiLevelWriter(d.log, warnings), nil
}

// writeEnv writes settings as exports of a shell.
func (d *devDirectory) writeEnv(settings map[string]string) error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&b, "export %s='%s'\n", name, quoted(settings[name]))
	}
	return replaceFile(d.path("env"), []byte(b.String()))
}

// replaceFile writes a file atomically. Only its owner can read it.
func replaceFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*") // its mode is 0600
	if err != nil {
		return err
	}

	// The rename replaces the file in one step: a reader sees the old content or the new content.
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// close closes the log and unlocks the directory. Errors are ignored, since the log's writes were not buffered.
func (d *devDirectory) close() {
	if d.log != nil {
		_ = d.log.Close()
	}
	if d.unlock != nil {
		_ = d.unlock()
	}
}
