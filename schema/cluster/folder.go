package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// folder is a cluster's folder, locked by this process.
type folder struct {
	path   string // absolute and without links
	unlock func() error
}

func (f *folder) data() string     { return filepath.Join(f.path, "data") }
func (f *folder) staging() string  { return filepath.Join(f.path, "data.new") }
func (f *folder) password() string { return filepath.Join(f.path, "password") }
func (f *folder) log() string      { return filepath.Join(f.path, "postgres.log") }
func (f *folder) pidFile() string  { return filepath.Join(f.data(), "postmaster.pid") }

// version is a file that every data directory has: it holds the major version of the PostgreSQL that created it.
func (f *folder) version() string { return filepath.Join(f.data(), "PG_VERSION") }

// createFolder creates a cluster's folder, or a link to a folder that the server's user can reach. It keeps an existing
// one.
func createFolder(path string, a account) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}

	// Where the server's user can't enter, the folder is a link to another place.
	var err error
	target := path
	if a.reaches(filepath.Dir(path)) {
		err = os.Mkdir(path, 0o700)
	} else if target, err = os.MkdirTemp("/var/tmp", "callboard-"); err == nil { // it survives a restart of the machine
		err = errors.Join(os.RemoveAll(path), os.Symlink(target, path)) // a folder that was cleaned away has left a link
	}
	if err != nil {
		return err
	}

	// The server's user may pass through, and sees nothing but the data.
	return os.Chmod(target, 0o711)
}

// lockFolder locks an existing folder that holds nothing but a cluster. It returns ErrInUse if the folder is locked. It
// locks the folder itself and not a file in it, because systemd-tmpfiles spares locked folders when it cleans /var/tmp.
func lockFolder(path string) (*folder, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}

	release, err := Lock(path)
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", path, err)
	}
	f := &folder{path: path, unlock: release}

	// Files that no cluster has mean that the folder is something else.
	entries, err := os.ReadDir(path)
	own := []string{f.data(), f.staging(), f.password(), f.log()}
	for _, e := range entries {
		if !slices.Contains(own, filepath.Join(path, e.Name())) {
			err = fmt.Errorf("data folder %s holds %s, which is no part of a cluster: name an empty folder", path, e.Name())
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.unlock())
	}

	return f, nil
}

// Lock locks an existing folder for this process until release is called. It returns [ErrInUse] if the folder is
// locked. Other systems than Unix lock nothing.
func Lock(path string) (release func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}

	// To close the file is not enough: a child that another goroutine is just starting has a copy of it until it runs
	// its program.
	return func() error { return errors.Join(unlock(f), f.Close()) }, nil
}

// lockLog opens and locks the log for a new server. It ends a server that has the lock: its parent was killed, because
// the caller holds the lock of the folder.
func (f *folder) lockLog(ctx context.Context) (*os.File, error) {
	log, err := os.OpenFile(f.log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	for tryLock(log) != nil {
		// The file is gone if the server is about to end.
		raw, _ := os.ReadFile(f.pidFile())
		first, _, _ := strings.Cut(string(raw), "\n")
		if pid, err := strconv.Atoi(first); err == nil {
			p, _ := os.FindProcess(pid)   // there is always a handle
			_ = p.Signal(syscall.SIGQUIT) // it may have ended
		}

		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("the server in %s does not end: %w", f.path, ctx.Err()), log.Close())
		}
	}

	// No server runs, so the process in the file is another program. PostgreSQL would refuse to start because of it.
	_ = os.Remove(f.pidFile()) // usually there is none
	return log, nil
}

// Remove deletes the cluster in dataDir and ends a server whose parent was killed. It returns ErrInUse if a process
// runs the cluster. If the folder holds anything but a cluster, Remove deletes nothing and returns an error. It is no
// error if there is no cluster.
func Remove(dataDir string) error {
	f, err := lockFolder(dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}

	log, err := f.lockLog(context.Background()) // the wait is bounded
	if err == nil {
		err = errors.Join(log.Close(), os.RemoveAll(f.path), os.RemoveAll(dataDir))
	}

	return errors.Join(err, f.unlock())
}
