package dev

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"callboard/cmd/setting"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/schema/cluster"
)

// home is the instance's folder, locked.
type home struct {
	dir    string
	lock   *os.File
	pepper string
	cursor string
	log    *os.File
}

// errLocked is a folder that another instance holds.
var errLocked = errors.New("locked")

// openHome makes the folder where there is none and locks it, and empties it where that is wanted.
func openHome(dir string, fresh bool) (*home, error) {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("data folder: %w; name one with --data", err)
		}
		dir = filepath.Join(cache, "callboard", "dev")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	// Others may enter: PostgreSQL runs as another user under root. What is secret has a mode of its own.
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	h := &home{dir: dir}
	if h.lock, err = lockFile(h.path("lock")); errors.Is(err, errLocked) {
		return nil, fmt.Errorf("another 'callboard dev' uses %s: stop it, or choose another directory with --data", dir)
	}
	if err == nil && fresh {
		err = h.clear()
	}
	if err == nil {
		err = h.readSecrets()
	}
	if err != nil {
		h.close()
		return nil, fmt.Errorf("data folder %s: %w", dir, err)
	}
	return h, nil
}

func (h *home) path(name string) string { return filepath.Join(h.dir, name) }

// clear removes what an instance made, and nothing else that may be in the folder.
func (h *home) clear() error {
	marks, err := filepath.Glob(h.path("sample-*.json"))
	if err != nil {
		return err
	}
	for _, name := range []string{"nats", "audio", "key-pepper", "cursor-key", keyFile, "env", "log"} {
		marks = append(marks, h.path(name))
	}
	errs := []error{cluster.Remove(h.path("postgres"))}
	for _, path := range marks {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

func (h *home) readSecrets() (err error) {
	if h.pepper, err = h.secret("key-pepper"); err != nil {
		return err
	}
	h.cursor, err = h.secret("cursor-key")
	return err
}

// secret is 32 random bytes in base64, the same for the folder's life.
func (h *home) secret(name string) (string, error) {
	text, err := os.ReadFile(h.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		var random [32]byte
		_, _ = rand.Read(random[:]) // it never fails
		text = []byte(base64.StdEncoding.EncodeToString(random[:]))
		err = writeFile(h.path(name), text)
	}
	return string(text), err
}

// peppers are what a damaged file no longer is: then there are none, and the reader says so.
func (h *home) peppers() []access.Pepper {
	pepper, err := access.ParsePepper(h.pepper)
	if err != nil {
		return nil
	}
	return []access.Pepper{pepper}
}

// cursorKey is none where its file is damaged, as it is with peppers.
func (h *home) cursorKey() setting.Secret {
	key, err := setting.NewCursorKey(h.cursor)
	if err != nil {
		return setting.Secret{}
	}
	return key
}

// audioURL names the folder of the recordings' audio.
func (h *home) audioURL() string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(h.path("audio"))}).String()
}

// audio is the folder that audioURL names, made where there is none.
func (h *home) audio() (audio.Location, error) {
	if err := os.MkdirAll(h.path("audio"), 0o755); err != nil {
		return audio.Location{}, fmt.Errorf("audio: %w", err)
	}
	return audio.ParseLocation(h.audioURL())
}

// openLog is a logger to the folder's log; warnings are shown on w too.
func (h *home) openLog(w io.Writer) (zerolog.Logger, error) {
	var err error
	h.log, err = os.OpenFile(h.path("log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return zerolog.Nop(), fmt.Errorf("log: %w", err)
	}
	shown := &zerolog.FilteredLevelWriter{
		Writer: zerolog.LevelWriterAdapter{Writer: zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly}},
		Level:  zerolog.WarnLevel,
	}
	return zerolog.New(zerolog.MultiLevelWriter(h.log, shown)).With().Timestamp().Logger(), nil
}

// writeEnv writes settings as a shell reads them.
func (h *home) writeEnv(settings setting.Variables) error {
	var b strings.Builder
	for name, value := range settings.Sorted() {
		fmt.Fprintf(&b, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	return writeFile(h.path("env"), []byte(b.String()))
}

// writeFile writes a file for its owner alone, at once or not at all.
func writeFile(path string, content []byte) error {
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

// close lets go of the folder. Nothing of what it closes can fail in a way that matters.
func (h *home) close() {
	for _, f := range []*os.File{h.log, h.lock} {
		if f != nil {
			_ = f.Close()
		}
	}
}
