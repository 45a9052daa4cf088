package cluster

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopOrphan ends a server that still runs on the data directory. The caller
// holds the folder's lock, so the program that started the server is gone.
func stopOrphan(ctx context.Context, data string) error {
	pidFile := filepath.Join(data, "postmaster.pid")
	pid, err := readPid(pidFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// The handle is taken before the look at the process, so that the signals go to what was looked at.
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }() // it is only looked at and signalled
	if errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		return nil // PostgreSQL deals with the file of a dead server by itself
	}
	if !servesData(pid, data) {
		// The number went to another process, for which PostgreSQL would refuse to start.
		return os.Remove(pidFile)
	}
	return endOrphan(ctx, p, data)
}

func endOrphan(ctx context.Context, p *os.Process, data string) error {
	for _, s := range []patience{{syscall.SIGINT, 30 * time.Second}, {syscall.SIGQUIT, 10 * time.Second}, {os.Kill, 5 * time.Second}} {
		if err := p.Signal(s.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		if gone(ctx, p.Pid, data, s.wait) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return errors.New("the process does not end")
}

func readPid(file string) (int, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(raw), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 {
		return 0, fs.ErrNotExist // a file that was not written to its end names no process
	}
	return pid, nil
}

// servesData tells whether the process is a server that this package started on the data directory.
func servesData(pid int, data string) bool {
	return strings.Contains(commandLine(pid)+" ", "/postgres -D "+data+" ")
}

// gone waits for the process to end. It asks for the command line and not for
// the process, because nobody may ever wait for an orphan's remains.
func gone(ctx context.Context, pid int, data string, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for servesData(pid, data) {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
