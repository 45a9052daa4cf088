//go:build unix && !operator

package main

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks a file until unlockFile.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unlockFile unlocks and closes a file. Closing alone would leave it locked while another goroutine starts a process,
// which has a copy of all open files until it executes its program.
func unlockFile(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // closing unlocks it, too
	_ = f.Close()
}
