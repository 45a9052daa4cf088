package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// backupWriter writes a file that only its owner may read, and computes its size and digest.
type backupWriter struct {
	file   *os.File
	buffer *bufio.Writer
	digest hash.Hash
	bytes  int64
	task   *progressTask // nil: none
}

func createBackupFile(dir, name string) (*backupWriter, error) {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &backupWriter{file: file, buffer: bufio.NewWriterSize(file, 1<<20), digest: sha256.New()}, nil
}

// Write implements [io.Writer].
func (w *backupWriter) Write(p []byte) (int, error) {
	n, err := w.buffer.Write(p)
	_, _ = w.digest.Write(p[:n]) // never fails
	w.bytes += int64(n)
	if w.task != nil {
		w.task.Set(w.bytes)
	}
	return n, err
}

// close returns when the file is on disk.
func (w *backupWriter) close() error {
	return errors.Join(w.buffer.Flush(), w.file.Sync(), w.file.Close())
}

// writeBackupFile lets write fill a file, and shows its progress.
func writeBackupFile(dir, name, what string, display *progressDisplay, write func(io.Writer) error) (f backupFile, err error) {
	w, err := createBackupFile(dir, name)
	if err != nil {
		return f, err
	}
	w.task = display.Start("copying "+what, "bytes", 0)
	defer w.task.Finish()
	if err := errors.Join(write(w), w.close()); err != nil {
		return f, err
	}
	return backupFile{Name: name, Bytes: w.bytes, SHA256: hex.EncodeToString(w.digest.Sum(nil))}, nil
}

// readerFunc is a function as an [io.Reader].
type readerFunc func(p []byte) (int, error)

// Read implements [io.Reader].
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// readBackupFile lets read read a file of a backup until ctx ends, and shows its progress.
func readBackupFile(ctx context.Context, dir string, f backupFile, doing string, display *progressDisplay, read func(io.Reader) error) error {
	file, err := os.Open(filepath.Join(dir, f.Name))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read

	// The end of ctx is an error of the next read.
	task := display.Start(doing, "bytes", f.Bytes)
	defer task.Finish()
	var done int64
	return read(readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := file.Read(p)
		done += int64(n)
		task.Set(done)
		return n, err
	}))
}

// check compares every file with its size and digest.
func (m backupManifest) check(ctx context.Context, dir string, display *progressDisplay) error {
	for _, f := range m.files() {
		digest := sha256.New()
		var size int64
		err := readBackupFile(ctx, dir, f, "checking "+f.Name, display, func(r io.Reader) (err error) {
			size, err = io.Copy(digest, r)
			return err
		})
		if err != nil {
			return err
		}
		if size != f.Bytes || hex.EncodeToString(digest.Sum(nil)) != f.SHA256 {
			return fmt.Errorf("%s is damaged: its size or digest differs from the manifest's\nUse another copy of the backup", filepath.Join(dir, f.Name))
		}
	}
	return nil
}
