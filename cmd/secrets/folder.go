package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	folderMode fs.FileMode = 0o711 // other users, such as PostgreSQL's, reach their file by its name
	secretMode fs.FileMode = 0o440
	publicMode fs.FileMode = 0o444
)

// folder creates files.
type folder struct {
	dir    string
	group  int            // of the files
	groups map[string]int // of the files that have another one, by name
	result Result
}

// file is a file that may have to be created.
type file struct {
	name  string
	mode  fs.FileMode
	owner int // zero: this process's user
}

// has reports whether the file exists.
func (f *folder) has(name string) (bool, error) {
	_, err := os.Lstat(filepath.Join(f.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// ensure returns the file's content, which is that of generate if there was no such file.
func (f *folder) ensure(wanted file, generate func() (string, error)) (string, error) {
	kept, err := f.has(wanted.name)
	if err != nil {
		return "", err
	}
	if !kept {
		content, err := generate()
		if err != nil {
			return "", fmt.Errorf("%s: %w", wanted.name, err)
		}
		err = f.create(wanted, content)
		kept = errors.Is(err, fs.ErrExist) // created by another process in the meantime
		if err != nil && !kept {
			return "", err
		}
	}
	if kept {
		f.result.Kept = append(f.result.Kept, wanted.name)
	} else {
		f.result.Created = append(f.result.Created, wanted.name)
	}
	return read(f.dir, wanted.name)
}

// create creates a file that is complete and on the disk when it becomes visible. The error is [fs.ErrExist] if there is such a file.
func (f *folder) create(wanted file, content string) (err error) {
	temporary, err := os.CreateTemp(f.dir, "."+wanted.name+".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(temporary.Name())) }()
	_, err = temporary.WriteString(content)
	err = errors.Join(err, temporary.Chmod(wanted.mode))
	err = errors.Join(err, f.setOwner(temporary, wanted))
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err != nil {
		return err
	}
	return os.Link(temporary.Name(), filepath.Join(f.dir, wanted.name)) // unlike a rename, it replaces no file
}

// setOwner gives the file to its user and group. Only root can give files to others; a member of a group can give files to it.
func (f *folder) setOwner(created *os.File, wanted file) error {
	owner, group := -1, -1 // as they are
	if os.Geteuid() == 0 {
		owner, group = wanted.owner, f.group
	}
	if own, ok := f.groups[wanted.name]; ok {
		group = own
	}
	return created.Chown(owner, group)
}

// read returns a file's content without line breaks at its end. Its errors contain no part of it.
func read(dir, name string) (string, error) {
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(string(content), "\r\n")
	if text == "" {
		return "", fmt.Errorf("%s is empty: delete it, and it will be created", filepath.Join(dir, name))
	}
	return text, nil
}
