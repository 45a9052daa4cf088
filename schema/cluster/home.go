package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// The entries of a cluster's folder.
const (
	dataName     = "data"
	stagingName  = "data.new" // a data directory that initdb has not finished
	passwordName = "password"
	logName      = "postgres.log"
)

// home is a cluster's folder, locked by this program.
type home struct {
	dir   string // absolute and without links
	owner account
	lock  *os.File
}

// openHome makes the folder ready and locks it.
func openHome(dataDir string, owner account) (*home, error) {
	// Somebody else's Remove can take the folder away between its making and
	// its locking; that this happens many times in a row can't be chance.
	for range 10 {
		dir, err := settle(dataDir, owner)
		if err != nil {
			return nil, err
		}
		lock, err := lockDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &home{dir: dir, owner: owner, lock: lock}, nil
	}
	return nil, errors.New("it is removed as often as it is made")
}

func (h *home) close() error     { return h.lock.Close() }
func (h *home) data() string     { return filepath.Join(h.dir, dataName) }
func (h *home) log() string      { return filepath.Join(h.dir, logName) }
func (h *home) password() string { return filepath.Join(h.dir, passwordName) }

// settle returns the real folder behind dataDir, made or checked.
func settle(dataDir string, owner account) (string, error) {
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
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return settleNew(path, owner)
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		return settleLink(path, owner)
	case !owner.canEnter(filepath.Dir(path)):
		// Only an empty folder can make way for a link.
		if err := os.Remove(path); err != nil {
			return "", fmt.Errorf("%s, which PostgreSQL runs as, can't enter it: %w", owner.name, err)
		}
		return settleNew(path, owner)
	}
	return path, adopt(path, owner)
}

func settleNew(path string, owner account) (string, error) {
	if owner.canEnter(filepath.Dir(path)) {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		return path, adopt(path, owner)
	}
	// A refuge without a link is what somebody left who deleted the folder by hand.
	if err := removeHome(refuge(path)); err != nil {
		return "", err
	}
	if err := os.Symlink(refuge(path), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return settleLink(path, owner)
}

// settleLink follows a link: to this folder's refuge, which is made anew when a
// cleaner took it, or to where its owner chose to keep the cluster.
func settleLink(path string, owner account) (string, error) {
	target, err := os.Readlink(path)
	if err != nil {
		return "", err
	}
	if target == refuge(path) {
		if err := enterRefuge(target, owner); err != nil {
			return "", err
		}
		return target, adopt(target, owner)
	}
	if target, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	if !owner.canEnter(filepath.Dir(target)) {
		return "", fmt.Errorf("%s, which PostgreSQL runs as, can't enter %s", owner.name, target)
	}
	return target, adopt(target, owner)
}

// adopt checks that the folder is this program's user's and holds nothing but a
// cluster, and lets the server's user in.
func adopt(dir string, owner account) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("not a folder")
	}
	if !isOwn(info) {
		return errors.New("it belongs to another user")
	}
	if err := onlyCluster(dir); err != nil {
		return err
	}
	if owner.switched {
		return os.Chmod(dir, 0o711)
	}
	return os.Chmod(dir, 0o700)
}

// onlyCluster keeps a slip of the hand, such as naming one's home, from making
// or removing a cluster among other files.
func onlyCluster(dir string) error {
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
