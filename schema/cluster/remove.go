package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Remove deletes the cluster in dataDir wherever it lies, stopping a server that
// was left behind there. It fails with ErrInUse when a program runs the cluster,
// and without deleting anything when the folder holds other things than a
// cluster. That there is no cluster is no error.
func Remove(dataDir string) error {
	path, err := canonical(dataDir)
	if err != nil {
		return err
	}
	if err := removeBehind(path); err != nil {
		return fmt.Errorf("data folder %s: %w", dataDir, err)
	}
	return nil
}

func removeBehind(path string) error {
	// Also without a link to it: the folder may have been deleted by hand.
	if err := removeHome(refuge(path)); err != nil {
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
		return removeHome(path)
	}
	// Root must not be led to remove what another user's link points to.
	if !isOwn(info) {
		return errors.New("it is another user's link")
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		if err := removeHome(target); err != nil {
			return err
		}
	}
	return os.Remove(path)
}

// removeHome deletes the folder of a cluster that nobody runs.
func removeHome(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() || !isOwn(info) {
		return fmt.Errorf("%s belongs to another user", dir)
	}
	lock, err := lockDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = clearHome(dir)
	return errors.Join(err, lock.Close())
}

func clearHome(dir string) error {
	if err := onlyCluster(dir); err != nil {
		return err
	}
	// Its wait is bounded.
	if err := stopOrphan(context.Background(), filepath.Join(dir, dataName)); err != nil {
		return fmt.Errorf("server left behind: %w", err)
	}
	return os.RemoveAll(dir)
}
