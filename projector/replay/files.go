package replay

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	maxBuffer   = 256 << 10 // bytes of one file that are not written yet
	maxBuffered = 32 << 20  // bytes of all files
	maxKept     = 64        // files that keep their memory after a write
	fileMode    = 0o600     // the files hold customers' data
	dirMode     = 0o700
)

// files are the files of a folder to which is appended. There can be thousands, so none is open between two writes.
type files struct {
	dir      string
	byName   map[string]*file
	buffered int
}

// file is a file to which is appended. Its length includes what is not written yet.
type file struct {
	name   string
	length int64
	buffer []byte
	synced bool // all that is written is on disk
}

func newFiles(dir string) *files { return &files{dir: dir, byName: make(map[string]*file)} }

func (f *files) path(name string) string { return filepath.Join(f.dir, name) }

// file returns a file, which is empty if it is new.
func (f *files) file(name string) *file {
	if f.byName[name] == nil {
		f.byName[name] = &file{name: name}
	}
	return f.byName[name]
}

// length returns the length of a file; 0: there is none.
func (f *files) length(name string) int64 {
	if f.byName[name] == nil {
		return 0
	}
	return f.byName[name].length
}

// append appends a frame and returns where it begins.
func (f *files) append(name string, appendPayload func([]byte) []byte) (at int64, err error) {
	file := f.file(name)
	at = file.length
	before := len(file.buffer)
	file.buffer = appendFrame(file.buffer, appendPayload)
	grown := len(file.buffer) - before
	file.length += int64(grown)
	if f.buffered += grown; f.buffered > maxBuffered {
		return at, f.flush()
	}
	if len(file.buffer) <= maxBuffer {
		return at, nil
	}
	memory := file.buffer[:0]
	if err := f.flushFile(file); err != nil {
		return at, err
	}
	if len(f.byName) <= maxKept && cap(memory) <= 2*maxBuffer {
		file.buffer = memory
	}
	return at, nil
}

// flush writes everything, and keeps no memory.
func (f *files) flush() error {
	for _, file := range f.byName {
		if err := f.flushFile(file); err != nil {
			return err
		}
		file.buffer = nil
	}
	return nil
}

func (f *files) flushFile(file *file) (err error) {
	if len(file.buffer) == 0 {
		return nil
	}
	out, err := os.OpenFile(f.path(file.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := out.Write(file.buffer); err != nil {
		return err
	}
	f.buffered -= len(file.buffer)
	file.buffer, file.synced = nil, false
	return nil
}

// sync writes everything to disk.
func (f *files) sync() error {
	if err := f.flush(); err != nil {
		return err
	}
	for _, file := range f.byName {
		if file.synced || file.length == 0 {
			continue
		}
		if err := syncPath(f.path(file.name)); err != nil {
			return err
		}
		file.synced = true
	}
	return nil
}

// syncPath writes a file, or a folder's entries, to disk.
func syncPath(path string) (err error) {
	file, err := os.Open(path) //nolint:gosec // a file of the spool
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return file.Sync()
}

// remove deletes files, whether they exist or not.
func (f *files) remove(names ...string) error {
	for _, name := range names {
		if file := f.byName[name]; file != nil {
			f.buffered -= len(file.buffer)
			delete(f.byName, name)
		}
		if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
