package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The entries of a cluster's folder.
const (
	dataName     = "data"
	stagingName  = "data.new" // a data directory that initdb has not completed
	passwordName = "password"
	logName      = "postgres.log"
)

// directory is a cluster's folder, locked by this process.
type directory struct {
	path    string // absolute and without links
	account account
	lock    *os.File
}

// openDirectory creates the folder, or checks an existing one, and locks it.
func openDirectory(dataDir string, a account) (*directory, error) {
	// A concurrent Remove can delete the folder between its creation and its locking.
	for range 10 {
		path, err := prepareDirectory(dataDir, a)
		if err != nil {
			return nil, err
		}
		lock, err := lockDir(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &directory{path: path, account: a, lock: lock}, nil
	}
	return nil, errors.New("another process removes it again and again")
}

func (d *directory) close() error         { return unlockDir(d.lock) }
func (d *directory) data() string         { return filepath.Join(d.path, dataName) }
func (d *directory) log() string          { return filepath.Join(d.path, logName) }
func (d *directory) staging() string      { return filepath.Join(d.path, stagingName) }
func (d *directory) passwordFile() string { return filepath.Join(d.path, passwordName) }

// prepareDirectory returns the folder in which the cluster is stored: dataDir, what it links to, or its fallback folder.
func prepareDirectory(dataDir string, a account) (string, error) {
	path, err := canonical(dataDir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	if path, err = canonical(path); err != nil {
		return "", err
	}
	reachable := a.canReach(filepath.Dir(path))
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return followLink(path, a)
	case err == nil && !reachable:
		// Only an empty folder can be replaced by a link.
		if err := os.Remove(path); err != nil {
			return "", fmt.Errorf("PostgreSQL runs as %s, which cannot reach it, and a link cannot replace it: %w", a.name, err)
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	if reachable {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		return path, checkDirectory(path, a)
	}
	// A fallback folder without a link remains if the link is deleted by hand.
	if err := removeDirectory(fallbackDir(path)); err != nil {
		return "", err
	}
	if err := os.Symlink(fallbackDir(path), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return followLink(path, a)
}

// followLink returns the target of a link: the fallback folder, which is created again if it was cleaned away, or a folder
// that the user has chosen.
func followLink(path string, a account) (string, error) {
	target, err := os.Readlink(path)
	if err != nil {
		return "", err
	}
	if target == fallbackDir(path) {
		if err := makeFallbackDir(target, a); err != nil {
			return "", err
		}
		return target, checkDirectory(target, a)
	}
	if target, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	if !a.canReach(filepath.Dir(target)) {
		return "", fmt.Errorf("PostgreSQL runs as %s, which cannot reach %s: name another folder", a.name, target)
	}
	return target, checkDirectory(target, a)
}

// checkDirectory checks that the folder belongs to this process's user and holds nothing but a cluster. It lets the
// server's user pass through and nobody else in.
func checkDirectory(path string, a account) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("not a folder")
	}
	if !ownedByProcess(info) {
		return errors.New("it belongs to another user")
	}
	if err := checkContents(path); err != nil {
		return err
	}
	if a.switched {
		return os.Chmod(path, 0o711)
	}
	return os.Chmod(path, 0o700)
}

// checkContents keeps Start and Remove out of folders with other files, a home folder for example.
func checkContents(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.Contains([]string{dataName, stagingName, passwordName, logName}, e.Name()) {
			return fmt.Errorf("it holds %s, which is no part of a cluster: name an empty folder", e.Name())
		}
	}
	return nil
}

// fallbackDir is where a folder is stored if the server's user cannot reach path: a name that follows from path, in a
// folder that every user can reach.
func fallbackDir(path string) string {
	sum := sha256.Sum256([]byte(path))
	// Unlike /tmp, /var/tmp survives a restart of the machine.
	base := "/var/tmp"
	if info, err := os.Stat(base); err != nil || !info.IsDir() {
		base = os.TempDir()
	}
	return filepath.Join(base, "callboard-"+hex.EncodeToString(sum[:8]))
}

// makeFallbackDir creates the folder, or checks that this process's user created it: every user can guess its name and
// write to its parent.
func makeFallbackDir(dir string, a account) error {
	if !a.canReach(filepath.Dir(dir)) {
		return fmt.Errorf("PostgreSQL runs as %s, which cannot reach %s", a.name, filepath.Dir(dir))
	}
	if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || !ownedByProcess(info) || info.Mode()&0o022 != 0 {
		return fmt.Errorf("its fallback folder %s was created by another user", dir)
	}
	return nil
}

// canonical makes path absolute and resolves the links in its parent, but not path itself.
func canonical(path string) (string, error) {
	if path == "" {
		return "", errors.New("no folder is named")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if errors.Is(err, fs.ErrNotExist) {
		return abs, nil
	}
	return filepath.Join(parent, filepath.Base(abs)), err
}

// waitLock locks the folder as soon as no other process holds the lock.
func waitLock(ctx context.Context, dir string) (*os.File, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		lock, err := lockDir(dir)
		if !errors.Is(err, ErrInUse) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// Remove deletes the cluster in dataDir, in its fallback folder too, and stops a server whose parent was killed. It returns
// ErrInUse if a process runs the cluster. If the folder holds anything but a cluster, Remove deletes nothing and returns an
// error. It is no error if there is no cluster.
func Remove(dataDir string) error {
	path, err := canonical(dataDir)
	if err != nil {
		return err
	}
	if err := removeCluster(path); err != nil {
		return fmt.Errorf("data folder %s: %w", dataDir, err)
	}
	return nil
}

func removeCluster(path string) error {
	// Even without a link, which may have been deleted by hand.
	if err := removeDirectory(fallbackDir(path)); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return removeDirectory(path)
	}
	// Otherwise another user's link could make root remove any folder.
	if !ownedByProcess(info) {
		return errors.New("the link belongs to another user")
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		if err := removeDirectory(target); err != nil {
			return err
		}
	}
	return os.Remove(path)
}

// removeDirectory deletes a cluster's folder that no process has locked.
func removeDirectory(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() || !ownedByProcess(info) {
		return fmt.Errorf("%s belongs to another user", dir)
	}
	lock, err := lockDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unlockDir(lock) }() // closing releases it too
	if err := checkContents(dir); err != nil {
		return err
	}
	// The wait is bounded without a context.
	if err := stopRunningServer(context.Background(), filepath.Join(dir, dataName)); err != nil {
		return fmt.Errorf("stop the server that still runs in %s: %w", dir, err)
	}
	return os.RemoveAll(dir)
}
