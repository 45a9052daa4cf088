package audio

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// ErrNotFound is returned for a link that is expired, altered or another service's, and for one to a file that isn't there.
var ErrNotFound = errors.New("no such audio")

// clip is an open file.
type clip struct {
	*os.File
	size    int64
	changed time.Time
	tag     string
}

// open opens the file of a key. The error is [ErrNotFound] where there is none: a way out of the folder leads to nothing.
func (f *Folder) open(key string) (*clip, error) {
	path, err := filepath.Localize(key)
	if err != nil {
		return nil, ErrNotFound
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(path) // opening a pipe would wait for its writer
	if err != nil {
		return nil, absence(err)
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotFound
	}
	file, err := root.Open(path)
	if err != nil {
		return nil, absence(err)
	}
	return &clip{file, info.Size(), info.ModTime(), entityTag(info)}, nil
}

// absence is [ErrNotFound] for the errors that say so. What the system says besides is for the operator to know, a lack of
// permission for example; what it does not say is about a link that leads out of the folder.
func absence(err error) error {
	var system syscall.Errno
	if !errors.As(err, &system) {
		return ErrNotFound
	}
	switch system {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.ELOOP:
		return ErrNotFound
	default:
		return err
	}
}

// entityTag differs as soon as the file does.
func entityTag(info fs.FileInfo) string {
	return `"` + strconv.FormatInt(info.ModTime().UnixNano(), 36) + "-" + strconv.FormatInt(info.Size(), 36) + `"`
}
