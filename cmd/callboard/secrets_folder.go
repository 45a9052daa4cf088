package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// secretsResult lists files by name, in the order in which they were created or found.
type secretsResult struct {
	Folder  string   `json:"folder"`
	Created []string `json:"created"`
	Kept    []string `json:"kept"`
}

// secretsFolder creates files.
type secretsFolder struct {
	*secretsCreateCommand
	result secretsResult
}

// has reports whether the file exists.
func (f *secretsFolder) has(name string) bool {
	_, err := os.Lstat(filepath.Join(f.Dir, name))
	return err == nil
}

// checkSources returns an error if the file exists and one of its sources does not: its password would be made anew.
func (f *secretsFolder) checkSources(wanted secretFile) error {
	for _, source := range wanted.sources {
		if f.has(wanted.name) && !f.has(source) {
			return fmt.Errorf("%s is missing, but %s, which has its password, is not: restore the first, "+
				"or delete the second", source, wanted.name)
		}
	}
	return nil
}

// ensure creates the file unless it exists.
func (f *secretsFolder) ensure(wanted secretFile) error {
	if f.has(wanted.name) {
		f.result.Kept = append(f.result.Kept, wanted.name)
		return nil
	}

	// The sources come from the folder, because an earlier run may have created them.
	sources := make([]string, len(wanted.sources))
	for i, source := range wanted.sources {
		var err error
		if sources[i], err = readSecretFile(f.Dir, source); err != nil {
			return err
		}
	}

	content, err := wanted.generate(sources)
	if err != nil {
		return err
	}

	// Another process may have created it meanwhile.
	switch err := f.create(wanted, content); {
	case errors.Is(err, fs.ErrExist):
		f.result.Kept = append(f.result.Kept, wanted.name)
	case err != nil:
		return err
	default:
		f.result.Created = append(f.result.Created, wanted.name)
	}

	return nil
}

// create creates a file that is complete and on the disk when it becomes visible. The error is [fs.ErrExist] if there
// is such a file.
func (f *secretsFolder) create(wanted secretFile, content string) (err error) {
	temporary, err := os.CreateTemp(f.Dir, "."+wanted.name+".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(temporary.Name())) }()

	// Only root can give files to others. A member of a group can give files to it.
	mode, owner, group := fs.FileMode(0o440), -1, -1 // as they are
	if wanted.name == natsPasswordsFile {
		mode = 0o444 // it has hashes only
	}
	if os.Geteuid() == 0 {
		owner, group = wanted.owner, f.Group
	}
	if own, ok := f.Groups[wanted.name]; ok {
		group = own
	}

	// The file is complete and on the disk before it gets its name.
	_, err = temporary.WriteString(content)
	err = errors.Join(err, temporary.Chmod(mode))
	err = errors.Join(err, temporary.Chown(owner, group))
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}

	return os.Link(temporary.Name(), filepath.Join(f.Dir, wanted.name)) // unlike a rename, it replaces no file
}

// readSecretFile returns a file's content without line breaks at its end. Its errors contain no part of it.
func readSecretFile(dir, name string) (string, error) {
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
