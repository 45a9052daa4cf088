//go:build !operator

package main

import (
	"crypto/rand"
	"encoding/base64"
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

	"callboard/events/webhook"
	"callboard/internal/run"
	"callboard/internal/run/setting"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/schema/cluster"
)

// devDirectory is the locked data directory of an instance.
type devDirectory struct {
	root     string
	lock     *os.File
	pepper   string
	cursor   string
	postgres string // the password of its roles
	hooks    string // the key that encrypts the secrets of webhook endpoints
	log      *os.File
}

// errLocked says that another instance has locked the directory.
var errLocked = errors.New("locked")

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
	d := &devDirectory{root: root}
	if d.lock, err = lockFile(d.path("lock")); errors.Is(err, errLocked) {
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
	paths, err := filepath.Glob(d.path("sample-*.json"))
	if err != nil {
		return err
	}
	for _, name := range []string{"nats", "audio", "key-pepper", "cursor-key", "webhook-key", "postgres-password", listenCertificate, keyFile, "env", "log"} {
		paths = append(paths, d.path(name))
	}
	errs := []error{cluster.Remove(d.path("postgres"))}
	for _, path := range paths {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

func (d *devDirectory) readSecrets() (err error) {
	for name, text := range map[string]*string{
		"key-pepper": &d.pepper, "cursor-key": &d.cursor, "postgres-password": &d.postgres, "webhook-key": &d.hooks,
	} {
		if *text, err = d.secret(name); err != nil {
			return err
		}
	}
	return nil
}

// secret returns 32 random bytes in base64. The first call for a name generates and stores them.
func (d *devDirectory) secret(name string) (string, error) {
	text, err := os.ReadFile(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		var random [32]byte
		_, _ = rand.Read(random[:]) // never fails
		text = []byte(base64.StdEncoding.EncodeToString(random[:]))
		err = replaceFile(d.path(name), text)
	}
	return string(text), err
}

// peppers returns none if the file is damaged. The reader reports that.
func (d *devDirectory) peppers() []access.Pepper {
	pepper, err := access.ParsePepper(d.pepper)
	if err != nil {
		return nil
	}
	return []access.Pepper{pepper}
}

// cursorKey returns none if the file is damaged. The reader reports that.
func (d *devDirectory) cursorKey() setting.Secret {
	key, err := setting.NewCursorKey(d.cursor)
	if err != nil {
		return setting.Secret{}
	}
	return key
}

// webhookKeys returns none if the file is damaged. The sender reports that.
func (d *devDirectory) webhookKeys() []webhook.Key {
	secret, err := access.DecodeSecret(d.hooks)
	if err != nil {
		return nil
	}
	key, err := webhook.NewKey(secret)
	if err != nil {
		return nil
	}
	return []webhook.Key{key}
}

// audioURL returns the URL of the directory with the recordings' audio.
func (d *devDirectory) audioURL() string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(d.path("audio"))}).String()
}

// audio returns the location of the recordings' audio. It creates the directory if it is missing.
func (d *devDirectory) audio() (audio.Location, error) {
	if err := os.MkdirAll(d.path("audio"), 0o755); err != nil {
		return audio.Location{}, fmt.Errorf("audio: %w", err)
	}
	return audio.ParseLocation(d.audioURL())
}

// openLog returns a logger that writes to the log file, and warnings also to w.
func (d *devDirectory) openLog(w io.Writer) (zerolog.Logger, error) {
	var err error
	d.log, err = os.OpenFile(d.path("log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return zerolog.Nop(), fmt.Errorf("log: %w", err)
	}
	warnings := &zerolog.FilteredLevelWriter{
		Writer: zerolog.LevelWriterAdapter{Writer: run.Console(w)},
		Level:  zerolog.WarnLevel,
	}
	return zerolog.New(zerolog.MultiLevelWriter(d.log, warnings)).With().Timestamp().Logger(), nil
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
	if d.lock != nil {
		unlockFile(d.lock)
	}
}
