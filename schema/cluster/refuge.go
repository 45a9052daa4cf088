package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// refuge is where things lie that belong at path, when the server's user can't
// go there: a folder that every user can reach, under a name that whoever knows path can find.
func refuge(path string) string {
	sum := sha256.Sum256([]byte(path))
	// Unlike /tmp, /var/tmp outlives a restart of the machine.
	base := "/var/tmp"
	if info, err := os.Stat(base); err != nil || !info.IsDir() {
		base = os.TempDir()
	}
	return filepath.Join(base, "callboard-"+hex.EncodeToString(sum[:8]))
}

// enterRefuge makes the folder, or makes sure that this program's user did: its
// name can be guessed, and everyone may write where it lies.
func enterRefuge(dir string, owner account) error {
	if !owner.canEnter(filepath.Dir(dir)) {
		return fmt.Errorf("%s, which PostgreSQL runs as, can't enter %s", owner.name, filepath.Dir(dir))
	}
	err := os.Mkdir(dir, 0o711)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || !isOwn(info) || info.Mode()&0o022 != 0 {
		return fmt.Errorf("%s, the place for it, was put there by another user", dir)
	}
	return nil
}

// canonical makes path absolute and resolves the links on the way to it, but not path itself.
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
