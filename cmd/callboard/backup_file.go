package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// byteCounter is an [io.Writer] that counts bytes and calls a function with the number of all.
type byteCounter struct {
	bytes   int64
	counted func(bytes int64) error
}

// Write returns the function's error.
func (c *byteCounter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), c.counted(c.bytes)
}

// writeBackupFile lets write fill a file that only its owner may read, and shows its progress. It returns when the file
// is on the disk.
func writeBackupFile(dir, name string, display *progress, write func(io.Writer) error) (f backupFile, err error) {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return f, err
	}

	counter := &byteCounter{counted: func(bytes int64) error {
		display.Show("writing "+name, "bytes", bytes, 0)
		return nil
	}}

	// The file is on the disk only after the flush and the sync.
	buffer, digest := bufio.NewWriterSize(file, 1<<20), sha256.New()
	err = errors.Join(write(io.MultiWriter(buffer, digest, counter)), buffer.Flush(), file.Sync(), file.Close())

	return backupFile{Name: name, Bytes: counter.bytes, SHA256: hex.EncodeToString(digest.Sum(nil))}, err
}

// readBackupFile lets read read a file of a backup until ctx ends, and shows its progress.
func readBackupFile(
	ctx context.Context, dir string, f backupFile, doing string, display *progress, read func(io.Reader) error,
) error {
	file, err := os.Open(filepath.Join(dir, f.Name))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read

	// The end of ctx is an error of the next read.
	return read(io.TeeReader(file, &byteCounter{counted: func(bytes int64) error {
		display.Show(doing+" "+f.Name, "bytes", bytes, f.Bytes)
		return ctx.Err()
	}}))
}

// check compares every file with its size and digest.
func (m backupManifest) check(ctx context.Context, dir string, display *progress) error {
	for _, f := range m.files() {
		digest := sha256.New()
		var size int64
		err := readBackupFile(ctx, dir, f, "checking", display, func(r io.Reader) (err error) {
			size, err = io.Copy(digest, r)
			return err
		})
		if err != nil {
			return err
		}

		// The digest also finds damage that leaves the size as it was.
		if size != f.Bytes || hex.EncodeToString(digest.Sum(nil)) != f.SHA256 {
			return fmt.Errorf("%s is damaged: its size or digest differs from the manifest's\n"+
				"Use another copy of the backup", filepath.Join(dir, f.Name))
		}
	}

	return nil
}
